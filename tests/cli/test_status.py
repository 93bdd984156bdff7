"""`status`: the document, `--check` and `--unsent`."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from noeira_tui.core.settings import Settings
from tests.support.commandline import CommandLine

TOTALS = {
    "missing", "stale", "partial", "invalid", "unknown", "unsent", "bytes_to_fetch", "bytes_unsent", "jobs_running",
}  # fmt: skip


def test_an_empty_box_answers_without_a_service(cli: CommandLine, root: Path) -> None:
    ran = cli("status", "--json")
    assert ran.code == 0
    assert set(ran.json) == {
        "box", "root", "service", "recordings", "datasets", "packs", "totals", "safe_to_destroy",
    }  # fmt: skip
    assert set(ran.json["service"]) == {"url", "reachable", "latency_ms", "error", "checked_at"}
    assert set(ran.json["totals"]) == TOTALS
    assert ran.json["safe_to_destroy"] is True
    assert "NOEIRA_CLOUD_URL" in ran.json["service"]["error"]
    assert cli("status", "--check").code == 0
    assert cli("status", "--unsent").code == 0
    assert "Nothing here yet" in cli("status").out


def test_a_state_folder_that_cannot_be_used_is_no_amount(
    cli: CommandLine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOEIRA_STATE", "/proc/no-state")
    ran = cli("status", "--unsent")
    assert ran.code == 1
    assert "NOT safe to destroy.\n" in ran.out
    assert "whether a push is running cannot be told" in ran.out


def test_check_finds_what_a_run_would_lack(cli: CommandLine, root: Path) -> None:
    (root / "assets.kv").write_text(
        f"pack=libero@v1\nurl=https://example.org/x.tar\nsha256={'a' * 64}\nbytes=7\ndest=assets\n"
    )
    ran = cli("status", "--check", "--json")
    assert ran.code == 3
    assert ran.json["totals"]["missing"] == 1
    assert ran.json["totals"]["bytes_to_fetch"] == 7
    assert ran.json["packs"][0]["state"] == "missing"


def test_a_project_that_wants_something_is_not_ready(cli: CommandLine, connected: Settings, root: Path) -> None:
    project = root / "projects" / "p"
    project.mkdir(parents=True)
    (project / "project.kv").write_text("dataset=nowhere\n")
    ran = cli("status", "--check", "--json")
    assert ran.code == 3
    mine = [(r["dataset"], r["state"]) for r in ran.json["recordings"] if r["project"] == "p"]
    assert mine == [("nowhere", "missing")]


def test_unsent_is_3_until_it_is_sent(cli: CommandLine, connected: Settings, root: Path) -> None:
    (root / "data").mkdir()
    (root / "data" / "made-here.bin").write_bytes(b"x" * 1000)
    ran = cli("status", "--unsent", "--json")
    assert (ran.code, ran.json["safe_to_destroy"]) == (3, False)
    assert (ran.json["totals"]["unsent"], ran.json["totals"]["bytes_unsent"]) == (1, 1000)
    assert "NOT safe" in cli("status", "--unsent").out
    assert cli("catalog", "push", "data/made-here.bin", "--name", f"d{uuid4().hex[:8]}").code == 0
    ran = cli("status", "--unsent", "--json")
    assert (ran.code, ran.json["safe_to_destroy"]) == (0, True)


def test_an_unreachable_service_is_exit_1_with_check_and_0_without(
    cli: CommandLine, connected: Settings, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f").write_bytes(b"abc")
    name = f"d{uuid4().hex[:8]}"
    cli("catalog", "push", "f", "--name", name)
    cli("catalog", "pull", f"{name}-v1")
    assert cli("status").code == 0
    monkeypatch.setenv("NOEIRA_CLOUD_API_KEY", "nk_wrong")
    plain = cli("status", "--json")
    assert plain.code == 0
    assert plain.json["service"]["reachable"] is False
    assert next(d for d in plain.json["datasets"] if d["id"] == f"{name}-v1")["state"] == "unknown"
    assert plain.json["safe_to_destroy"] is False
    assert cli("status", "--unsent").code == 1
