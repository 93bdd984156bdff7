"""A dataset behind plain URLs: a web server, presigned URLs from a resolver, a Hugging Face repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote, urlsplit, urlunsplit

from noeira_tui.core.errors import DatasetError, DatasetFileError, NoeiraError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import plain_body, without_query
from noeira_tui.datasets.localstore import missing
from noeira_tui.datasets.store import FileMark, Listing, Piece, Span, Traffic
from noeira_tui.datasets.webclient import NO_SUFFIX, Refusal, Request, WebClient, from_the_end, refuse_page

_ONE_BYTE = Span(0, 1)
_MAX_PAGES = 1000


class Resolver(Protocol):
    """Where each file of a dataset is: path → URL. It is how datasets behind a service are read without knowing it.

    A dataset that is one file has the empty path, and `filename` says what it is called; else that is empty.
    """

    @property
    def filename(self) -> str: ...

    def paths(self) -> Mapping[str, int | None]:
        """Every file with its size (None where unknown). May ask the service; raises ServiceError."""
        ...

    def digests(self) -> Mapping[str, str]:
        """The sha256 of every file of which the service knows it."""
        ...

    def url(self, path: str, *, fresh: bool) -> PresignedUrl | None:
        """A URL for a file; None when there is none. `fresh` means that the last one was refused."""
        ...


class WebStore:
    """Files below an http(s) address, or one file. Cannot be listed; a query of the address goes on every request."""

    can_list = False

    def __init__(self, address: str, traffic: Traffic) -> None:
        self._parts = urlsplit(address)
        self._client = WebClient(traffic)

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        answer = self._client.get(self._request(path), span, max_bytes, cancel)
        if span is not None and span.start < 0 and isinstance(answer, Refusal) and answer.status in NO_SUFFIX:
            total = self.size(path, cancel)
            if total:
                answer = self._client.get(self._request(path), from_the_end(span, total), max_bytes, cancel)
        return checked(answer, path, self._place(path))

    def size(self, path: str, cancel: CancelToken) -> int | None:
        return self.mark(path, cancel).size_bytes

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        head = self._client.head(self._request(path, "HEAD"), cancel)
        if not isinstance(head, Refusal):
            return head
        if head.status in {404, 410}:
            raise missing(path)
        # Some servers refuse HEAD, redirect it, or answer it wrongly: one byte tells the size as well.
        return FileMark(self.get(path, _ONE_BYTE, 1, cancel).total)

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        raise not_listable(self._place(path))

    def close(self) -> None:
        self._client.close()

    def _request(self, path: str, method: str = "GET") -> Request:
        return Request(self._url(path), path, method, follow=method == "GET")

    def _url(self, path: str) -> str:
        parts = self._parts
        base = quote(parts.path, safe="/%:@!$&'()*+,;=~-._")
        whole = base if not path else f"{base.rstrip('/')}/{quote(path, safe='/~-._')}"
        return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))

    def _place(self, path: str) -> str:
        return without_query(self._url(path))


class ResolvedStore:
    """Files behind the URLs of a resolver; a URL that is refused is asked for once more."""

    can_list = True

    def __init__(self, resolver: Resolver, traffic: Traffic) -> None:
        self._resolver = resolver
        self._client = WebClient(traffic)
        self._paths: Mapping[str, int | None] | None = None

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        total = self._known().get(path) if span is not None and span.start < 0 else None
        if span is not None and total:
            # Sizes are known here, and not every store has ranges counted from the end.
            span = from_the_end(span, total)
        answer = self._ask(path, span, max_bytes, cancel, fresh=False)
        if isinstance(answer, Refusal) and answer.status in {401, 403}:
            answer = self._ask(path, span, max_bytes, cancel, fresh=True)
        return checked(answer, path, path)

    def size(self, path: str, cancel: CancelToken) -> int | None:
        paths = self._known()
        if path not in paths:
            raise missing(path)
        size = paths[path]
        return self.get(path, _ONE_BYTE, 1, cancel).total if size is None else size

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        return FileMark(self.size(path, cancel), self._resolver.digests().get(path, ""))

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        prefix = f"{path}/" if path else ""
        files: dict[str, int | None] = {}
        digests, tags = self._resolver.digests(), {}
        folders: set[str] = set()
        for name, size in sorted(self._known().items()):
            if name.startswith(prefix) and name != prefix:
                head, _, rest = name[len(prefix) :].partition("/")
                if rest:
                    folders.add(head)
                else:
                    files[head] = size
                    tags[head] = digests.get(name, "")
        return Listing(files, tuple(sorted(folders)), tags)

    def close(self) -> None:
        self._client.close()

    def _known(self) -> Mapping[str, int | None]:
        if self._paths is None:
            self._paths = self._resolver.paths()
        return self._paths

    def _ask(
        self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken, *, fresh: bool
    ) -> Piece | Refusal:
        url = self._resolver.url(path, fresh=fresh)
        if url is None:
            raise missing(path)
        return self._client.get(Request(url.url, path, authorization=url.authorization), span, max_bytes, cancel)


@dataclass(frozen=True)
class HfAddress:
    """A repository on a Hugging Face hub: `kind` is `datasets`, `models` or `spaces`."""

    endpoint: str
    kind: str
    repository: str
    revision: str
    folder: str
    token: str | None = field(default=None, repr=False)


class HfStore:
    """A folder of a repository on a Hugging Face hub, read through its `resolve` addresses."""

    can_list = True

    def __init__(self, address: HfAddress, traffic: Traffic) -> None:
        self._address = address
        self._client = WebClient(traffic)

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        return self._checked(self._client.get(self._request(self._resolve(path), path), span, max_bytes, cancel), path)

    def size(self, path: str, cancel: CancelToken) -> int | None:
        return self.get(path, _ONE_BYTE, 1, cancel).total

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        folder, _, name = path.rpartition("/")
        listing = self.listing(folder, cancel)
        if name not in listing.files:
            return FileMark(self.size(path, cancel))
        return FileMark(listing.files[name], listing.tags.get(name, ""))

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        address = self._address
        folder = "/".join(part for part in (address.folder, path) if part)
        tail = f"/{quote(folder, safe='/')}" if folder else ""
        url = (
            f"{address.endpoint}/api/{address.kind}/{quote(address.repository, safe='/')}"
            f"/tree/{quote(address.revision, safe='')}{tail}"
        )
        found = Listing({}, (), {})
        for _ in range(_MAX_PAGES):
            answer = self._client.get(self._request(url, path), None, 32 << 20, cancel)
            if isinstance(answer, Refusal) and answer.status == 404:
                break
            piece = self._checked(answer, path)
            page = _hf_listing(piece.data, path)
            found = Listing(found.files | page.files, found.folders + page.folders, found.tags | page.tags)
            if piece.following is None:
                break
            url = piece.following
        return found

    def close(self) -> None:
        self._client.close()

    def _request(self, url: str, path: str) -> Request:
        token = self._address.token
        return Request(url, path, authorization=None if token is None else f"Bearer {token}")

    def _resolve(self, path: str) -> str:
        address = self._address
        prefix = "" if address.kind == "models" else f"{address.kind}/"
        name = "/".join(part for part in (address.folder, path) if part)
        return (
            f"{address.endpoint}/{prefix}{quote(address.repository, safe='/')}"
            f"/resolve/{quote(address.revision, safe='')}/{quote(name, safe='/~-._')}"
        )

    def _checked(self, answer: Piece | Refusal, path: str) -> Piece:
        if isinstance(answer, Refusal) and answer.status in {401, 403}:
            raise DatasetFileError(
                f"{self._address.repository}: the hub refuses access (HTTP {answer.status}); it does not exist, is "
                "private, or is gated.",
                code="denied",
                file=path,
                title="No access",
                hint="Set HF_TOKEN to a token that may read it, or log in with `hf auth login`.",
            )
        return checked(answer, path, f"{self._address.repository}/{path}")


def _hf_listing(data: bytes, path: str) -> Listing:
    try:
        rows = json.loads(data)
        files = {
            str(row["path"]).rpartition("/")[2]: row.get("size") if isinstance(row.get("size"), int) else None
            for row in rows
            if row["type"] == "file"
        }
        tags = {str(row["path"]).rpartition("/")[2]: str(row.get("oid", "")) for row in rows if row["type"] == "file"}
        folders = tuple(str(row["path"]).rpartition("/")[2] for row in rows if row["type"] == "directory")
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise DatasetError(f"The hub's list of {path or 'the repository'} cannot be read.") from err
    return Listing(files, folders, tags)


def not_listable(place: str) -> DatasetError:
    """The error for a place whose names cannot be asked for."""
    return DatasetError(f"{place} cannot be listed: a web server only answers for names one knows.")


def checked(answer: Piece | Refusal, path: str, place: str) -> Piece:
    """The bytes, or a refusal told as an error."""
    if isinstance(answer, Piece):
        return answer
    raise refused(answer, path, place)


def refused(answer: Refusal, path: str, place: str) -> NoeiraError:
    """What a web server's error status means for a file."""
    if answer.status in {404, 410}:
        return missing(path, place)
    try:
        refuse_page(answer.body, answer.headers.get("content-type", ""), path)
        said = plain_body(answer.body.decode("utf-8", "replace"))
    except DatasetFileError:
        said = "a web page"
    words = f"{place}: HTTP {answer.status}" + (f" ({said})" if said else "")
    if answer.status in {401, 403}:
        return DatasetFileError(
            f"{words}.",
            code="denied",
            file=path,
            title="No access",
            hint="It does not exist, is not public, or the URL's permission has expired.",
        )
    return DatasetFileError(f"{words}.", code="unreadable", file=path)
