"""The other side of `beside`: a process that calls what it is asked to call, until nobody is left to ask."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.unwanted import refuse_unwanted


@dataclass(frozen=True)
class Ask:
    """Call a function of a module. With `stoppable` it is given a CancelToken as its last argument."""

    number: int
    function: Callable[..., object]
    arguments: tuple[object, ...]
    stoppable: bool


@dataclass(frozen=True)
class Stop:
    """Nobody waits for the answer to this question any more."""

    number: int


@dataclass(frozen=True)
class Answer:
    """What a function gave, or the error that it raised."""

    number: int
    result: object = None
    error: NoeiraError | None = None


@dataclass(frozen=True)
class Said:
    """Something to know while the work goes on."""

    text: str


def serve(fd: str, niceness: str, *without: str) -> None:
    """Answer the questions that come through a socket, `without` some packages; as a command's arguments.

    Never returns: at the socket's end the process ends, whatever is going on.
    """
    global _link  # noqa: PLW0603  one a process, and for functions that are called by name
    os.nice(int(niceness))
    refuse_unwanted(*without)
    link = _link = _Link(socket.socket(fileno=int(fd)))
    with link.socket.makefile("rb") as stream:
        while True:
            try:
                message = pickle.load(stream)
            except (EOFError, OSError, pickle.UnpicklingError):
                os._exit(0)
            link.hear(message)


def say(text: str) -> None:
    """Tell the other side something while the work goes on."""
    if _link is not None:
        _link.send(pickle.dumps(Said(text)))


class _Link:
    """The connection, and the work that goes on for it: a thread a question."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._sending = threading.Lock()
        self._tokens: dict[int, CancelToken] = {}

    def hear(self, message: object) -> None:
        if isinstance(message, Stop):
            token = self._tokens.get(message.number)
            if token is not None:
                token.cancel()
        elif isinstance(message, Ask):
            token = self._tokens[message.number] = CancelToken()
            threading.Thread(target=self._answer, args=(message, token), daemon=True).start()

    def send(self, data: bytes) -> None:
        try:
            with self._sending:
                self.socket.sendall(data)
        except OSError:
            # Whoever asked is gone.
            os._exit(0)

    def _answer(self, ask: Ask, token: CancelToken) -> None:
        told: bytes | None = None
        try:
            result = ask.function(*ask.arguments, *((token,) if ask.stoppable else ()))
            told = pickle.dumps(Answer(ask.number, result), pickle.HIGHEST_PROTOCOL)
        except NoeiraError as err:
            told = pickle.dumps(Answer(ask.number, error=err))
        finally:
            del self._tokens[ask.number]
            self.send(told or pickle.dumps(Answer(ask.number, error=_fault())))


def _fault() -> NoeiraError:
    fault = sys.exception()
    return NoeiraError(
        f"{type(fault).__name__}: {fault}",
        title="Unexpected error",
        hint="This is a fault of the program; please report it.",
    )


_link: _Link | None = None
