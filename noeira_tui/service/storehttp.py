"""The service's own connections to an object store: kept open, shared by threads, and read to the announced end."""

from __future__ import annotations

import hashlib
import http.client
import queue
import ssl
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
    """Idle connections to one address. May be shared between threads."""

    def __init__(self, address: SplitResult) -> None:
        self._address = address
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue(_IDLE_CONNECTIONS)

    def take(self) -> tuple[http.client.HTTPConnection, bool]:
        """A connection nobody else uses, and whether it was used before."""
        try:
            return self._idle.get_nowait(), True
        except queue.Empty:
            return connect(self._address), False

    def give_back(self, connection: http.client.HTTPConnection, closing: bool) -> None:
        """Keep a connection for the next one, unless the other side closes it or enough are kept."""
        if closing:
            connection.close()
            return
        try:
            self._idle.put_nowait(connection)
        except queue.Full:
            connection.close()

    def close(self) -> None:
        """Close those that nobody uses now."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
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


def connect(address: SplitResult) -> http.client.HTTPConnection:
    """A connection to a store, not opened yet."""
    host = address.hostname or ""
    if address.scheme == "https":
        return http.client.HTTPSConnection(host, address.port, timeout=TIMEOUT_S, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, address.port, timeout=TIMEOUT_S)


def set_timeout(connection: http.client.HTTPConnection, timeout_s: float) -> None:
    """Let the other side say nothing for so long, from now on; the connection may be open or not."""
    connection.timeout = timeout_s
    if connection.sock is not None:
        connection.sock.settimeout(timeout_s)
