"""A dataset anywhere else that fsspec opens: `memory://`, `gs://`, `az://`, `sftp://` and the rest."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from noeira_tui.core.errors import ConfigError, DatasetError, DatasetFileError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import redact
from noeira_tui.datasets.localstore import missing, too_large
from noeira_tui.datasets.store import FileMark, Listing, Piece, Span, Traffic
from noeira_tui.transfer.prompt import promptly

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")
_TICK_S = 0.05
_EXTRAS = {"gs": "gcs", "gcs": "gcs", "gcsfs": "gcs"}


class FsspecStore:
    """Files of an fsspec file system below a root. Counts what was asked for; listings are never kept."""

    can_list = True

    def __init__(self, uri: str, traffic: Traffic, cancel: CancelToken) -> None:
        """May take its time, looking for credentials. Raises ConfigError, DatasetError, CancelledError."""
        self._traffic = traffic
        self._fs, self._root = promptly(lambda: _open(uri), cancel, _TICK_S)
        self._faults = _foreign_faults(self._fs)

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        cancel.check()
        if span is None or span.start < 0 or span.stop is None:
            size = self.size(path, cancel)
            if size is None:
                raise DatasetFileError(f"{path}: its size is not told.", code="unreadable", file=path)
            start = 0 if span is None else span.start if span.start >= 0 else max(0, size + span.start)
            stop, total = size, size
        else:
            start, stop, total = span.start, span.stop, None
        if stop - start > max_bytes:
            raise too_large(path, stop - start, max_bytes)
        self._traffic.add(requests=1)
        try:
            data = b"" if stop <= start else self._promptly(lambda: self._part(path, start, stop), cancel)
        except self._faults as err:
            raise self._refused(err, path) from err
        self._traffic.add(size_bytes=len(data))
        return Piece(data, start, total)

    def size(self, path: str, cancel: CancelToken) -> int | None:
        return self.mark(path, cancel).size_bytes

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        cancel.check()
        self._traffic.add(requests=1)
        try:
            info = self._promptly(lambda: dict[str, Any](self._fs.info(self._path(path))), cancel)
        except self._faults as err:
            raise self._refused(err, path) from err
        if info.get("type") == "directory":
            raise missing(path)
        size = info.get("size")
        return FileMark(size if isinstance(size, int) else None, _tag(info))

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        cancel.check()
        self._traffic.add(requests=1)
        try:
            self._fs.invalidate_cache()
            rows = self._promptly(lambda: list[dict[str, Any]](self._fs.ls(self._path(path), detail=True)), cancel)
        except FileNotFoundError:
            return Listing({}, ())
        except self._faults as err:
            raise self._refused(err, path) from err
        here = self._path(path).strip("/")
        files: dict[str, int | None] = {}
        tags: dict[str, str] = {}
        folders: list[str] = []
        for row in rows:
            full = str(row["name"]).strip("/")
            name = full.rpartition("/")[2]
            if full == here or not name:
                continue
            if row.get("type") == "directory":
                folders.append(name)
            else:
                files[name] = row["size"] if isinstance(row.get("size"), int) else None
                tags[name] = _tag(row)
        return Listing(files, tuple(folders), tags)

    def close(self) -> None:
        """File systems of fsspec close themselves."""

    def _part(self, path: str, start: int, stop: int) -> bytes:
        data: bytes = self._fs.cat_file(self._path(path), start=start, end=stop)
        return data

    def _promptly(self, call: Callable[[], T], cancel: CancelToken) -> T:
        # A file system knows nothing of our cancel, and waits for a silent server as long as it likes.
        return promptly(call, cancel, _TICK_S)

    def _path(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}" if path else self._root

    def _refused(self, err: BaseException, path: str) -> NoeiraError:
        if isinstance(err, FileNotFoundError | NotADirectoryError | IsADirectoryError):
            return missing(path)
        said = redact(str(err)).splitlines()
        words = (said[0] if said else type(err).__name__)[:300]
        code = getattr(err, "code", None)
        if isinstance(err, PermissionError) or code in {401, 403} or "credentials" in words.lower():
            return DatasetFileError(
                f"{path or 'it'} may not be read: {words}.",
                code="denied",
                file=path,
                title="No access",
                hint="Check the credentials of this provider on this box.",
            )
        if code == 404:
            return missing(path)
        return DatasetFileError(f"{path or 'it'} cannot be read: {words}.", code="unreadable", file=path)


def _tag(info: dict[str, Any]) -> str:
    """What a file system tells of a file's version, by the names that the kinds of fsspec give it."""
    names = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "created")
    return next((f"{name}:{info[name]}" for name in names if info.get(name)), "")


def _open(uri: str) -> tuple[AbstractFileSystem, str]:
    protocol = uri.partition("://")[0].rpartition("::")[2].lower()
    if protocol in _EXTRAS:
        # Else it asks, before every request and with credentials of another kind, which kind of bucket it is.
        os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    from fsspec.core import url_to_fs
    from fsspec.registry import known_implementations

    try:
        # Listing caches would hide what a recorder has just written.
        fs, root = url_to_fs(uri, use_listings_cache=False)
    except ImportError as err:
        extra = _EXTRAS.get(protocol)
        told = known_implementations.get(protocol, {}).get("err", str(err))
        raise ConfigError(
            f"{protocol}:// needs a library that is not installed: {told}.",
            title="Not installed",
            hint=f"pip install 'noeira-tui[{extra}]'" if extra else "Install it beside noeira-tui.",
        ) from err
    except (ValueError, TypeError) as err:
        if protocol not in known_implementations:
            raise DatasetError(
                f"{protocol}:// is no kind of address that can be read here.",
                hint="A folder, s3://, gs://, hf://, https://, noeira://, or another one that fsspec knows.",
            ) from err
        raise DatasetError(f"{redact(uri)} cannot be opened: {redact(str(err))}.") from err
    except _foreign_faults(None) as err:
        raise DatasetError(f"{redact(uri)} cannot be opened: {redact(str(err))[:300]}.") from err
    return fs, str(root)


def _foreign_faults(fs: AbstractFileSystem | None) -> tuple[type[BaseException], ...]:
    """What file systems raise; Google's have trees of their own outside OSError."""
    faults: list[type[BaseException]] = [OSError, ValueError, RuntimeError, NotImplementedError, TimeoutError]
    if fs is not None and type(fs).__module__.startswith("gcsfs"):
        from gcsfs.retry import HttpError
        from google.auth.exceptions import GoogleAuthError

        faults += [HttpError, GoogleAuthError]
    return tuple(faults)
