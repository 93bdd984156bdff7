"""A catalog of one dataset that counts what it is asked, for pulls that should ask for almost nothing."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ID = "one-v1"


@dataclass
class Counted:
    """Requests for the row, and requests for the object, since the counters were last set to 0."""

    origin: str
    rows: int = 0
    objects: int = 0


@contextmanager
def counting_catalog(object_url: str, sha256: str, size_bytes: int) -> Iterator[Counted]:
    """Serve one ready row; its object is behind a redirect of ours, so that asking for it is seen."""
    counted = Counted("")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            if self.path.startswith("/object"):
                counted.objects += 1
                self._answer(302, b"", object_url)
                return
            counted.rows += 1
            if self.path != f"/datasets/{ID}":
                self._answer(404, b'{"error": "no such route"}')
                return
            row = {"id": ID, "name": "one", "version": "v1", "status": "ready", "sizeBytes": size_bytes}
            self._answer(
                200, json.dumps({**row, "sha256": sha256, "download_url": f"{counted.origin}/object"}).encode()
            )

        def _answer(self, status: int, body: bytes, location: str | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if location is not None:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    counted.origin = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield counted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
