"""`catalog`: fields, exit codes and refusals, to the letter."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from noeira_tui.core.settings import Settings
from tests.support.commandline import CommandLine, spawn
from tests.support.service_fixture import RunningService

DATASET_FIELDS = {
    "id", "name", "version", "status", "state", "size_bytes", "sha256", "env_id", "n_rows", "n_episodes", "seed",
    "source_commit", "filename", "created_at", "path",
}  # fmt: skip
PULL_FIELDS = {
    "id", "path", "state", "size_bytes", "sha256", "bytes_transferred", "resumed_from", "requests", "elapsed_s",
}  # fmt: skip
pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture
def pushed(cli: CommandLine, root: Path) -> tuple[str, bytes]:
    """A dataset on the service with contents of its own."""
    data = os.urandom(200_000)
    source = root / "source.h5"
    source.write_bytes(data)
    ran = cli(
        "catalog", "push", source, "--name", f"d{uuid4().hex[:8]}", "--seed", 7, "--env-id", "Walker-v4", "--json"
    )
    assert ran.code == 0, ran.err
    source.unlink()
    return ran.json["id"], data


def test_push_prints_its_object(cli: CommandLine, root: Path) -> None:
    (root / "f.h5").write_bytes(b"abc")
    ran = cli("catalog", "push", "f.h5", "--name", f"d{uuid4().hex[:8]}", "--version", "v2", "--json")
    assert ran.code == 0
    assert set(ran.json) == {"id", "sha256", "size_bytes", "bytes_transferred", "elapsed_s"}
    assert ran.json["sha256"] == hashlib.sha256(b"abc").hexdigest()
    assert ran.json["id"].endswith("-v2")


def test_list_and_show_have_every_field(cli: CommandLine, pushed: tuple[str, bytes]) -> None:
    listed = next(row for row in cli("catalog", "list", "--json").json if row["id"] == pushed[0])
    assert set(listed) == DATASET_FIELDS
    assert (listed["state"], listed["seed"], listed["env_id"], listed["n_rows"]) == ("remote", 7, "Walker-v4", None)
    assert cli("catalog", "show", pushed[0], "--json").json == listed
    words = cli("catalog", "show", pushed[0])
    assert "seed 7" in words.out
    assert "remote" in words.out


def test_pull_prints_its_object_and_moves_nothing_the_second_time(
    cli: CommandLine, pushed: tuple[str, bytes], root: Path
) -> None:
    first = cli("catalog", "pull", pushed[0], "--json")
    assert first.code == 0
    assert set(first.json) == PULL_FIELDS
    assert first.json["bytes_transferred"] == len(pushed[1])
    path = Path(first.json["path"])
    assert path == root / "data" / f"{pushed[0]}.h5"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == first.json["sha256"]
    again = cli("catalog", "pull", pushed[0], "--json")
    assert (again.code, again.json["bytes_transferred"], again.json["state"]) == (0, 0, "current")
    listed = cli("catalog", "show", pushed[0], "--json").json
    assert (listed["state"], listed["path"]) == ("current", str(path))


def test_dest_is_relative_to_the_working_folder(cli: CommandLine, pushed: tuple[str, bytes], root: Path) -> None:
    ran = cli("catalog", "pull", pushed[0], "there/x.bin", "--json")
    assert ran.json["path"] == str(root / "there" / "x.bin")


def test_a_slash_at_the_end_of_dest_means_a_folder(cli: CommandLine, pushed: tuple[str, bytes], root: Path) -> None:
    ran = cli("catalog", "pull", pushed[0], "new/folder/", "--json")
    assert ran.json["path"] == str(root / "new" / "folder" / f"{pushed[0]}.h5")
    assert cli("catalog", "pull", pushed[0], f"{root}/new/folder/").code == 0


def test_a_file_in_the_way_is_exit_1_and_untouched(cli: CommandLine, pushed: tuple[str, bytes], root: Path) -> None:
    (root / "mine").write_text("mine")
    ran = cli("catalog", "pull", pushed[0], "mine", "--json")
    assert ran.code == 1
    assert set(ran.json) == {"error"}
    assert set(ran.json["error"]) == {"title", "message", "hint", "retryable"}
    assert "--force" in ran.json["error"]["hint"]
    assert (root / "mine").read_text() == "mine"
    assert cli("catalog", "pull", pushed[0], "mine", "--force").code == 0
    assert (root / "mine").read_bytes() == pushed[1]


def test_a_place_that_cannot_be_written_is_told(cli: CommandLine, pushed: tuple[str, bytes], root: Path) -> None:
    (root / "file").write_text("x")
    for dest in ("file/x.bin", "file/deeper/x.bin", "/proc/x.bin", "n" * 300):
        ran = cli("catalog", "pull", pushed[0], dest, "--json")
        assert ran.code == 1
        assert ran.json["error"]["message"]
    assert (root / "file").read_text() == "x"


def test_verify_tells_a_changed_copy(cli: CommandLine, pushed: tuple[str, bytes]) -> None:
    path = Path(cli("catalog", "pull", pushed[0], "--json").json["path"])
    good = cli("catalog", "verify", pushed[0], "--json")
    assert good.code == 0
    assert set(good.json[0]) == {"id", "path", "state", "sha256", "expected"}
    assert good.json[0]["state"] == "current"
    stat = path.stat()
    path.write_bytes(b"X" + pushed[1][1:])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    bad = cli("catalog", "verify", pushed[0], "--json")
    assert bad.code == 1, "a change behind an unchanged size and time is found: every byte is read"
    assert bad.json[0]["state"] == "modified"
    assert bad.json[0]["sha256"] != bad.json[0]["expected"]
    # What was found out is not forgotten: neither shown as current again nor overwritten by a pull.
    assert cli("catalog", "show", pushed[0], "--json").json["state"] == "modified"
    again = cli("catalog", "pull", pushed[0], "--json")
    assert (again.code, "in the way" in again.json["error"]["title"]) == (1, True)
    assert path.read_bytes()[:1] == b"X"


def test_unknown_and_pending_ids_are_exit_1(cli: CommandLine, service: RunningService) -> None:
    name = f"d{uuid4().hex[:8]}"
    httpx.post(service.url + "/datasets", json={"name": name, "version": "v1"}, headers=service.headers)
    pending = cli("catalog", "pull", f"{name}-v1", "--json")
    assert (pending.code, "never completed" in pending.json["error"]["message"]) == (1, True)
    assert cli("catalog", "show", f"{name}-v1", "--json").json["state"] == "pending"
    for ran in (cli("catalog", "pull", "nope-v1", "--json"), cli("catalog", "show", "nope-v1", "--json")):
        assert ran.code == 1
        assert "nope-v1" in ran.json["error"]["message"]


def test_rm_local_needs_proof_and_a_yes(cli: CommandLine, pushed: tuple[str, bytes]) -> None:
    path = Path(cli("catalog", "pull", pushed[0], "--json").json["path"])
    unasked = cli("catalog", "rm", pushed[0], "--local")
    assert (unasked.code, path.exists()) == (2, True)
    path.write_bytes(b"changed")
    unproven = cli("catalog", "rm", pushed[0], "--local", "--yes")
    assert (unproven.code, path.read_bytes()) == (1, b"changed")
    path.write_bytes(pushed[1])
    assert cli("catalog", "rm", pushed[0], "--local", "--yes", "--json").code == 0
    assert not path.exists()
    assert cli("catalog", "show", pushed[0], "--json").json["state"] == "remote", "freed on purpose is not missing"


def test_rm_local_asks_the_store_itself(cli: CommandLine, pushed: tuple[str, bytes], service: RunningService) -> None:
    path = Path(cli("catalog", "pull", pushed[0], "--json").json["path"])
    lost = [file for file in service.data_dir.rglob("*") if file.is_file() and file.read_bytes() == pushed[1]]
    assert lost
    for file in lost:
        file.unlink()
    ran = cli("catalog", "rm", pushed[0], "--local", "--yes", "--json")
    assert (ran.code, path.read_bytes()) == (1, pushed[1]), "the only copy left is not removed"
    assert ran.json["error"]["hint"]


def test_rm_remote_removes_the_row_and_keeps_the_copy(cli: CommandLine, pushed: tuple[str, bytes]) -> None:
    path = Path(cli("catalog", "pull", pushed[0], "--json").json["path"])
    assert cli("catalog", "rm", pushed[0], "--remote", "--yes").code == 0
    assert path.exists()
    assert cli("catalog", "show", pushed[0], "--json").json["state"] == "local"
    assert cli("catalog", "rm", pushed[0]).code == 2


def test_detach_gives_a_job_that_finishes(cli: CommandLine, pushed: tuple[str, bytes], root: Path) -> None:
    ran = cli("catalog", "pull", pushed[0], "--detach", "--json")
    assert set(ran.json) == {"job"}
    followed = cli("jobs", "follow", ran.json["job"], "--json")
    assert followed.code == 0
    import json

    last = json.loads(followed.out.splitlines()[-1])
    assert (last["state"], last["bytes_done"]) == ("done", len(pushed[1]))
    assert (root / "data" / f"{pushed[0]}.h5").read_bytes() == pushed[1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_was_transferred(
    cli: CommandLine, root: Path, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    data = os.urandom(4_000_000)
    (root / "big.bin").write_bytes(data)
    dataset_id = cli("catalog", "push", "big.bin", "--name", f"d{uuid4().hex[:8]}", "--json").json["id"]
    pulling = spawn("catalog", "pull", dataset_id, "--json", cwd=root, env={"NOEIRA_MAX_RATE": "500kB"})
    part = root / "data" / f"{dataset_id}.bin.part"
    deadline = time.monotonic() + 30
    while not (part.exists() and part.stat().st_blocks > 200) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    pulling.send_signal(number)
    out, _ = pulling.communicate(timeout=30)
    assert pulling.returncode == code
    assert '"error"' in out
    assert part.exists()
    assert not (root / "data" / f"{dataset_id}.bin").exists()
    assert cli("catalog", "show", dataset_id, "--json").json["state"] == "partial"
    assert cli("jobs", "list", "--json").json[0]["state"] in {"cancelled", "interrupted"}
    resumed = cli("catalog", "pull", dataset_id, "--json").json
    assert resumed["resumed_from"] > 0
    assert resumed["resumed_from"] + resumed["bytes_transferred"] == len(data)
    assert Path(resumed["path"]).read_bytes() == data


def test_a_wrong_key_and_a_wrong_address_are_exit_1(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, connected: Settings, service: RunningService
) -> None:
    monkeypatch.setenv("NOEIRA_CLOUD_API_KEY", "nk_wrong")
    wrong_key = cli("catalog", "list", "--json")
    monkeypatch.setenv("NOEIRA_CLOUD_API_KEY", service.key)
    monkeypatch.setenv("NOEIRA_CLOUD_URL", service.url + "/api")
    added_api = cli("catalog", "list", "--json")
    monkeypatch.setenv("NOEIRA_CLOUD_URL", "http://127.0.0.1:9")
    closed = cli("catalog", "list", "--json")
    for ran in (wrong_key, added_api, closed):
        assert ran.code == 1
        assert ran.json["error"]["title"]
        assert ran.json["error"]["hint"]
    titles = [ran.json["error"]["title"] for ran in (wrong_key, added_api, closed)]
    assert titles == ["Wrong API key", "Wrong service address", "Service unreachable"]
    assert [ran.json["error"]["retryable"] for ran in (wrong_key, added_api, closed)] == [False, False, True]
    assert [ran.err for ran in (wrong_key, added_api, closed)] == ["", "", ""], "told once, not as a warning too"
    assert service.key not in str([(ran.out, ran.err) for ran in (wrong_key, added_api, closed)])
