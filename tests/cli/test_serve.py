"""`serve` and `keys` as processes: ready lines, stopping, finding everything again."""

from __future__ import annotations

import signal
import stat
import subprocess
import threading
from pathlib import Path

import httpx
import pytest

from tests.support.commandline import CommandLine, spawn


def start(root: Path, *options: object) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """A service and the two lines it printed, as settings."""
    process = spawn("serve", "--port", 0, "--data-dir", "svc", *options, cwd=root)
    assert process.stdout is not None
    lines = [process.stdout.readline().rstrip("\n") for _ in range(2)]
    assert [line.split("=")[0] for line in lines] == ["NOEIRA_CLOUD_URL", "NOEIRA_CLOUD_API_KEY"], lines
    return process, dict(line.split("=", 1) for line in lines)


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> int:
    process.send_signal(number)
    process.communicate(timeout=20)
    return process.returncode


def test_serve_prints_two_lines_stops_and_finds_everything_again(
    cli: CommandLine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, lines = start(root)
    try:
        client_env = root / "svc" / "client.env"
        assert dict(line.split("=", 1) for line in client_env.read_text().split()) == lines
        assert stat.S_IMODE(client_env.stat().st_mode) == 0o600
        (root / ".env").write_text(client_env.read_text())
        (root / "f.h5").write_bytes(b"abc" * 1000)
        assert cli("catalog", "push", "f.h5", "--name", "kept").code == 0
    finally:
        assert stop(process) in {0, 143}
    with pytest.raises(httpx.ConnectError):
        httpx.get(lines["NOEIRA_CLOUD_URL"])
    again, lines_again = start(root)
    try:
        assert lines_again["NOEIRA_CLOUD_API_KEY"] == lines["NOEIRA_CLOUD_API_KEY"]
        (root / ".env").write_text((root / "svc" / "client.env").read_text())
        pulled = cli("catalog", "pull", "kept-v1", "--json")
        assert pulled.json["bytes_transferred"] == 3000
    finally:
        stop(again, signal.SIGINT)


def test_keys_are_made_listed_and_revoked(cli: CommandLine, root: Path) -> None:
    process, lines = start(root)
    url = lines["NOEIRA_CLOUD_URL"]
    try:
        made = cli("keys", "create", "laptop", "--scope", "read", "--data-dir", "svc", "--json").json
        headers = {"Authorization": f"Bearer {made['key']}"}
        assert httpx.get(url + "/datasets", headers=headers).status_code == 200
        refused = httpx.post(url + "/datasets", json={"name": "a", "version": "v1"}, headers=headers)
        assert refused.status_code == 403
        listed = cli("keys", "list", "--data-dir", "svc", "--json")
        fields = {"id", "name", "scope", "project", "created_at", "last_used_at", "revoked"}
        assert all(set(row) == fields for row in listed.json)
        assert made["key"] not in listed.out
        for path in (root / "svc").rglob("*"):
            if path.is_file():
                assert made["key"].encode() not in path.read_bytes(), "only hashes are stored"
        assert cli("keys", "revoke", made["id"], "--data-dir", "svc", "--json").json["revoked"] is True
        assert httpx.get(url + "/datasets", headers=headers).status_code == 401
        assert cli("keys", "revoke", "nonsense", "--data-dir", "svc").code in {1, 2}
    finally:
        stop(process)


def test_accounts_are_made_and_see_nothing_of_each_other(cli: CommandLine, root: Path) -> None:
    process, lines = start(root, "--workers", 2, "--log-format", "json")
    url = lines["NOEIRA_CLOUD_URL"]
    try:
        made = cli("accounts", "create", "arm-lab", "--data-dir", "svc", "--json").json
        fields = {"account", "created_at", "keys", "datasets", "projects", "size_bytes"}
        assert set(made) == fields and made["account"] == "arm-lab"
        assert cli("accounts", "create", "arm-lab", "--data-dir", "svc").code == 2
        key = cli("keys", "create", "ci", "--account", "arm-lab", "--data-dir", "svc", "--json").json
        assert cli("keys", "create", "ci", "--account", "nobody", "--data-dir", "svc").code == 2
        headers = {"Authorization": f"Bearer {key['key']}"}
        assert httpx.put(url + "/projects/theirs", headers=headers).status_code == 200
        own = {"Authorization": f"Bearer {lines['NOEIRA_CLOUD_API_KEY']}"}
        assert httpx.get(url + "/projects", headers=own).json() == []
        listed = cli("accounts", "list", "--data-dir", "svc", "--json").json
        counts = [(row["account"], row["keys"], row["projects"]) for row in listed]
        assert counts == [("default", 1, 0), ("arm-lab", 1, 1)]
        theirs = cli("keys", "list", "--account", "arm-lab", "--data-dir", "svc", "--json").json
        assert [row["id"] for row in theirs] == [key["id"]]
        events = cli("accounts", "audit", "--account", "arm-lab", "--data-dir", "svc", "--json").json
        assert [(event["action"], event["subject"], event["key_id"]) for event in events] == [
            ("registered", "projects/theirs", key["id"]),
            ("key created", f"keys/{key['id']}", None),
            ("account created", "accounts/arm-lab", None),
        ]
        assert "arm-lab" in cli("accounts", "list", "--data-dir", "svc").out
        assert "projects/theirs" in cli("accounts", "audit", "--limit", 1, "--data-dir", "svc").out
    finally:
        assert stop(process) in {0, 143}


def test_settings_of_the_service_come_from_the_environment(
    cli: CommandLine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOEIRA_SERVICE_DATA_DIR", str(root / "svc"))
    process = spawn("serve", "--port", 0, cwd=root)
    try:
        assert process.stdout is not None and process.stdout.readline().startswith("NOEIRA_CLOUD_URL=")
        assert (root / "svc" / "service.db").exists()
        assert len(cli("keys", "list", "--json").json) == 1
    finally:
        stop(process)
    monkeypatch.setenv("NOEIRA_SERVICE_PROT", "1")
    refused = cli("serve", "--json")
    assert refused.code == 2 and "NOEIRA_SERVICE_PROT" in refused.json["error"]["message"]


def test_keys_without_a_service_say_where_they_looked(cli: CommandLine, root: Path) -> None:
    ran = cli("keys", "list", "--data-dir", "nowhere", "--json")
    assert ran.code == 2
    assert str(root / "nowhere") in ran.json["error"]["message"]


def test_killing_serve_leaves_no_store_behind(root: Path) -> None:
    process, lines = start(root)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.kill()
    process.communicate()
    deadline = 50
    while any(Path(f"/proc/{pid}").exists() and _runs(pid) for pid in children) and deadline:
        threading.Event().wait(0.1)
        deadline -= 1
    assert deadline, "the object store outlived its service"
    again, lines_again = start(root)
    assert lines_again == lines
    stop(again)


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_a_folder_that_cannot_be_written_is_said(root: Path) -> None:
    (root / "file").write_text("")
    process = spawn("serve", "--port", 0, "--data-dir", "file/svc", cwd=root)
    _, err = process.communicate(timeout=30)
    assert process.returncode in {1, 2}
    assert "file/svc" in err
    assert "Traceback" not in err
