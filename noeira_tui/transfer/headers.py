"""Reading the head of an answer from a socket that never blocks longer than a tick."""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any

from noeira_tui.core.progress import CancelToken
from noeira_tui.transfer.facts import Patience

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def wait_for(sock: socket.socket, event: int, seconds: float) -> bool:
    """Whether a socket became ready within `seconds`."""
    poller = select.poll()
    poller.register(sock, event)
    return bool(poller.poll(seconds * 1000))


class PatientReader(io.RawIOBase):
    """What `http.client` reads status and headers from: a cancel ends it, and a head that dribbles in for too long.

    With `ahead` set it takes only what is there.
    """

    def __init__(self, sock: socket.socket, patience: Patience, cancel: CancelToken) -> None:
        self.sock = sock
        # A file made of a socket keeps it open, also after its connection was closed for `Connection: close`.
        self._held = sock.makefile("rb", buffering=0)
        self._patience = patience
        self._cancel = cancel
        self._waited_s = 0.0
        self.ahead = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        while True:
            event = select.POLLIN
            try:
                return self.sock.recv_into(buffer)
            except (BlockingIOError, ssl.SSLWantReadError):
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            if self.ahead:
                return None
            self._cancel.check()
            if self._waited_s >= self._patience.answer_s:
                raise TimeoutError(f"the head of the answer took more than {self._patience.answer_s:.0f} s")
            began = time.monotonic()
            wait_for(self.sock, event, self._patience.tick_s)
            self._waited_s += time.monotonic() - began

    def close(self) -> None:
        if not self.closed:
            self._held.close()
        super().close()


class PatientResponse(http.client.HTTPResponse):
    """An answer whose head is read by a PatientReader. `patience` and `cancel` are set by `patient_response`."""

    patience: Patience
    cancel: CancelToken

    def __init__(self, sock: socket.socket, *more: Any, **named: Any) -> None:
        super().__init__(sock, *more, **named)
        self.fp.close()
        self.reader = PatientReader(sock, self.patience, self.cancel)
        self.fp = io.BufferedReader(self.reader)

    def read_ahead(self) -> bytes:
        """What came in one packet with the head; after it, the socket may be read directly."""
        self.reader.ahead = True
        return bytes(self.fp.peek())


def patient_response(patience: Patience, cancel: CancelToken) -> type[PatientResponse]:
    """The class of answers for one connection; `http.client` takes a class, not an object."""
    return type("PatientResponse", (PatientResponse,), {"patience": patience, "cancel": cancel})
