"""A process of its own that pulls one file, to be killed; forked from a server that has imported everything already."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.transfer.download import download
from noeira_tui.transfer.facts import Wanted
from tests.support.faulty_server import FAST_CONTEXT, FaultyServer

# A hundred kills are a hundred processes: a fork costs a hundredth of starting Python and importing all of us.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.support.faulty_puller"])


class Puller:
    """A pulling process that stands at the start line until `go`."""

    def __init__(self, server: FaultyServer, dest: Path) -> None:
        self._line, theirs = FORKS.Pipe()
        wanted = Wanted(server.wanted.sha256, len(server.content))
        self._process = FORKS.Process(target=_pull, args=(theirs, server.presigned("/object").url, dest, wanted))
        self._process.start()
        theirs.close()
        assert self._line.recv() == "ready"

    def go(self) -> None:
        self._line.send("go")

    def kill(self) -> None:
        """Kill it, whatever it is doing, and wait until it is gone."""
        assert self._process.pid is not None
        self._process.kill()
        self._process.join(20)
        assert self._process.exitcode in (-signal.SIGKILL, 0), "killed, or done already"

    def finish(self) -> None:
        """Wait until it has pulled."""
        self._process.join(40)
        assert self._process.exitcode == 0


def _pull(line: Connection, url: str, dest: Path, wanted: Wanted) -> None:
    line.send("ready")
    line.recv()
    download(FixedUrl(PresignedUrl(url)), dest, wanted, context=FAST_CONTEXT)
