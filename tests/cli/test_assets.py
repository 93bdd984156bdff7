"""`assets` as its users meet it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.core.settings import Settings
from tests.support.commandline import CommandLine, spawn
from tests.support.pack_archives import MESHES, PackServer, declare, serving, sha256, stanza, tar_of, tree, zst

STATUS = {"pack", "version", "provider", "manifest", "dest", "bytes", "sha256", "state", "detail"}


@pytest.fixture
def server() -> Iterator[PackServer]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOEIRA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "assets"


def declared(root: Path, server: PackServer) -> bytes:
    data = zst(tar_of())
    declare(root / "env", stanza(server.put("/libero.tar.zst", data), data))
    return data


def test_status_pull_status(cli: CommandLine, root: Path, server: PackServer) -> None:
    data = declared(root, server)
    ran = cli("assets", "status", "--check", "--json")
    assert (ran.code, ran.json) == (
        3,
        [
            {
                "pack": "libero",
                "version": "v1",
                "provider": "https",
                "manifest": str(root / "env/assets.kv"),
                "dest": str(root / "env/assets"),
                "bytes": len(data),
                "sha256": sha256(data),
                "state": "missing",
                "detail": "",
            }
        ],
    )
    assert "1 pack missing" in cli("assets", "status").out
    ran = cli("assets", "pull", "--json")
    assert ran.code == 0
    (done,) = ran.json
    assert set(done) == {*STATUS, "bytes_transferred", "linked", "copied", "error"}
    assert (done["state"], done["bytes_transferred"], done["linked"], done["copied"], done["error"]) == (
        ("current", len(data), 3, 0, None)
    )
    assert cli("assets", "status", "--check").code == 0
    assert "Every declared pack is here." in cli("assets", "status").out
    assert "nothing to do" in cli("assets", "pull").out
    assert tree(root / "env/assets") == dict(MESHES)


def test_verify_finds_what_a_glance_does_not(cli: CommandLine, root: Path, server: PackServer) -> None:
    declared(root, server)
    assert cli("assets", "pull").code == 0
    mesh = root / "env/assets/meshes/base.stl"
    stat = mesh.stat()
    mesh.unlink()
    mesh.write_bytes(bytes(stat.st_size))
    os.utime(mesh, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
    assert cli("assets", "status", "--check").code == 0
    ran = cli("assets", "status", "--verify", "--json")
    assert (ran.code, ran.json[0]["state"]) == (1, "modified")
    assert "meshes/base.stl" in ran.json[0]["detail"]
    # It was a job, as every work of the foreground is, and what it found stays known.
    assert next((job["kind"], job["state"]) for job in cli("jobs", "list", "--json").json) == ("assets-verify", "done")
    assert cli("assets", "status", "--json").json[0]["state"] == "modified"


def test_a_failing_pack_is_named_and_the_exit_code_is_1(cli: CommandLine, root: Path, server: PackServer) -> None:
    declared(root, server)
    declare(root / "bad", stanza(server.url("/gone"), b"x", pack="gone@v3"), "pack=worse\ndest=/abs\n")
    ran = cli("assets", "pull", "--json")
    assert ran.code == 1
    assert [(one["pack"], one["error"] is None) for one in ran.json] == [
        ("gone", False),
        ("worse", False),
        ("libero", True),
    ]
    assert "line 7: sha256: is missing" in ran.json[1]["error"]
    ran = cli("assets", "pull")
    assert (ran.code, ran.err.count("404"), "2 of 3 packs failed: gone@v3, worse" in ran.err) == (1, 1, True)
    quiet = cli("assets", "pull", "--quiet").err
    assert quiet.count("404") == 1 and "gone@v3 failed" in quiet
    assert cli("assets", "status", "--check").code == 3


def test_filters(cli: CommandLine, root: Path, server: PackServer) -> None:
    data = declared(root, server)
    declare(root / "other", stanza(server.url("/libero.tar.zst"), data, pack="twin"))
    assert [one["pack"] for one in cli("assets", "status", "other", "--json").json] == ["twin"]
    assert cli("assets", "pull", "other/").code == 0
    assert (root / "other/assets").exists() and not (root / "env/assets").exists()
    assert cli("assets", "pull", "nowhere").code == 1
    assert cli("assets", "status", "nowhere", "--json").json == []
    assert [one["pack"] for one in cli("assets", "status", "--root", root / "other", "--json").json] == ["twin"]


def test_nothing_declared(cli: CommandLine, root: Path) -> None:
    assert (cli("assets", "pull", "--json").json, cli("assets", "status").code) == ([], 0)


def test_where_never_shows_the_token(
    cli: CommandLine, root: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_5ecret")
    declare(root / "env", stanza(server.url("/x?signature=5ecret"), b"", provider="hf"))
    assert cli("assets", "where", "--json").json == [
        {
            "pack": "libero@v1",
            "provider": "hf",
            "locator": server.url("/x") + "?…",
            "credential": "HF_TOKEN",
            "credential_source": "environment",
            "token_sent": True,
        }
    ]
    assert "5ecret" not in cli("assets", "where").out


def test_the_cache_is_pruned_after_a_yes(cli: CommandLine, root: Path, server: PackServer, cache: Path) -> None:
    data = declared(root, server)
    cli("assets", "pull")
    (held,) = cli("assets", "cache", "--json").json
    assert (held["used_by"], held["files"], held["packs"]) == ([str(root / "env/assets")], 3, ["libero@v1"])
    assert "libero@v1" in cli("assets", "cache").out
    for path in (root / "env/assets").rglob("*.*"):
        path.unlink()
    ran = cli("assets", "cache", "--prune")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    assert (cache / "packs" / sha256(data)).exists()
    assert cli("assets", "cache", "--prune", "--yes", "--json").json == {
        "removed": [sha256(data)],
        "bytes_freed": sum(map(len, MESHES.values())),
    }
    assert not (cache / "packs" / sha256(data)).exists()


def test_a_pull_as_a_job(cli: CommandLine, root: Path, server: PackServer) -> None:
    data = declared(root, server)
    job = cli("assets", "pull", "--detach", "--json").json["job"]
    cli("jobs", "follow", job)
    ran = cli("jobs", "show", job, "--json").json
    assert (ran["kind"], ran["state"], ran["items_done"], ran["bytes_done"]) == ("assets-pull", "done", 1, len(data))
    assert tree(root / "env/assets") == dict(MESHES)


def meshes(folder: Path, order: list[str]) -> Path:
    for name in order:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MESHES[name])
    (folder / "alias.txt").symlink_to("readme.txt")
    return folder


def test_the_same_files_make_the_same_pack(cli: CommandLine, root: Path, tmp_path: Path) -> None:
    names = list(MESHES)
    one, two = meshes(tmp_path / "one", names), meshes(tmp_path / "two", names[::-1])
    os.utime(two / names[0], (7, 7))
    first = cli("assets", "pack", one, "--name", "libero", "--version", "v3", "--json").json
    assert cli("assets", "pack", two, "--name", "libero", "--version", "v3", "--json").json == first
    assert (first["files"], first["path"]) == (4, str(root / "libero-v3.tar.zst"))
    assert first["sha256"] == sha256(Path(first["path"]).read_bytes())
    (two / "more").write_bytes(b"more")
    ran = cli("assets", "pack", two, "--name", "libero", "--version", "v3")
    assert (ran.code, "holds something else" in ran.err) == (1, True)
    assert sha256(Path(first["path"]).read_bytes()) == first["sha256"]


def test_what_a_push_lacks_is_told_before_anything_is_packed(cli: CommandLine, root: Path) -> None:
    (root / "meshes").mkdir()
    (root / "meshes/a").write_bytes(b"a")
    ran = cli("assets", "pack", "meshes", "--name", "so101", "--push")
    assert (ran.code, "NOEIRA_CLOUD_URL" in ran.err) == (2, True)
    assert not list(root.glob("*.zst*"))


def test_a_pack_that_could_not_be_installed_is_not_made(cli: CommandLine, root: Path, tmp_path: Path) -> None:
    folder = meshes(tmp_path / "one", list(MESHES))
    (folder / "README.TXT").write_bytes(b"twice")
    assert "same name" in cli("assets", "pack", folder, "--name", "libero").err
    (folder / "README.TXT").unlink()
    (folder / "out").symlink_to("/etc/hostname")
    assert "out of" in cli("assets", "pack", folder, "--name", "libero").err
    assert cli("assets", "pack", tmp_path / "none", "--name", "libero").code == 1
    assert cli("assets", "pack", folder, "--name", "a/b").code == 2
    assert list(root.iterdir()) == []


def test_a_pack_is_pushed_declared_and_pulled(
    cli: CommandLine, connected: Settings, root: Path, tmp_path: Path
) -> None:
    folder = meshes(tmp_path / "one", list(MESHES))
    ran = cli("assets", "pack", folder, "--name", "cli-pushed", "--push")
    assert ran.code == 0
    (root / "env").mkdir()
    (root / "env/assets.kv").write_text(ran.out)
    assert cli("assets", "pull").code == 0
    assert tree(root / "env/assets/cli-pushed") == {**MESHES, "alias.txt": MESHES["readme.txt"]}


def test_an_interrupted_pull_exits_130(root: Path, server: PackServer) -> None:
    import signal
    import threading
    import time

    declared(root, server)
    server.gate = threading.Event()
    process = spawn("assets", "pull", cwd=root)
    deadline = time.monotonic() + 20
    while not server.seen:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert not (root / "env/assets").exists()


def test_status_of_packs_imports_no_archive_library(root: Path) -> None:
    script = (
        "import sys, json; from noeira_tui.__main__ import main; main(['assets', 'status', '--json']);"
        "print(json.dumps([m for m in ('zstandard', 'httpx', 'http.client', 'textual') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []
