"""Ranged reads over HTTP: a few kept connections, bounded retries, answers believed only as far as they go."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from noeira_tui.core.errors import DatasetFileError, NetworkError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.localstore import too_large
from noeira_tui.datasets.store import FileMark, Piece, Span, Traffic
from noeira_tui.transfer.dial import Line
from noeira_tui.transfer.facts import Patience
from noeira_tui.transfer.http import Answer, Client, put_headers

PATIENCE = Patience(connect_s=10.0, answer_s=30.0, window_s=30.0)
ATTEMPTS = 4
BUSY = frozenset({429, 500, 502, 503, 504})
MAX_WITHOUT_RANGES = 8 << 20
"""What is read of a file to get at a part of it, from a server that has no ranges."""

_MAX_ERROR_BODY = 16 << 10
_MAX_KEPT = 8


@dataclass(frozen=True)
class Request:
    """One GET or HEAD. `authorization` goes to the origin of the URL only; `headers` are part of the request."""

    url: str = field(repr=False)
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    authorization: str | None = field(default=None, repr=False)
    follow: bool = True


@dataclass(frozen=True)
class Refusal:
    """An answer that is not the file: its status, headers and the first bytes of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


T = TypeVar("T")


class WebClient:
    """Sends requests over connections that it keeps, one a thread at a time."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._lock = threading.Lock()
        self._idle: list[Client] = []
        self._closed = False

    def get(self, request: Request, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece | Refusal:
        """The bytes asked for, or the answer that stands in their way. Tried again while the server is busy."""
        headers = {"Accept-Encoding": "identity", **request.headers}
        if span is not None:
            headers["Range"] = range_header(span)

        def read(answer: Answer) -> Piece | Refusal:
            if answer.status == 416 and span is not None:
                return _beyond_end(answer, span)
            if answer.status not in {200, 206}:
                return self._refusal(answer)
            if span is None or answer.status == 200:
                return self._whole(answer, request, span, max_bytes)
            return self._part(answer, request, span, max_bytes)

        return self._with_patience(request, headers, cancel, read)

    def head(self, request: Request, cancel: CancelToken) -> FileMark | Refusal:
        """A file's size and ETag, else the time of its last change, by HEAD."""

        def read(answer: Answer) -> FileMark | Refusal:
            if answer.status != 200:
                return self._refusal(answer)
            length = answer.header("Content-Length")
            tag = answer.header("ETag") or answer.header("Last-Modified") or ""
            return FileMark(int(length) if length is not None and length.isdigit() else None, tag)

        return self._with_patience(request, {"Accept-Encoding": "identity", **request.headers}, cancel, read)

    def close(self) -> None:
        """Close every connection; a request under way finishes on its own."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def _with_patience(
        self, request: Request, headers: Mapping[str, str], cancel: CancelToken, read: Callable[[Answer], T]
    ) -> T:
        attempt = 1
        while True:
            cancel.check()
            client = self._borrow(cancel)
            wait_s = min(3.0, 0.2 * 2**attempt)
            try:
                answer = self._send(client, request, headers)
                last = answer.status not in BUSY or attempt >= ATTEMPTS
                try:
                    if last:
                        return read(answer)
                    wait_s = _retry_after(answer.header("Retry-After"), wait_s)
                finally:
                    answer.close()
            except NetworkError as err:
                if not err.retryable or attempt >= ATTEMPTS:
                    raise
            finally:
                self._give_back(client)
            attempt += 1
            cancel.sleep(wait_s)

    def _send(self, client: Client, request: Request, headers: Mapping[str, str]) -> Answer:
        before = client.requests
        try:
            if request.method == "GET" and request.follow:
                return client.get(request.url, headers, request.authorization)

            def put(line: Line, parts: SplitResult) -> None:
                put_headers(line, parts, request.method, headers)
                line.connection.endheaders()

            return client.send(request.url, put)
        finally:
            self._traffic.add(requests=client.requests - before)

    def _borrow(self, cancel: CancelToken) -> Client:
        with self._lock:
            client = self._idle.pop() if self._idle else None
        if client is None:
            return Client(PATIENCE, cancel)
        client.cancel = cancel
        return client

    def _give_back(self, client: Client) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _MAX_KEPT:
                self._idle.append(client)
                return
        client.close()

    def _refusal(self, answer: Answer) -> Refusal:
        body = self._body(answer, _MAX_ERROR_BODY, None)
        names = ("Content-Type", "Location", "x-amz-bucket-region", "x-amz-request-id", "Server")
        found = {name.lower(): value for name in names if (value := answer.header(name)) is not None}
        return Refusal(answer.status, found, body)

    def _whole(self, answer: Answer, request: Request, span: Span | None, max_bytes: int) -> Piece:
        """The whole file where it was wanted, or where the server has no ranges and it is small enough to cut from."""
        limit = max_bytes if span is None else MAX_WITHOUT_RANGES
        if answer.left is not None and answer.left > limit:
            if span is not None:
                raise no_ranges(request.path, answer.left)
            raise too_large(request.path, answer.left, max_bytes)
        encoding = (answer.header("Content-Encoding") or "identity").lower()
        content_type = (answer.header("Content-Type") or "").lower()
        data = self._body(answer, limit, request.path if span is None else None, no_ranges_of=request.path)
        data = _decoded(data, encoding, limit, request.path)
        refuse_page(data, content_type, request.path)
        return replace(_cut(data, span), following=_following(answer.header("Link"), request.url))

    def _part(self, answer: Answer, request: Request, span: Span, max_bytes: int) -> Piece:
        start, total = content_range(answer.header("Content-Range"))
        wanted = span.start if span.start >= 0 else max(0, (total or 0) + span.start)
        if start is None or start != wanted:
            raise DatasetFileError(
                f"{request.path or 'the file'}: the server sent another part of it than was asked for.",
                code="no_ranges",
                file=request.path,
            )
        if (answer.header("Content-Encoding") or "identity").lower() != "identity":
            raise DatasetFileError(
                f"{request.path or 'the file'}: a proxy on the way compresses it; ranges of it mean nothing.",
                code="no_ranges",
                file=request.path,
            )
        length = -span.start if span.stop is None and span.start < 0 else (span.stop or (total or 0)) - span.start
        data = self._body(answer, min(max_bytes, max(0, length)), request.path)
        refuse_page(data, (answer.header("Content-Type") or "").lower(), request.path)
        return Piece(data, start, total)

    def _body(self, answer: Answer, limit: int, refuse: str | None, *, no_ranges_of: str | None = None) -> bytes:
        """At most `limit` bytes of a body. More of it is an error where `refuse` or `no_ranges_of` names the file."""
        size = min(limit, answer.left) if answer.left is not None else limit
        buffer = bytearray(min(size, 1 << 20))
        filled = 0
        while filled < size:
            if filled == len(buffer):
                buffer.extend(bytes(min(size - filled, max(1 << 20, filled))))
            count = answer.read_into(memoryview(buffer)[filled:])
            if count == 0:
                break
            filled += count
            # At once: over a slow line somebody watches the figure.
            self._traffic.add(size_bytes=count)
        if filled == limit and (refuse is not None or no_ranges_of is not None) and answer.left != 0:
            more = answer.read_into(memoryview(bytearray(1)))
            filled_over = filled + more
            if more and refuse is not None:
                raise too_large(refuse, answer.left or filled_over, limit)
            if more and no_ranges_of is not None:
                raise no_ranges(no_ranges_of, None)
        return bytes(memoryview(buffer)[:filled])


def range_header(span: Span) -> str:
    """A span as the `Range` header has it."""
    if span.start < 0:
        return f"bytes={span.start}"
    return f"bytes={span.start}-" + ("" if span.stop is None else str(span.stop - 1))


NO_SUFFIX = frozenset({400, 416, 501})
"""How stores answer that do not know ranges counted from the end; nanio and some gateways are such."""


def from_the_end(span: Span, total: int) -> Span:
    """A span counted from the end as one counted from the start."""
    return Span(max(0, total + span.start), total)


def content_range(header: str | None) -> tuple[int | None, int | None]:
    """Start and total of a `Content-Range`; None for what it does not tell."""
    unit, _, rest = (header or "").partition(" ")
    span, _, total = rest.partition("/")
    start = span.partition("-")[0]
    if unit != "bytes":
        return None, None
    return (int(start) if start.isdigit() else None), (int(total) if total.isdigit() else None)


def no_ranges(path: str, size_bytes: int | None) -> DatasetFileError:
    """The error for a server that answers a part with the whole of a large file."""
    size = "" if size_bytes is None else f", {size_bytes:,} bytes"
    return DatasetFileError(
        f"The server has no range requests: it would send the whole of {path or 'the file'}{size}. It was not read.",
        code="no_ranges",
        file=path,
        hint="Serve it from an object store or a web server with ranges, or download it and look at the copy.",
    )


def refuse_page(data: bytes, content_type: str, path: str) -> None:
    """Raise DatasetFileError for a web page that came in place of a file."""
    head = data[:256].lstrip().lower()
    looks = head.startswith((b"<!doctype html", b"<html"))
    if looks or (content_type.startswith("text/html") and head.startswith(b"<")):
        raise DatasetFileError(
            f"{path or 'The URL'} answers with a web page (HTML), not with a file.",
            code="not_a_file",
            file=path,
            title="Not a dataset",
            hint="This looks like the address of a console or a login page. Use the address of the files themselves.",
        )


def _decoded(data: bytes, encoding: str, limit: int, path: str) -> bytes:
    if encoding in {"identity", ""}:
        return data
    if encoding in {"gzip", "deflate", "x-gzip"}:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            plain = unpacker.decompress(data, limit)
        except zlib.error:
            plain = b""
        if plain and not unpacker.unconsumed_tail:
            return plain
    raise DatasetFileError(
        f"{path or 'the file'} comes with the encoding {encoding[:20]!r}, which cannot be undone here.",
        code="damaged_file",
        file=path,
    )


def _cut(data: bytes, span: Span | None) -> Piece:
    if span is None:
        return Piece(data, 0, len(data))
    start = max(0, len(data) + span.start) if span.start < 0 else min(span.start, len(data))
    return Piece(data[start : span.stop] if span.start >= 0 else data[start:], start, len(data))


def _following(link: str | None, url: str) -> str | None:
    """Where a list goes on (RFC 8288). Only at the same origin: what authorises the list authorises the rest of it."""
    found = re.search(r'<([^<>]+)>\s*;[^,<]*\brel="?next\b', link or "")
    if found is None:
        return None
    there = urljoin(url, found[1])
    return there if urlsplit(there)[:2] == urlsplit(url)[:2] else None


def _beyond_end(answer: Answer, span: Span) -> Piece:
    """416: the span begins behind the end of the file; nothing is there."""
    total = content_range(answer.header("Content-Range"))[1]
    return Piece(b"", span.start if span.start >= 0 else 0, 0 if total is None else total)


def _retry_after(header: str | None, fallback_s: float) -> float:
    return min(10.0, float(header)) if header is not None and header.strip().isdigit() else fallback_s
