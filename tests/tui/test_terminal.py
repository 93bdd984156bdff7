"""However the app ends, the terminal is put back: checked on a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.service_process import is_running, until
from tests.support.terminal import signals_as_in_a_terminal

ROOT = Path(__file__).resolve().parents[2]
MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
MUST_BE_OFF = {b"1000", b"1003", b"1006", b"1015", b"2004", b"1004", b"1049"}
WIPED = b"\x1b[H\x1b[2J"
MUST_BE_ON = {b"25", b"7"}


class Terminal:
    """The app in a pseudo-terminal of its own, with everything it wrote."""

    def __init__(self, mode: str, env: dict[str, str] | None = None, *, shell: str | None = None) -> None:
        environ = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
            **(env or {}),
        }
        environ.pop("SSH_CONNECTION", None)
        if env:
            environ.update(env)
        self.pid, self.fd = pty.fork()
        app = [sys.executable, "-m", "tests.tui.run_fake", mode]
        command = app if shell is None else ["/bin/sh", "-c", shell.replace("APP", shlex.join(app))]
        if self.pid == 0:
            signals_as_in_a_terminal()
            os.execve(command[0], command, environ)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.fd)
        self.written = b""

    def read_until(self, wanted: bytes) -> None:
        deadline = time.monotonic() + 30
        while wanted not in self.written:
            assert time.monotonic() < deadline, self.written[-600:]
            self._read()

    def wait(self) -> int:
        """Read on until the process ended; returns its exit code."""
        deadline = time.monotonic() + 30
        while True:
            self._read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self._read():
                    continue
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, "it never ended"

    def _read(self) -> bool:
        if not select.select([self.fd], [], [], 0.05)[0]:
            return False
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:
            return False  # the other side is closed
        self.written += chunk
        return bool(chunk)

    def drain_while(self, true: Callable[[], bool]) -> None:
        """Read on as long as something holds."""
        deadline = time.monotonic() + 30
        while true():
            assert time.monotonic() < deadline, "it never ended"
            self._read()

    def assert_restored(self) -> None:
        """Every mode that was switched on is off again, and the line discipline is what it was."""
        last: dict[bytes, bytes] = {}
        for match in MODES.finditer(self.written):
            for number in match[1].split(b";"):
                last[number] = match[2]
        assert last.get(b"1049"), "the app never came up"
        assert {number for number in MUST_BE_OFF if last.get(number) == b"h"} == set()
        assert {number for number in MUST_BE_ON if last.get(number) == b"l"} == set()
        assert termios.tcgetattr(self.fd)[3] == self.before[3]


@pytest.mark.parametrize(
    ("mode", "number"),
    [
        *((mode, number) for mode in ("plain", "hang", "block") for number in (signal.SIGTERM, signal.SIGHUP)),
        ("plain", signal.SIGINT),
        ("plain", signal.SIGQUIT),
    ],
)
def test_a_signal_puts_the_terminal_back(mode: str, number: signal.Signals) -> None:
    terminal = Terminal(mode)
    terminal.read_until(b"Catalog")
    if mode == "plain":
        terminal.read_until(b"hopper-medium-v2")
    began = time.monotonic()
    os.kill(terminal.pid, number)
    assert terminal.wait() == 128 + number
    assert time.monotonic() - began < 10
    terminal.assert_restored()


def test_a_crash_puts_the_terminal_back() -> None:
    terminal = Terminal("crash")
    assert terminal.wait() == 1
    assert b"on purpose" in terminal.written
    assert b"never-shown" not in terminal.written, "values of variables may be keys"
    terminal.assert_restored()


@pytest.mark.parametrize(
    ("env", "asks_for_mouse"),
    [
        ({}, True),
        ({"TERM": "screen-256color", "TMUX": "/nowhere,1,0"}, True),
        # GNU screen keeps a lone escape to itself while the mouse is on.
        ({"TERM": "screen", "STY": "1.pts-0.box"}, False),
        ({"TERM": "screen.xterm-256color"}, False),
    ],
    ids=["plain", "tmux", "screen", "screen-over-ssh"],
)
def test_leaving_wipes_what_was_drawn_before_the_terminal_is_put_back(
    env: dict[str, str], asks_for_mouse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    terminal = Terminal("plain", env)
    terminal.read_until(b"hopper-medium-v2")
    os.write(terminal.fd, b"q")
    assert terminal.wait() == 0
    terminal.assert_restored()
    # Where there is no alternate screen the shell would go on in the middle of the app's last picture.
    assert (
        terminal.written.rfind(b"hopper-medium-v2") < terminal.written.rfind(WIPED) < terminal.written.rfind(b"1049l")
    )
    assert (b"\x1b[?1000h" in terminal.written) is asks_for_mouse


def test_a_killed_app_wipes_the_console_that_has_one_screen_only() -> None:
    terminal = Terminal("block", {"TERM": "linux"})
    terminal.read_until(b"Catalog")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait() == 128 + signal.SIGTERM
    terminal.assert_restored()
    assert WIPED in terminal.written


def test_leaving_puts_the_terminal_back_and_says_that_jobs_go_on() -> None:
    terminal = Terminal("plain")
    terminal.read_until(b"hopper-medium-v2")
    os.write(terminal.fd, b"q")
    assert terminal.wait() == 0
    terminal.assert_restored()
    assert b"2 jobs go on without the app" in terminal.written.split(b"\x1b[?1049l")[-1]


@pytest.mark.parametrize("elsewhere", ["2>/dev/null", "2>&-"])
def test_the_app_draws_on_the_terminal_wherever_stderr_goes(elsewhere: str) -> None:
    terminal = Terminal("plain", shell=f"APP {elsewhere}; echo ended $?")
    terminal.read_until(b"hopper-medium-v2")
    os.write(terminal.fd, b"q")
    terminal.read_until(b"ended 0")
    assert terminal.wait() == 0
    terminal.assert_restored()


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_the_shell_that_leads_the_terminal_is_killed() -> None:
    # The kernel hangs up: everybody in the foreground hears of it, and the terminal goes with its window.
    terminal = Terminal("plain", shell="APP; echo never")
    terminal.read_until(b"hopper-medium-v2")
    app = child_of(terminal.pid)
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.wait()
    until(lambda: not is_running(app), "the app ends too")
    assert b"never" not in terminal.written


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_shell_inside_another_is_killed_and_the_outer_one_gets_its_terminal_back() -> None:
    terminal = Terminal("plain", shell="sh -c 'APP; true'; echo outer; read line; echo got $line")
    terminal.read_until(b"hopper-medium-v2")
    inner = child_of(terminal.pid)
    app = child_of(inner)
    os.kill(inner, signal.SIGKILL)
    terminal.read_until(b"outer")
    terminal.drain_while(lambda: is_running(app))
    terminal.assert_restored()
    os.write(terminal.fd, b"typed\n")
    terminal.read_until(b"got typed")
    assert terminal.wait() == 0


@pytest.mark.parametrize(
    ("env", "absent"),
    [
        ({"NO_COLOR": "1"}, rb"\x1b\[[0-9;]*?(?:38|48);[0-9;]*m"),
        ({"TERM": "xterm-256color", "COLORTERM": ""}, rb"\x1b\[[0-9;]*?(?:38|48);2;[0-9;]*m"),
        ({"TERM": "screen", "COLORTERM": ""}, rb"\x1b\[[0-9;]*?(?:38|48);2;[0-9;]*m"),
        ({"TERM": "screen.xterm-256color", "COLORTERM": ""}, rb"\x1b\[[0-9;]*?(?:38|48);2;[0-9;]*m"),
        ({"TERM": "xterm-16color", "COLORTERM": ""}, rb"\x1b\[[0-9;]*?(?:38|48);[0-9;]*m"),
        ({"LC_ALL": "C"}, rb"[\x80-\xff]"),
    ],
    ids=["no colour", "256", "screen", "screen in 256", "16", "C locale"],
)
def test_a_terminal_gets_only_what_it_can_show(env: dict[str, str], absent: bytes) -> None:
    terminal = Terminal("plain", env)
    terminal.read_until(b"hopper-medium-v2")
    os.write(terminal.fd, b"jjjq")
    assert terminal.wait() == 0
    assert re.findall(absent, terminal.written) == []
    terminal.assert_restored()


def child_of(pid: int) -> int:
    """The one process that a shell runs."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    until(lambda: len(children.read_text().split()) == 1, "one child")
    return int(children.read_text())
