"""The service that the app starts lives on without it, is found again, and says how to stop it."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.overview import connecting, ownservice
from tests.support.service_process import is_running, until


def test_it_is_started_found_again_and_stopped_as_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    assert ownservice.running(folder) is None
    started = ownservice.start(folder)
    try:
        assert os.getsid(started.pid) == started.pid, "a session of its own: it outlives the terminal"
        assert connecting.ask(started.connection).datasets == 0
        assert started.data_dir == folder
        assert not started.was_running
        port = started.connection.url.rpartition(":")[2]
        assert started.start_command in {f"noeira-tui serve --port {port}", "noeira-tui serve"}
        assert ("--port" in started.start_command) == (port != "8787")
        assert stat.S_IMODE(started.log.stat().st_mode) == 0o600
        assert started.connection.key not in started.log.read_text() + repr(started)
        again = ownservice.start(folder)
        assert (again.pid, again.connection, again.was_running) == (started.pid, started.connection, True)
    finally:
        command, pid = started.stop_command.split()
        assert (command, int(pid)) == ("kill", started.pid)
        os.kill(started.pid, signal.SIGTERM)
        until(lambda: os.waitpid(started.pid, os.WNOHANG)[0] != 0, "it stops")
    assert not is_running(started.pid)
    assert ownservice.running(folder) is None


def test_why_it_did_not_start_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "service.json").write_text("{}")
    (tmp_path / "service.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(StateError) as caught:
        ownservice.start(tmp_path)
    assert "exit code" in caught.value.message
    assert "serve.log" in caught.value.hint


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="cannot be started"):
        ownservice.start(tmp_path / "file" / "service")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownservice, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        ownservice.start(tmp_path)
    assert caught.value.hint == "pip install 'noeira-tui[server]'"
