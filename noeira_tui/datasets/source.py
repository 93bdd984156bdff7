"""Reading a dataset's files wherever they are: whole small ones, exact parts of large ones."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from noeira_tui.core.errors import DatasetError, DatasetFileError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import redact
from noeira_tui.datasets.localstore import LocalStore
from noeira_tui.datasets.store import Cost, FileMark, Listing, Piece, Span, Store, Traffic
from noeira_tui.datasets.webstore import HfAddress, HfStore, ResolvedStore, Resolver, WebStore

MAX_JSON_BYTES = 32 << 20
MAX_LINES_BYTES = 512 << 20
MAX_PART_BYTES = 1 << 30
PARALLEL = 8
_LISTED_FROM = 8
_MAX_ASKED = 2000
_LFS = b"version https://git-lfs"

T = TypeVar("T")
R = TypeVar("R")
Resolvers = Callable[[str], Resolver]
"""Makes the resolver of a `noeira://` address. Raises ConfigError or ServiceError."""


@dataclass(frozen=True)
class Source:
    """A dataset's files. `name` is the last part of its address, whose suffix may tell a format; `shown` the address
    without secrets. With `is_file` the dataset is that one file, whose path is empty. `say` hears, beforehand, of what
    has to be downloaded whole; then `streamed` is False."""

    shown: str
    name: str
    store: Store = field(repr=False)
    traffic: Traffic = field(repr=False)
    cancel: CancelToken = field(default_factory=CancelToken, repr=False)
    is_file: bool = False
    is_remote: bool = True
    streamed: bool = True
    say: Callable[[str], None] | None = field(default=None, repr=False)

    def with_cancel(self, cancel: CancelToken) -> Source:
        """The same files, read on behalf of work that `cancel` stops."""
        return replace(self, cancel=cancel)

    @property
    def cost(self) -> Cost:
        """What was read so far."""
        return self.traffic.cost

    @property
    def can_list(self) -> bool:
        return self.store.can_list

    def whole(self, path: str, max_bytes: int = MAX_JSON_BYTES) -> bytes:
        """A whole small file, in one request. A Git LFS pointer in its place is an error."""
        data = self.store.get(path, None, max_bytes, self.cancel).data
        refuse_pointer(data, path)
        return data

    def part(self, path: str, start: int, stop: int) -> bytes:
        """Exactly the bytes from `start` up to `stop`. Raises `damaged_file` when there are fewer."""
        data = self.store.get(path, Span(start, stop), MAX_PART_BYTES, self.cancel).data
        if len(data) != stop - start:
            raise cut_short(path, f"it ends after {start + len(data):,} bytes, {stop:,} are needed")
        return data

    def head(self, path: str, size_bytes: int, start: int = 0) -> Piece:
        """The first bytes of a file, or of what begins at `start`, as many as there are."""
        return self.store.get(path, Span(start, start + size_bytes), MAX_PART_BYTES, self.cancel)

    def tail(self, path: str, size_bytes: int) -> Piece:
        """The last bytes of a file, as many as there are, with the size of the whole."""
        return self.store.get(path, Span(-size_bytes), MAX_PART_BYTES, self.cancel)

    def from_on(self, path: str, start: int, max_bytes: int) -> Piece:
        """Everything from `start` to the end."""
        return self.store.get(path, Span(start), max_bytes, self.cancel)

    def json(self, path: str) -> object:
        """A JSON file's value. Raises DatasetFileError (`damaged_file`) naming the place where it stops to be JSON."""
        return parse_json(self.whole(path), path)

    def json_lines(self, path: str) -> list[object]:
        """The values of a file with one JSON value a line; the first bad line is an error that names it."""
        rows: list[object] = []
        for number, line in enumerate(self.whole(path, MAX_LINES_BYTES).splitlines(), 1):
            if line.strip():
                rows.append(parse_json(line, path, f"line {number}: "))
        return rows

    def json_or_none(self, path: str) -> object | None:
        """A JSON file's value; None when there is no such file."""
        try:
            return self.json(path)
        except DatasetFileError as err:
            if err.code != "missing_file":
                raise
        return None

    def size(self, path: str) -> int | None:
        """A file's size; None where it is there and its size is not told. Raises `missing_file`."""
        return self.store.size(path, self.cancel)

    def exists(self, path: str) -> bool:
        """Whether a file is there."""
        try:
            self.size(path)
        except DatasetFileError as err:
            if err.code != "missing_file":
                raise
            return False
        return True

    def marks(self, paths: Sequence[str]) -> dict[str, FileMark]:
        """What shows whether files changed, of those that are there; reads none. Many are told by their folders; too
        many that would have to be asked for one by one are left out."""
        folders = sorted({path.rpartition("/")[0] for path in paths})
        if self.can_list and len(paths) > _LISTED_FROM and len(folders) * _LISTED_FROM < len(paths):
            found = dict(zip(folders, self.each(self.listing, folders), strict=True))
            parted = [(path, *path.rpartition("/")[::2]) for path in paths]
            return {
                path: FileMark(found[folder].files[name], found[folder].tags.get(name, ""))
                for path, folder, name in parted
                if name in found[folder].files
            }
        if self.is_remote and len(paths) > _MAX_ASKED:
            return {}
        marks = self.each(self._mark, paths)
        return {path: mark for path, mark in zip(paths, marks, strict=True) if mark is not None}

    def mark(self, path: str) -> FileMark:
        """What shows whether a file changed. Raises `missing_file`."""
        return self.store.mark(path, self.cancel)

    def _mark(self, path: str) -> FileMark | None:
        try:
            return self.mark(path)
        except DatasetFileError as err:
            if err.code != "missing_file":
                raise
        return None

    def listing(self, path: str = "") -> Listing:
        """What is directly in a folder, asked anew."""
        return self.store.listing(path, self.cancel)

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """`work` for every item, several at a time, in order. The first error ends it."""
        queue: Sequence[T] = tuple(items)
        if len(queue) < 2 or not self.is_remote:
            return [work(item) for item in queue]
        with ThreadPoolExecutor(min(PARALLEL, len(queue)), "inspect") as pool:
            try:
                return list(pool.map(work, queue))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def close(self) -> None:
        """Close the connections."""
        self.store.close()


def open_source(
    uri: str,
    *,
    cancel: CancelToken | None = None,
    resolvers: Resolvers | None = None,
    say: Callable[[str], None] | None = None,
) -> Source:
    """The files at a local path or an address. Nothing is read yet; a remote address stays the string it is.

    Raises ConfigError or DatasetError for an address that cannot be used.
    """
    if not uri.strip() or "\0" in uri:
        raise DatasetError("The address is empty.", hint="Name a folder or an address such as s3://bucket/dataset.")
    traffic = Traffic()
    scheme = scheme_of(uri)
    made = CancelToken() if cancel is None else cancel
    if scheme is None or (scheme == "file" and "::" not in uri):
        path = Path(uri if scheme is None else unquote(urlsplit(uri).path)).expanduser()
        is_file = os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises in a closed folder
        return Source(
            uri, path.name or path.absolute().name, LocalStore(path, traffic), traffic, made, is_file, False, say=say
        )
    shown = redact(uri)
    try:
        name = urlsplit(uri).path.rstrip("/").rpartition("/")[2]
    except ValueError as err:
        raise DatasetError(f"{shown!r} is no address: {err}.") from err
    store, name, is_file = _remote(uri, scheme, name, traffic, resolvers, made)
    return Source(shown, name, store, traffic, made, is_file or is_file_name(name), say=say)


def _remote(
    uri: str, scheme: str, name: str, traffic: Traffic, resolvers: Resolvers | None, cancel: CancelToken
) -> tuple[Store, str, bool]:
    if scheme in {"http", "https"} and "::" not in uri:
        return WebStore(uri.partition("#")[0].rstrip("/"), traffic), unquote(name), False
    if scheme == "noeira":
        if resolvers is None:
            raise DatasetError("noeira:// addresses need a catalog service.", hint="Set NOEIRA_CLOUD_URL and its key.")
        resolver = resolvers(uri)
        return ResolvedStore(resolver, traffic), resolver.filename or name, bool(resolver.filename)
    if scheme in {"s3", "s3a"} and "::" not in uri:
        from noeira_tui.datasets.s3settings import read_s3_settings
        from noeira_tui.datasets.s3store import S3Store

        bucket, _, prefix = uri.partition("://")[2].partition("/")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}", bucket):
            raise DatasetError(f"{uri!r} names no bucket.", hint="It looks like s3://bucket/folder/dataset.")
        return (
            S3Store(bucket, prefix.strip("/"), read_s3_settings(), traffic),
            prefix.rstrip("/").rpartition("/")[2],
            False,
        )
    if scheme == "hf" and "::" not in uri:
        return HfStore(hf_address(uri), traffic), name, False
    from noeira_tui.datasets.anystore import FsspecStore

    return FsspecStore(uri, traffic, cancel), name, False


def scheme_of(uri: str) -> str | None:
    """The scheme of an address, lower-case, of the outermost layer's target; None for a local path."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)(::|://)", uri)
    return None if found is None else found[1].lower()


def is_file_name(name: str) -> bool:
    """Whether a name is that of a dataset in one file."""
    return name.lower().endswith(
        (".zip", ".h5", ".parquet", ".hdf5", ".hdf", ".tar", ".tgz", ".tar.gz", ".tar.zst", ".mcap")
    )


def hf_address(uri: str) -> HfAddress:
    """`hf://datasets/OWNER/NAME[@REVISION][/FOLDER]`; without a kind it is a model. Raises DatasetError."""
    parts = uri.partition("://")[2].strip("/").split("/")
    kind = parts.pop(0) if parts[0] in {"datasets", "spaces", "models"} else "models"
    if len(parts) < 2 or not all(parts[:2]):
        raise DatasetError(f"{uri!r} names no repository.", hint="It looks like hf://datasets/owner/name.")
    named, _, revision = parts[1].partition("@")
    endpoint = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"
    return HfAddress(
        endpoint, kind, f"{parts[0]}/{named}", unquote(revision) or "main", "/".join(parts[2:]), _hf_token()
    )


def _hf_token() -> str | None:
    """The token as the hub's own tools keep it: in the environment, else in a file."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if token := os.environ.get(name, "").strip():
            return token
    cache = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
    home = os.environ.get("HF_HOME", "").strip() or f"{cache}/huggingface"
    path = Path(os.environ.get("HF_TOKEN_PATH", "").strip() or f"{home}/token").expanduser()
    try:
        return path.read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def parse_json(data: bytes, path: str, place: str = "") -> object:
    """JSON text as a value. Raises DatasetFileError (`damaged_file`) naming the place."""
    try:
        parsed: object = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as err:
        raise cut_short(path, f"{place}it is not UTF-8 text") from err
    except RecursionError as err:
        raise cut_short(path, f"{place}it is nested too deeply") from err
    except ValueError as err:
        reason = "it is empty" if not data.strip() else f"it is no JSON ({err})"
        raise cut_short(path, f"{place}{reason}") from err
    return parsed


def refuse_pointer(data: bytes, path: str) -> None:
    """Raise DatasetFileError for a Git LFS pointer in place of a file."""
    if data.startswith(_LFS):
        raise DatasetFileError(
            f"{path or 'The file'} is a Git LFS pointer, not the file itself.",
            code="lfs_pointer",
            file=path,
            hint="Run `git lfs pull` where it was cloned.",
        )


def cut_short(path: str, reason: str) -> DatasetFileError:
    """The error for a file whose contents are not what they should be."""
    return DatasetFileError(f"{path or 'The file'} is damaged: {reason}.", code="damaged_file", file=path)
