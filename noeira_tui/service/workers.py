"""The parent's side of worker processes: starting, asking whether they live, ending."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import fields

from noeira_tui.core.errors import StateError
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.processes import first_line
from noeira_tui.service.worker import READY

_START_PATIENCE_S = 30.0
_STOP_PATIENCE_S = 10.0


class Worker:
    """One worker process on the service's socket; `slot` is its number."""

    def __init__(self, config: ServiceConfig, folder: DataFolder, listening: socket.socket, slot: int) -> None:
        self._config = config
        self._folder = folder
        self._listening = listening
        self._slot = slot
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def title(self) -> str:
        return f"worker {self._slot}"

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll() if self._process is not None else None

    def spawn(self) -> None:
        """Start it; `wait_until_ready` tells when it answers."""
        self._close_pipes()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "noeira_tui.service.worker", "--socket", str(self._listening.fileno()),
             "--slot", str(self._slot), "--parent", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self._listening.fileno()],
            # Ctrl+C in the terminal is for the parent, which stops the workers after itself.
            start_new_session=True,
        )  # fmt: skip
        config = {one.name: getattr(self._config, one.name) for one in fields(self._config)}
        told = {"config": {**config, "data_dir": str(self._folder.path)}, "store": self._folder.read_json("store.json")}
        assert self._process.stdin is not None, "it was asked for"
        try:
            self._process.stdin.write(json.dumps(told).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as err:
            raise StateError(f"The {self.title} ended at its start.", title="Worker") from err

    def wait_until_ready(self) -> None:
        """Wait for it to answer. Raises StateError when it ends or says nothing for 30 s."""
        process = self._process
        assert process is not None, "spawn() comes first"
        said = first_line(process, _START_PATIENCE_S)
        if said is None:
            process.kill()
            raise StateError(f"The {self.title} did not answer within {_START_PATIENCE_S:.0f} s.", title="Worker")
        if said != READY:
            raise StateError(f"The {self.title} ended at its start (exit {process.wait()}).", title="Worker")

    def ask_to_stop(self) -> None:
        """Let it finish what is in flight."""
        if self.exit_code is None and self._process is not None:
            self._process.terminate()

    def stop(self, *, at_once: bool = False) -> None:
        """Wait for it to end, and end it when that takes too long."""
        if self._process is not None:
            if at_once:
                self._process.kill()
            try:
                self._process.wait(_STOP_PATIENCE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._close_pipes()
            self._process = None

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout) if self._process is not None else ():
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    # What it was not told any more is of no use to anyone.
                    continue
