"""A small HTTP proxy on loopback that opens tunnels (`CONNECT`), or refuses them, or never answers."""

from __future__ import annotations

import socket
import socketserver
import threading
from typing import Self


class FaultyProxy:
    """Honest by default. `refuse` is a status to answer every CONNECT with; `silent` answers none.

    `asked` holds the heads of all requests as they came in.
    """

    def __init__(self, *, refuse: int = 0, silent: bool = False) -> None:
        self.refuse = refuse
        self.silent = silent
        self.asked: list[str] = []
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False


class _Handler(socketserver.StreamRequestHandler):
    proxy: FaultyProxy

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        self.proxy.asked.append(head.decode())
        if self.proxy.silent:
            self.proxy.closing.wait(30)
            return
        if self.proxy.refuse:
            self.wfile.write(f"HTTP/1.1 {self.proxy.refuse} Refused\r\nContent-Length: 0\r\n\r\n".encode())
            return
        host, _, port = head.split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as beyond:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(beyond, self.connection), daemon=True)
            back.start()
            _pump(self.connection, beyond)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass on everything; the end and a reset alike end both ways."""
    try:
        while data := source.recv(64 << 10):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, sink):
            one.close()
