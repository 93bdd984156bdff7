"""The service's own connections to an object store: kept open, shared by threads, and read to the announced end."""

from __future__ import annotations

import functools
import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult

TIMEOUT_S = 30.0
_IDLE_CONNECTIONS = 16
_PIECE_BYTES = 1024**2


@dataclass(frozen=True)
class Answer:
    """What a store answered: headers by lower-case name, and a body that is empty where it was read elsewhere."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connections:
    """Connections to one address, idle ones kept to be used again. May be shared between threads."""

    def __init__(self, address: SplitResult) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._closed = False

    def take(self, *, fresh: bool = False) -> tuple[http.client.HTTPConnection, bool]:
        """A connection nobody else uses, and whether it was used before. Raises OSError once they are closed."""
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("the service is being stopped")
            reused = bool(self._idle) and not fresh
            connection = self._idle.pop() if reused else connect(self._address)
            self._busy.add(connection)
        return connection, reused

    def give_back(self, connection: http.client.HTTPConnection, *, usable: bool) -> None:
        """Keep a connection for the next one, unless it is of no use any more or enough are kept."""
        with self._lock:
            self._busy.discard(connection)
            if usable and not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close all, at once: what is waited for now comes to an end, however long it would take."""
        with self._lock:
            self._closed = True
            idle, busy = self._idle, list(self._busy)
            self._idle = []
        for connection in idle:
            connection.close()
        for connection in busy:
            _cut(connection)


def _cut(connection: http.client.HTTPConnection) -> None:
    """End what another thread reads from or writes to, which then closes it."""
    sock: socket.socket | None = connection.sock
    try:
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It ended by itself.
        return


class Counted:
    """Reads an answer piece by piece, keeping only its size and digest; a repeated call begins anew."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.sha256 = ""

    def read(self, response: http.client.HTTPResponse) -> bytes:
        self.size_bytes, digest = 0, hashlib.sha256()
        announced = response.length
        while piece := response.read(_PIECE_BYTES):
            self.size_bytes += len(piece)
            digest.update(piece)
        # Read by pieces, an answer that broke off ends like a whole one.
        if announced is not None and self.size_bytes != announced:
            raise http.client.IncompleteRead(b"", announced - self.size_bytes)
        self.sha256 = digest.hexdigest()
        return b""


@functools.cache
def _trust() -> ssl.SSLContext:
    """Whom a store's certificate may be from; loading hundreds of authorities takes tens of milliseconds."""
    return ssl.create_default_context()


def connect(address: SplitResult) -> http.client.HTTPConnection:
    """A connection to a store, not opened yet."""
    host = address.hostname or ""
    if address.scheme == "https":
        return http.client.HTTPSConnection(host, address.port, timeout=TIMEOUT_S, context=_trust())
    return http.client.HTTPConnection(host, address.port, timeout=TIMEOUT_S)


def make_ready(connection: http.client.HTTPConnection, timeout_s: float) -> None:
    """Connect unless that was done, and let the other side say nothing for so long from now on. Raises OSError."""
    if connection.sock is None:
        connection.connect()
    connection.sock.settimeout(timeout_s)
