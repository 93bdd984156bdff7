"""A web server for datasets that counts what it sends and misbehaves on demand; a counting proxy for real stores."""

from __future__ import annotations

import http.client
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

HTML = b"<!DOCTYPE html><html><head><title>Console</title></head><body>Sign in</body></html>"


@dataclass
class Counted:
    """What a server was asked and what it sent: body bytes only. `log` has method, path and Range of each request."""

    requests: int = 0
    body_bytes: int = 0
    log: list[tuple[str, str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reset(self) -> None:
        with self.lock:
            self.requests, self.body_bytes = 0, 0
            self.log.clear()

    def add(self, method: str, path: str, span: str) -> None:
        with self.lock:
            self.requests += 1
            self.log.append((method, path, span))

    def sent(self, count: int) -> None:
        with self.lock:
            self.body_bytes += count


@dataclass
class Behaviour:
    """Switches of the faulty web server."""

    ranges: bool = True
    head: bool = True
    html_for_everything: bool = False
    fail_first: int = 0
    token: str | None = None
    gzip: bool = False
    wrong_range: bool = False


class FileServer:
    """Serves a folder on a loopback port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counted = Counted()
        self.behaviour = Behaviour()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

            def handle(self) -> None:
                # A client that does not trust the certificate says so and is gone.
                with suppress(ssl.SSLError):
                    super().handle()

            def do_GET(self) -> None:
                outer.answer(self)

            def do_HEAD(self) -> None:
                outer.answer(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def secure(self, tls: ssl.SSLContext) -> None:
        """Speak TLS from now on."""
        # The handshake is made by the thread of its connection: one that fails must not end the accepting.
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = self.url.replace("http://", "https://")

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def file_for(self, path: str) -> Path | None:
        found = self.folder / unquote(path).lstrip("/")
        return found if found.is_file() else None

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = urlsplit(handler.path).path
        span = handler.headers.get("Range", "")
        self.counted.add(handler.command, path, span)
        if self.behaviour.fail_first > 0:
            self.behaviour.fail_first -= 1
            self.reply(handler, 503, b"busy")
            return
        if self.behaviour.html_for_everything:
            self.reply(handler, 200, HTML, {"Content-Type": "text/html; charset=utf-8"})
            return
        if handler.command == "HEAD" and not self.behaviour.head:
            self.reply(handler, 405, b"")
            return
        if self.behaviour.token and handler.headers.get("Authorization") != f"Bearer {self.behaviour.token}":
            self.reply(handler, 401, b'{"error": "no"}')
            return
        self.serve(handler, path, span)

    def serve(self, handler: BaseHTTPRequestHandler, path: str, span: str) -> None:
        found = self.file_for(path)
        if found is None:
            self.reply(handler, 404, b"no such file")
            return
        data = found.read_bytes()
        if not span or not self.behaviour.ranges:
            self.reply(handler, 200, data)
            return
        part = cut(data, span)
        if part is None:
            self.reply(handler, 416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        start, stop = part
        told = start + 7 if self.behaviour.wrong_range else start
        headers = {"Content-Range": f"bytes {told}-{stop - 1}/{len(data)}"}
        self.reply(handler, 206, data[start:stop], headers)

    def reply(
        self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command == "HEAD":
            return
        try:
            for at in range(0, len(body), 1 << 16):
                chunk = body[at : at + (1 << 16)]
                handler.wfile.write(chunk)
                self.counted.sent(len(chunk))
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True


class HubServer(FileServer):
    """Answers like a Hugging Face hub: `/datasets/OWNER/NAME/resolve/REV/…`, with a redirect for large files."""

    def serve(self, handler: BaseHTTPRequestHandler, path: str, span: str) -> None:
        cdn = re.fullmatch(r"/cdn/(.*)", path)
        if cdn is not None:
            assert handler.headers.get("Authorization") is None or self.behaviour.token, path
            super().serve(handler, f"/{cdn[1]}", span)
            return
        tree = re.fullmatch(r"/api/datasets/o/r/tree/main/?(.*)", path)
        if tree is not None:
            self._tree(handler, unquote(tree[1]), int(parse_qs(urlsplit(handler.path).query).get("cursor", ["0"])[0]))
            return
        found = re.fullmatch(r"/datasets/o/r/resolve/main/(.*)", path)
        if found is None:
            self.reply(handler, 404, b'{"error": "Repository not found"}')
        elif found[1].endswith((".parquet", ".mp4")) and self.file_for(found[1]) is not None:
            self.reply(handler, 302, b"", {"Location": f"/cdn/{found[1]}"})
        else:
            super().serve(handler, f"/{found[1]}", span)

    def _tree(self, handler: BaseHTTPRequestHandler, path: str, cursor: int) -> None:
        """A list of a folder, two entries a page."""
        import json

        folder = self.folder / path
        rows = [
            {
                "type": "directory" if item.is_dir() else "file",
                "path": str(item.relative_to(self.folder)),
                "size": 0 if item.is_dir() else item.stat().st_size,
            }
            for item in (sorted(folder.iterdir()) if folder.is_dir() else ())
        ]
        place = urlsplit(handler.path).path
        more = {"Link": f'<{self.url}{place}?cursor={cursor + 2}>; rel="next"'} if cursor + 2 < len(rows) else {}
        self.reply(handler, 200, json.dumps(rows[cursor : cursor + 2]).encode(), more)


def cut(data: bytes, span: str) -> tuple[int, int] | None:
    """What a Range header asks for; None when it begins behind the end."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", span)
    assert found is not None, span
    if not found[1]:
        return (max(0, len(data) - int(found[2])), len(data)) if data else None
    start = int(found[1])
    stop = min(len(data), int(found[2]) + 1) if found[2] else len(data)
    return (start, stop) if start < len(data) else None


@contextmanager
def serving(folder: Path, kind: type[FileServer] = FileServer) -> Iterator[FileServer]:
    """A server over a folder, until the end of the context."""
    server = kind(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class CountingProxy:
    """Stands before a real store, passes everything on as it is, and counts what comes back."""

    def __init__(self, target: str) -> None:
        self.counted = Counted()
        parts = urlsplit(target)
        counted = self.counted

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

            def do_GET(self) -> None:
                counted.add(self.command, self.path, self.headers.get("Range", ""))
                onward = http.client.HTTPConnection(parts.hostname or "", parts.port)
                onward.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() != "connection":
                        onward.putheader(name, value)
                onward.endheaders()
                answer = onward.getresponse()
                body = answer.read()
                onward.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in {"transfer-encoding", "content-length", "connection", "date", "server"}:
                        self.send_header(name, value)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(body))
                self.send_header("Content-Length", length or "0")
                self.end_headers()
                self.wfile.write(body)
                counted.sent(len(body))

            def do_HEAD(self) -> None:
                self.do_GET()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> CountingProxy:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
