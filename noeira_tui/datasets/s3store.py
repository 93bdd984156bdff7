"""A dataset in an S3-compatible bucket, read by signed GETs of our own: no SDK has to start for two small files."""

from __future__ import annotations

import threading
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

from noeira_tui.core.errors import DatasetError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.sigv4 import S3Keys, read_headers
from noeira_tui.datasets.localstore import missing
from noeira_tui.datasets.s3refusals import S3Fault, explain, fault_of
from noeira_tui.datasets.s3settings import S3Settings
from noeira_tui.datasets.store import FileMark, Listing, Piece, Span, Traffic
from noeira_tui.datasets.webclient import NO_SUFFIX, Refusal, Request, WebClient, from_the_end

_MAX_LIST_BYTES = 16 << 20
_MAX_PAGES = 1000


class S3Store:
    """Keys below a prefix of a bucket, or one key.

    A bucket that refuses the box's keys is asked once without any: public data is often read next to private keys.
    """

    can_list = True

    def __init__(self, bucket: str, prefix: str, settings: S3Settings, traffic: Traffic) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._settings = settings
        self._client = WebClient(traffic)
        self._lock = threading.Lock()
        self._keys: S3Keys | None = settings.keys
        self._region = settings.region
        self._may_drop_keys = settings.keys is not None
        self._has_suffixes = True

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        if span is not None and span.start < 0 and not self._has_suffixes:
            return self._tail(path, span, max_bytes, cancel)
        answer = self._fetch(self._key(path), path, "", span, max_bytes, cancel)
        if not isinstance(answer, Refusal):
            return answer
        if span is not None and span.start < 0 and answer.status in NO_SUFFIX:
            piece = self._tail(path, span, max_bytes, cancel)
            self._has_suffixes = False
            return piece
        raise self._refused(answer, path)

    def _tail(self, path: str, span: Span, max_bytes: int, cancel: CancelToken) -> Piece:
        """The last bytes of an object from a store that has no ranges counted from the end."""
        total = self.size(path, cancel)
        if not total:
            return Piece(b"", 0, total)
        answer = self._fetch(self._key(path), path, "", from_the_end(span, total), max_bytes, cancel)
        if isinstance(answer, Refusal):
            raise self._refused(answer, path)
        return answer

    def size(self, path: str, cancel: CancelToken) -> int | None:
        return self.mark(path, cancel).size_bytes

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        url = self._url(self._key(path), "")
        head = self._client.head(Request(url, path, "HEAD", self._signed("HEAD", url), follow=False), cancel)
        if not isinstance(head, Refusal):
            return head
        if head.status == 404:
            raise missing(path)
        # An answer to HEAD has no body that could say why; a GET of one byte does.
        return FileMark(self.get(path, Span(0, 1), 1, cancel).total)

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        prefix = self._key(path)
        prefix = f"{prefix}/" if prefix and not prefix.endswith("/") else prefix
        files: dict[str, int | None] = {}
        tags: dict[str, str] = {}
        folders: list[str] = []
        token = ""
        for _ in range(_MAX_PAGES):
            query = [("delimiter", "/"), ("list-type", "2"), ("prefix", prefix)]
            query += [("continuation-token", token)] if token else []
            answer = self._fetch("", path, _query(query), None, _MAX_LIST_BYTES, cancel)
            if isinstance(answer, Refusal):
                raise self._refused(answer, path)
            token = _add_page(answer.data, prefix, files, tags, folders)
            if not token:
                break
        return Listing(files, tuple(folders), tags)

    def signed(self, method: str, path: str, payload: bytes = b"") -> tuple[str, dict[str, str]]:
        """The URL of a key and the headers that authorise a small request to it, for those who write."""
        url = self._url(self._key(path), "")
        return url, {} if self._keys is None else read_headers(method, url, self._keys, self._region, payload=payload)

    def close(self) -> None:
        self._client.close()

    def _fetch(
        self, key: str, path: str, query: str, span: Span | None, max_bytes: int, cancel: CancelToken
    ) -> Piece | Refusal:
        answer = self._send(key, path, query, span, max_bytes, cancel)
        if not isinstance(answer, Refusal):
            return self._proved(answer)
        told = answer.headers.get("x-amz-bucket-region")
        if told and told != self._region and self._settings.endpoint is None:
            # Amazon's own way to say where a bucket lives.
            self._region = told
            again = self._send(key, path, query, span, max_bytes, cancel)
            if not isinstance(again, Refusal):
                return self._proved(again)
            answer = again
        if answer.status == 403 and self._may_drop_keys:
            with self._lock:
                kept, self._keys, self._may_drop_keys = self._keys, None, False
            again = self._send(key, path, query, span, max_bytes, cancel)
            if not isinstance(again, Refusal) or again.status == 404:
                return again
            self._keys = kept
        return answer

    def _proved(self, answer: Piece) -> Piece:
        """The keys were good for one answer: a later 403 is about that file only."""
        self._may_drop_keys = False
        return answer

    def _send(
        self, key: str, path: str, query: str, span: Span | None, max_bytes: int, cancel: CancelToken
    ) -> Piece | Refusal:
        url = self._url(key, query)
        request = Request(url, path, headers=self._signed("GET", url), follow=False)
        return self._client.get(request, span, max_bytes, cancel)

    def _signed(self, method: str, url: str) -> dict[str, str]:
        return {} if self._keys is None else read_headers(method, url, self._keys, self._region)

    def _key(self, path: str) -> str:
        return "/".join(part for part in (self._prefix, path) if part)

    def _url(self, key: str, query: str) -> str:
        endpoint = self._settings.endpoint
        path = quote(key, safe="/~-._")
        tail = f"?{query}" if query else ""
        if endpoint is None:
            if "." in self._bucket:
                return f"https://s3.{self._region}.amazonaws.com/{quote(self._bucket)}/{path}{tail}"
            return f"https://{self._bucket}.s3.{self._region}.amazonaws.com/{path}{tail}"
        if self._settings.host_style:
            parts = urlsplit(endpoint)
            return f"{parts.scheme}://{self._bucket}.{parts.netloc}/{path}{tail}"
        return f"{endpoint.rstrip('/')}/{quote(self._bucket)}/{path}{tail}"

    def _refused(self, answer: Refusal, path: str) -> NoeiraError:
        fault = fault_of(answer)
        where = S3Fault(self._bucket, self._settings, self._region, used_keys=self._keys is not None)
        return explain(answer, fault, where, path)


def _query(pairs: list[tuple[str, str]]) -> str:
    return "&".join(f"{name}={quote(value, safe='~-._')}" for name, value in sorted(pairs))


def _add_page(data: bytes, prefix: str, files: dict[str, int | None], tags: dict[str, str], folders: list[str]) -> str:
    """Add one page of a listing; gives the token of the next one, empty at the end."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as err:
        raise DatasetError("The object store's list of names is no XML.", hint="Check AWS_ENDPOINT_URL.") from err
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    for item in root.iter(f"{space}Contents"):
        name = (item.findtext(f"{space}Key") or "")[len(prefix) :]
        size = item.findtext(f"{space}Size") or ""
        if name and "/" not in name:
            files[name] = int(size) if size.isdigit() else None
            tags[name] = item.findtext(f"{space}ETag") or item.findtext(f"{space}LastModified") or ""
    for item in root.iter(f"{space}CommonPrefixes"):
        name = (item.findtext(f"{space}Prefix") or "")[len(prefix) :].strip("/")
        if name:
            folders.append(name)
    return root.findtext(f"{space}NextContinuationToken") or ""
