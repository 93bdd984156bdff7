"""The whole demo as a process: what it prints, what runs while it is there, and that nothing stays behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from noeira_tui.core.dotenv import dotenv_line, parse_dotenv
from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.core.settings import Settings
from noeira_tui.core.states import State
from noeira_tui.demo import catalog_files, run
from noeira_tui.demo.run import DemoReady, run_demo
from noeira_tui.demo.scene import LIVE
from noeira_tui.overview.look import look
from noeira_tui.recordings.read import read_recording

DEADLINE_S = 120.0
CODE = """
import signal, sys, threading
from dataclasses import replace
from pathlib import Path
from noeira_tui.demo import catalog_files, run

catalog_files.G1_WALK = replace(catalog_files.G1_WALK, rows=2000)
run.RECORD_EVERY_S = 1.0
stop = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stop.set())
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
run.run_demo(folder, lambda ready: print(*ready.lines, sep="\\n", flush=True), stop)
"""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


class Running:
    """A demo process and the settings it printed."""

    def __init__(self, *arguments: str, temporary: Path) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("NOEIRA_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environ | {"TMPDIR": str(temporary)},
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().rstrip("\n") for _ in range(4)]
        self.settings = parse_dotenv("\n".join(self.lines), "stdout")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        assert self.process.stdout is not None
        assert self.process.stdout.read() == ""
        self.process.stdout.close()
        return code

    def answers(self) -> bool:
        parts = urlsplit(self.settings["NOEIRA_CLOUD_URL"])
        assert parts.hostname is not None
        try:
            socket.create_connection((parts.hostname, parts.port or 0), timeout=5).close()
        except OSError:
            return False
        return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []
    (tmp_path / "tmp").mkdir()

    def run(*arguments: str) -> Running:
        running.append(Running(*arguments, temporary=tmp_path / "tmp"))
        return running[-1]

    yield run
    for demo in running:
        demo.process.kill()
        demo.process.wait()


@pytest.mark.slow
def test_it_prints_the_settings_and_leaves_everything_in_its_folder(
    start: Callable[..., Running], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a demo's folder"
    demo = start(str(folder))
    assert [line.split("=")[0] for line in demo.lines] == [
        "NOEIRA_CLOUD_URL",
        "NOEIRA_CLOUD_API_KEY",
        "NOEIRA_PROJECTS",
        "NOEIRA_ROOT",
    ]
    assert demo.settings["NOEIRA_ROOT"] == str(folder / "root")
    for name in [name for name in os.environ if name.startswith("NOEIRA_")]:
        monkeypatch.delenv(name)
    settings = Settings.load(root=folder / "root", cwd=tmp_path, environ={})
    assert settings.state_dir == folder / "state"
    assert (folder / "root/.env").stat().st_mode & 0o077 == 0

    live = folder.joinpath("root/projects", LIVE[0], "datasets", LIVE[1])
    before = read_recording(live, time.time()).episodes or 0
    until(lambda: (read_recording(live, time.time()).episodes or 0) > before)
    states = {f"{r.project}/{r.dataset}": r.state for p in look(settings).projects for r in p.recordings}
    assert states["/".join(LIVE)] is State.RECORDING

    assert demo.end() == 0
    assert not demo.answers()
    assert not read_recording(live, time.time()).is_recording
    assert sorted(path.name for path in folder.iterdir()) == ["recorder.log", "root", "service", "service.log", "state"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a demo's folder", "tmp"]

    again = start(str(folder))
    assert again.answers()
    assert again.settings["NOEIRA_CLOUD_API_KEY"] == demo.settings["NOEIRA_CLOUD_API_KEY"]
    assert again.end(signal.SIGINT) == 0


@pytest.mark.slow
def test_a_temporary_demo_is_removed(start: Callable[..., Running], tmp_path: Path) -> None:
    demo = start()
    root = Path(demo.settings["NOEIRA_ROOT"])
    assert root.is_relative_to(tmp_path / "tmp")
    assert (root / "projects").is_dir()
    assert demo.end() == 0
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_a_killed_demo_takes_its_children_along(start: Callable[..., Running], tmp_path: Path) -> None:
    demo = start(str(tmp_path / "demo"))
    assert demo.answers()
    live = tmp_path.joinpath("demo/root/projects", LIVE[0], "datasets", LIVE[1])
    assert read_recording(live, time.time()).is_recording
    demo.end(signal.SIGKILL)
    until(lambda: not demo.answers())
    until(lambda: not read_recording(live, time.time()).is_recording)


@pytest.mark.slow
def test_a_second_demo_in_the_same_folder_says_so_and_leaves_the_first_alone(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    demo = start(str(tmp_path / "demo"))
    kept = (tmp_path / "demo/root/.env").read_text()
    with pytest.raises(StateError) as raised:
        run_demo(tmp_path / "demo", lambda ready: pytest.fail("it is taken"), threading.Event(), tell=lambda text: None)
    assert "Data folder in use" in raised.value.message
    assert (tmp_path / "demo/root/.env").read_text() == kept
    assert demo.answers()
    assert demo.end() == 0


def test_a_service_that_does_not_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "service").write_text("in the way")
    (tmp_path / "service.log").write_text("an earlier run said this\n")
    with pytest.raises(StateError) as raised:
        run_demo(tmp_path, lambda ready: pytest.fail("there is no service"), threading.Event(), tell=lambda text: None)
    assert str(tmp_path / "service") in raised.value.message
    assert "earlier run" not in raised.value.message
    assert str(tmp_path / "service.log") in raised.value.hint


@pytest.mark.slow
def test_the_recording_ends_when_nobody_looks_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_files, "G1_WALK", replace(catalog_files.G1_WALK, rows=2000))
    monkeypatch.setattr(run, "RECORD_EVERY_S", 1.0)
    stop, recording = threading.Event(), list[bool]()

    def announce(ready: DemoReady) -> None:
        live = ready.root.joinpath("projects", LIVE[0], "datasets", LIVE[1])
        before = read_recording(live, time.time()).episodes or 0
        until(lambda: (read_recording(live, time.time()).episodes or 0) > before)
        recording.append(read_recording(live, time.time()).is_recording)
        ready.end_recording()
        recording.append(read_recording(live, time.time()).is_recording)
        stop.set()

    run_demo(tmp_path / "demo", announce, stop, tell=lambda _: None)
    assert recording == [True, False], "while the service goes on"


def test_stopped_before_it_is_ready(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    run_demo(tmp_path, lambda ready: pytest.fail("it was stopped"), stop, tell=lambda text: None)
    assert not (tmp_path / "root").exists()


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: None if name == "av" else object())
    with pytest.raises(ConfigError, match=r"not installed: av\."):
        run_demo(tmp_path, lambda ready: None, threading.Event())


@pytest.mark.parametrize("value", ["plain", "a b", "it's", "back\\slash", "a$b", "#x", "é→", 'say "x"', "\\'"])
def test_a_dotenv_line_reads_back_as_it_was(value: str) -> None:
    assert parse_dotenv(dotenv_line("NAME", value), "here") == {"NAME": value}
