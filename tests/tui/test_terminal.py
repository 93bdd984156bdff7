"""However the app ends, the terminal is put back: checked on a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
MUST_BE_OFF = {b"1000", b"1003", b"1006", b"1015", b"2004", b"1004", b"1049"}
MUST_BE_ON = {b"25", b"7"}


class Terminal:
    """The app in a pseudo-terminal of its own, with everything it wrote."""

    def __init__(self, mode: str, env: dict[str, str] | None = None) -> None:
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
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-m", "tests.tui.run_fake", mode], environ)
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("mode", ["plain", "hang", "block"])
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
    terminal.assert_restored()


def test_leaving_puts_the_terminal_back_and_says_that_jobs_go_on() -> None:
    terminal = Terminal("plain")
    terminal.read_until(b"hopper-medium-v2")
    os.write(terminal.fd, b"q")
    assert terminal.wait() == 0
    terminal.assert_restored()
    assert b"2 jobs go on without the app" in terminal.written.split(b"\x1b[?1049l")[-1]


def test_no_color_writes_no_colour() -> None:
    terminal = Terminal("plain", {"NO_COLOR": "1"})
    terminal.read_until(b"hopper-medium-v2")
    os.write(terminal.fd, b"jjjq")
    assert terminal.wait() == 0
    colours = re.findall(rb"\x1b\[[0-9;]*?(?:38|48);[0-9;]*m", terminal.written)
    assert colours == []
