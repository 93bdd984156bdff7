"""An object store on loopback that is honest by default and has a switch for every fault a real one ever showed.

`faults` is a queue: each request takes the first one; `always` is used by every request once the queue is empty.
Counters tell what was asked and which bytes went out, so that a test can say "no byte was sent twice".
"""

from __future__ import annotations

import gzip
import hashlib
import http.server
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self
from urllib.parse import parse_qs, urlsplit

from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.transfer.facts import Patience, TransferContext, Wanted

FAST = Patience(connect_s=3, answer_s=1.0, tick_s=0.02, window_s=0.6, attempts=4, backoff_s=0.01, backoff_max_s=0.05)
FAST_CONTEXT = TransferContext(patience=FAST)
SECRET = "5ecret5ignature"
_CHUNK = 64 << 10


class Kind(StrEnum):
    """What goes wrong. The comment names what `Fault.value` means, where it means something."""

    STATUS = "status"  # the status
    RESET = "reset"  # closed before any answer
    CUT = "cut"  # closed after that many body bytes
    SHORT = "short"  # a proper part, but only that many bytes of what was asked
    IGNORE_RANGE = "ignore range"
    WRONG_START = "wrong start"  # that many bytes later than asked
    NO_CONTENT_RANGE = "no content range"
    WRONG_TOTAL = "wrong total"
    FLIP = "flip"  # the byte at that offset of the object is wrong
    TOO_LONG = "too long"
    NOT_SATISFIABLE = "416"
    GZIP = "gzip"
    CHUNKED = "chunked"
    NO_LENGTH = "no length"
    DRIBBLE = "dribble"  # that many bytes every 50 ms
    SILENT = "silent"
    REDIRECT = "redirect"
    HTML = "html"
    EXPIRE = "expire"  # this URL and all older ones are refused from now on


@dataclass(frozen=True)
class Fault:
    kind: Kind
    value: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    location: str = ""


@dataclass(frozen=True)
class Seen:
    """One request as it came in, and the object bytes that went out for it (end excluded)."""

    method: str
    path: str
    query: str
    headers: dict[str, str] = field(hash=False)
    first: int = 0
    end: int = 0


class Source:
    """A UrlSource whose URLs the server knows; counts how often a fresh one was asked for."""

    def __init__(self, server: FaultyServer, path: str = "/object") -> None:
        self._server = server
        self._path = path
        self._lock = threading.Lock()
        self.refreshes = 0

    def current(self) -> PresignedUrl:
        return self._server.presigned(self._path)

    def refresh(self) -> PresignedUrl:
        with self._lock:
            self.refreshes += 1
        return self._server.presigned(self._path)


class FaultyServer:
    """Serves `content` at every path and keeps what is PUT in `uploads`."""

    def __init__(
        self,
        content: bytes = b"",
        *,
        family: socket.AddressFamily = socket.AF_INET,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.content = content
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.pace_s = 0.0
        """Seconds between two chunks of 64 KiB: a slow link."""
        self.seen: list[Seen] = []
        self.uploads: dict[str, bytes] = {}
        self.upload_fault_after = 0
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self._newest = 0
        self.oldest_valid = 0
        handler = type("Handler", (_Handler,), {"faulty": self})
        server_class = type("Server", (_Server,), {"address_family": family})
        self._server = server_class(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), handler)
        self.port = self._server.server_address[1]
        host = "[::1]" if family == socket.AF_INET6 else "127.0.0.1"
        self.origin = f"{'http' if tls is None else 'https'}://{host}:{self.port}"
        if tls is not None:
            # The handshake belongs to the connection's own thread, not to the one that accepts.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def wanted(self) -> Wanted:
        return Wanted(hashlib.sha256(self.content).hexdigest(), len(self.content))

    def source(self, path: str = "/object") -> Source:
        return Source(self, path)

    def presigned(self, path: str) -> PresignedUrl:
        with self.lock:
            self._newest += 1
            return PresignedUrl(f"{self.origin}{path}?X-Amz-Signature={SECRET}&n={self._newest}")

    def expire(self) -> None:
        """Refuse every URL given so far."""
        with self.lock:
            self.oldest_valid = self._newest + 1

    def will(self, *faults: Fault) -> None:
        """The next requests meet these faults, one each."""
        self.faults.extend(faults)

    @property
    def requests(self) -> int:
        return len(self.seen)

    @property
    def bytes_sent(self) -> int:
        with self.lock:
            return sum(one.end - one.first for one in self.seen)

    @property
    def bytes_sent_twice(self) -> int:
        with self.lock:
            ranges = sorted((one.first, one.end) for one in self.seen if one.end > one.first)
        twice = reached = 0
        for first, end in ranges:
            twice += max(0, min(reached, end) - first)
            reached = max(reached, end)
        return twice

    def take_fault(self) -> Fault | None:
        with self.lock:
            return self.faults.popleft() if self.faults else self.always

    def note(self, seen: Seen) -> None:
        with self.lock:
            self.seen.append(seen)


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is what these tests are about."""


class _Handler(http.server.BaseHTTPRequestHandler):
    faulty: FaultyServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        fault = self._fault()
        if fault is not None and self._answered_without_body(fault):
            return
        first, end, partial = self._asked()
        kind = None if fault is None else fault.kind
        value = 0 if fault is None else fault.value
        if kind is Kind.IGNORE_RANGE:
            first, end, partial = 0, len(self.faulty.content), False
        if kind is Kind.SHORT:
            end = min(end, first + value)
        if kind is Kind.WRONG_START:
            first = min(first + value, max(0, end - 1))
        if partial and (first >= len(self.faulty.content) or kind is Kind.NOT_SATISFIABLE):
            self._plain(416, b"", [("Content-Range", f"bytes */{len(self.faulty.content)}")])
            self._seen()
            return
        self._send(fault, first, end, partial)

    def do_PUT(self) -> None:
        fault = self._fault()
        self._seen()
        if fault is not None and fault.kind is Kind.CUT:
            self.rfile.read(fault.value)
            self._abort()
            return
        if fault is not None and fault.kind is Kind.SILENT:
            self.faulty.closing.wait(30)
            self.close_connection = True
            return
        if fault is not None and self.faulty.upload_fault_after:
            self.rfile.read(self.faulty.upload_fault_after)
            self._plain(fault.value, b"<Error><Code>SlowDown</Code></Error>", fault.headers)
            self.wfile.flush()
            self._abort()
            return
        body = self._read_body()
        if fault is not None and self._answered_without_body(fault):
            return
        self.faulty.uploads[urlsplit(self.path).path] = body
        self._plain(200, b"", [("ETag", f'"{hashlib.md5(body).hexdigest()}"')])

    def _read_body(self) -> bytes:
        left = int(self.headers.get("Content-Length") or 0)
        parts = []
        while left and (chunk := self.rfile.read(min(left, _CHUNK))):
            parts.append(chunk)
            left -= len(chunk)
            if self.faulty.pace_s:
                time.sleep(self.faulty.pace_s)
        return b"".join(parts)

    def _fault(self) -> Fault | None:
        number = parse_qs(urlsplit(self.path).query).get("n", ["0"])[0]
        fault = self.faulty.take_fault()
        if fault is not None and fault.kind is Kind.EXPIRE:
            self.faulty.expire()
        if int(number) < self.faulty.oldest_valid:
            return Fault(Kind.STATUS, 403)
        return None if fault is not None and fault.kind is Kind.EXPIRE else fault

    def _answered_without_body(self, fault: Fault) -> bool:
        if fault.kind is Kind.STATUS:
            body = f"<Error><Code>Code{fault.value}</Code><Message>X-Amz-Signature</Message></Error>".encode()
            self._plain(fault.value, body, fault.headers)
        elif fault.kind is Kind.HTML:
            self._plain(200, b"<html><body>Please log in</body></html>", (("Content-Type", "text/html"),))
        elif fault.kind is Kind.REDIRECT:
            self._plain(fault.value or 302, b"", [("Location", fault.location)])
        elif fault.kind is Kind.RESET:
            self._abort()
        elif fault.kind is Kind.SILENT:
            self.faulty.closing.wait(30)
            self.close_connection = True
        else:
            return False
        if self.command == "GET":
            self._seen()
        return True

    def _asked(self) -> tuple[int, int, bool]:
        size = len(self.faulty.content)
        text = self.headers.get("Range")
        if not text:
            return 0, size, False
        first, _, last = text.removeprefix("bytes=").partition("-")
        return int(first), min(size, int(last) + 1) if last else size, True

    def _send(self, fault: Fault | None, first: int, end: int, partial: bool) -> None:
        kind = None if fault is None else fault.kind
        content = self.faulty.content
        body = bytearray(content[first:end])
        if kind is Kind.FLIP and fault is not None and first <= fault.value < end:
            body[fault.value - first] ^= 0xFF
        extra = b"!" * 10 if kind is Kind.TOO_LONG and not partial else b""
        total = len(content) + (7 if kind is Kind.WRONG_TOTAL else 0)
        self.send_response(206 if partial else 200)
        if partial and kind is not Kind.NO_CONTENT_RANGE:
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{total}")
        payload = bytes(body) + extra
        if kind is Kind.GZIP:
            payload = gzip.compress(payload, 0)
            self.send_header("Content-Encoding", "gzip")
        if kind is Kind.CHUNKED or kind is Kind.GZIP:
            self.send_header("Transfer-Encoding", "chunked")
        elif kind is Kind.NO_LENGTH or extra:
            self.close_connection = True
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        chunked = kind is Kind.CHUNKED or kind is Kind.GZIP
        sent = 0
        try:
            sent = self._stream(payload, fault, chunked)
        finally:
            self._seen(first, first + sent)
        if kind is Kind.CUT and sent < len(payload):
            self.close_connection = True
        elif chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _stream(self, payload: bytes, fault: Fault | None, chunked: bool) -> int:
        """Send the payload as the fault wants it; how many bytes the socket took."""
        kind = None if fault is None else fault.kind
        limit = fault.value if fault is not None and kind is Kind.CUT else len(payload)
        step = max(1, fault.value) if fault is not None and kind is Kind.DRIBBLE else _CHUNK
        view = memoryview(payload)[:limit]
        sent = 0
        while sent < len(view):
            piece = view[sent : sent + step]
            if chunked:
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            else:
                self.wfile.write(piece)
            sent += len(piece)
            if kind is Kind.DRIBBLE and self.faulty.closing.wait(0.05):
                break
            if self.faulty.pace_s and self.faulty.closing.wait(self.faulty.pace_s):
                break
        return sent

    def _plain(self, status: int, body: bytes, headers: object = ()) -> None:
        self.send_response(status)
        for name, value in headers:  # type: ignore[attr-defined]
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _abort(self) -> None:
        """Close with a reset, as a crashed proxy does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _seen(self, first: int = 0, end: int = 0) -> None:
        parts = urlsplit(self.path)
        self.faulty.note(Seen(self.command, parts.path, parts.query, dict(self.headers.items()), first, end))
