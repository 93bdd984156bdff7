"""A real terminal for tests: a pseudo-terminal that a program runs in, read and typed into."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


def signals_as_in_a_terminal() -> None:
    """Let keys end what runs in this process: below a test run in the background they were ignored."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A program in a pseudo-terminal of its own session; `output` is every byte it wrote."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 100,
        lines: int = 30,
    ) -> None:
        self.output = b""
        self.code: int | None = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            signals_as_in_a_terminal()
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.chdir(cwd)
            os.environ.update({"TERM": "xterm-256color", **(env or {})})
            os.execvp(command[0], list(command))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.code is None:
            self.signal(signal.SIGKILL)
            self.wait(10)
        os.close(self._fd)

    def type(self, keys: str) -> None:
        """Send keys as they are typed."""
        os.write(self._fd, keys.encode())

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        if self.code is None:
            os.kill(self.pid, number)

    def read(self, seconds: float = 0.1) -> bytes:
        """What it writes within some time; empty at its end."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return b""
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return b""
        self.output += data
        return data

    def expect(self, text: str, seconds: float = 20.0) -> None:
        """Read until it has written `text`. Raises AssertionError with the end of its output when it does not."""
        deadline = time.monotonic() + seconds
        while text.encode() not in self.output:
            assert time.monotonic() < deadline, f"no {text!r} in {self.output[-2000:]!r}"
            if not self.read() and self._has_ended():
                assert text.encode() in self.output, f"ended without {text!r}: {self.output[-2000:]!r}"

    def wait(self, seconds: float = 20.0) -> int:
        """Read to its end and return its exit code (128 + signal for a killed one)."""
        deadline = time.monotonic() + seconds
        while not self._has_ended():
            assert time.monotonic() < deadline, f"still running after {seconds} s: {self.output[-2000:]!r}"
            self.read()
        assert self.code is not None
        return self.code

    def _has_ended(self) -> bool:
        if self.code is not None:
            return True
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            while self.read(0.05):
                continue
            self.code = os.waitstatus_to_exitcode(status)
            self.code = 128 - self.code if self.code < 0 else self.code
        return bool(pid)
