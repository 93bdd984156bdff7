"""An object store in memory that believes every signature, for what real stores do only now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


@dataclass
class PlainStore:
    """What it holds by path (`bucket/key`), the requests it got, and what it does wrong.

    `cut_answers` is how many GETs break off in the middle, `short_puts` how many PUTs are answered 200 with half of the
    bytes kept. With `refuses_wishes` a copy that is to tell the digest is answered 501. `copy_answers` are statuses and
    bodies of the next copies, none of which is made. `at_request` is told what is asked before it is done. It knows no
    multipart uploads.
    """

    port: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cut_answers: int = 0
    short_puts: int = 0
    refuses_wishes: bool = False
    copy_answers: list[tuple[int, bytes]] = field(default_factory=list)
    at_request: Callable[[str], None] | None = None

    def note(self, what: str) -> None:
        self.asked.append(what)
        if self.at_request is not None:
            self.at_request(what)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_plain_store() -> Iterator[PlainStore]:
    """A store on a free loopback port until the context ends."""
    store = PlainStore()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._get()

        def do_GET(self) -> None:
            self._get()

        def _get(self) -> None:
            store.note(self.command)
            data = store.objects.get(self._key)
            if "/" not in self._key:
                data = b""
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            if self.command == "GET" and data and store.cut_answers:
                store.cut_answers -= 1
                self.wfile.write(data[: len(data) // 2])
                self.close_connection = True
            elif self.command == "GET" and data:
                self.wfile.write(data)

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            source = self.headers.get("x-amz-copy-source")
            store.note("PUT" if source is None else "COPY")
            if source is not None:
                if store.refuses_wishes and "x-amz-checksum-algorithm" in self.headers:
                    self._done(501)
                    return
                if store.copy_answers:
                    self._done(*store.copy_answers.pop(0))
                    return
                if (found := store.objects.get(unquote(source).strip("/"))) is None:
                    self._done(404)
                    return
                body = found
            elif store.short_puts:
                store.short_puts -= 1
                body = body[: len(body) // 2]
            store.objects[self._key] = body
            self._done(200)

        def do_POST(self) -> None:
            self._done(501)

        def do_DELETE(self) -> None:
            store.note("DELETE")
            store.objects.pop(self._key, None)
            self._done(204)

        @property
        def _key(self) -> str:
            return unquote(urlsplit(self.path).path).strip("/")

        def _done(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: `asked` has it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        store.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield store
        finally:
            server.shutdown()
            thread.join(10)
