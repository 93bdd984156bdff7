"""Where a catalog is, a folder or a bucket, and its small files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, urlsplit

from noeira_tui.core.errors import ConfigError, DatasetError, DatasetFileError, NetworkError, StorageRefusedError
from noeira_tui.core.files import write_atomically
from noeira_tui.core.outages import in_words
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.source import open_source, scheme_of
from noeira_tui.datasets.store import Traffic

if TYPE_CHECKING:
    from noeira_tui.datasets.s3settings import S3Settings
    from noeira_tui.datasets.s3store import S3Store

MAX_FILE_BYTES = 256 << 20


class CatalogPlace(Protocol):
    """A catalog's place. Its small files are named relative to it; all methods raise DatasetError, NetworkError or
    StorageRefusedError."""

    @property
    def uri(self) -> str:
        """The address, as the tables open it."""
        ...

    @property
    def table_options(self) -> Mapping[str, str]:
        """The settings that the tables need to open it."""
        ...

    def read(self, name: str) -> bytes | None:
        """A small file; None when it is not there."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Replace a small file, whole or not at all."""
        ...


def open_place(uri: str) -> CatalogPlace:
    """The place at a local path or an address. Nothing is read. Raises ConfigError."""
    uri = plain_address(uri)
    scheme = scheme_of(uri)
    if scheme is None:
        path = Path(uri).expanduser().absolute()
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file; a catalog of episodes is a folder or a bucket's address.")
        return FolderPlace(path)
    if scheme in {"s3", "s3a"}:
        return BucketPlace(uri.rstrip("/"))
    if scheme in {"gs", "gcs"}:
        return FsspecPlace("gs://" + uri.partition("://")[2])
    # Azure among them: what was never tried shall not be trusted with what others wrote.
    raise ConfigError(
        f"A catalog of episodes cannot be kept at {scheme}:// addresses.",
        hint="It is a folder or an address such as s3://bucket/episodes.",
    )


@dataclass(frozen=True)
class FolderPlace:
    """A folder on this box."""

    folder: Path

    @property
    def uri(self) -> str:
        return str(self.folder)

    @property
    def table_options(self) -> Mapping[str, str]:
        return {}

    def read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as err:
            raise DatasetError(f"{self.folder / name} cannot be read: {err.strerror or err}.") from err

    def refuse_read_only(self, name: str) -> None:
        """Raise DatasetError where nothing can be written into one of its folders, as on a disk that is mounted so: the
        table library prints what a fault of its own would look like."""
        may = os.access(self.folder / name, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
        if not may:
            raise DatasetError(f"{self.folder / name} may not be written.", title="Catalog")

    def write(self, name: str, data: bytes) -> None:
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        except OSError as err:
            raise DatasetError(f"{path} cannot be written: {err.strerror or err}.") from err


class BucketPlace:
    """A prefix of an S3-compatible bucket."""

    def __init__(self, uri: str) -> None:
        from noeira_tui.datasets.s3settings import read_s3_settings
        from noeira_tui.datasets.s3store import S3Store

        self.uri = uri
        self._settings: S3Settings = read_s3_settings()
        bucket, _, prefix = uri.partition("://")[2].partition("/")
        self.store: S3Store = S3Store(bucket, prefix.strip("/"), self._settings, Traffic())

    @property
    def table_options(self) -> Mapping[str, str]:
        settings = self._settings
        options = {"AWS_REGION": settings.region}
        if settings.endpoint is not None:
            options |= {"AWS_ENDPOINT_URL": settings.endpoint}
            options |= {"AWS_ALLOW_HTTP": "true"} if settings.endpoint.startswith("http://") else {}
            options |= {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true" if settings.host_style else "false"}
        if settings.keys is not None:
            options |= {
                "AWS_ACCESS_KEY_ID": settings.keys.access_key,
                "AWS_SECRET_ACCESS_KEY": settings.keys.secret_key,
            }
            options |= {} if settings.keys.token is None else {"AWS_SESSION_TOKEN": settings.keys.token}
        return options

    def read(self, name: str) -> bytes | None:
        try:
            return self.store.get(name, None, MAX_FILE_BYTES, CancelToken()).data
        except DatasetFileError as err:
            if err.code != "missing_file":
                raise
        return None

    def write(self, name: str, data: bytes) -> None:
        self._send("PUT", name, data, {})

    def write_new(self, name: str, data: bytes) -> bool:
        """Write a key that is not there; False when the store says that it is (a conditional PUT)."""
        return self._send("PUT", name, data, {"If-None-Match": "*"}) not in {409, 412}

    def remove(self, name: str) -> None:
        self._send("DELETE", name, b"", {})

    def marks(self, folder: str) -> dict[str, str]:
        """The names directly in a folder, each with what shows that it was written again."""
        listing = self.store.listing(folder, CancelToken())
        return {name: listing.tags.get(name, "") for name in listing.files}

    def _send(self, method: str, name: str, data: bytes, more: Mapping[str, str]) -> int:
        import httpx

        url, headers = self.store.signed(method, name, data)
        try:
            answer = httpx.request(method, url, headers={**headers, **more}, content=data, timeout=30)
        except httpx.HTTPError as err:
            raise NetworkError(f"{self.uri}/{name} cannot be written: {in_words(err)}.") from err
        if answer.is_success or answer.status_code in {404, 409, 412}:
            return answer.status_code
        raise StorageRefusedError(
            f"{self.uri}/{name} cannot be written: HTTP {answer.status_code}.",
            status=answer.status_code,
            hint="Check that the keys may write there: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, AWS_REGION.",
            retryable=answer.status_code >= 500,
        )


class FsspecPlace:
    """A bucket of Google's, by its own credentials. It keeps two commits of the tables apart by itself."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    @property
    def table_options(self) -> Mapping[str, str]:
        return {}

    def read(self, name: str) -> bytes | None:
        source = open_source(self.uri)
        try:
            return source.whole(name, MAX_FILE_BYTES)
        except DatasetFileError as err:
            if err.code != "missing_file":
                raise
        finally:
            source.close()
        return None

    def write(self, name: str, data: bytes) -> None:
        import fsspec

        try:
            with fsspec.open(f"{self.uri}/{name}", "wb") as stream:
                stream.write(data)
        except (OSError, ImportError, ValueError) as err:
            raise DatasetError(f"{self.uri}/{name} cannot be written: {err}.") from err


def plain_address(uri: str) -> str:
    """An address without what changes nothing: a folder is told by its path, and a slash at the end goes, so that one
    dataset is not taken for two. A query stays as it is."""
    if scheme_of(uri) == "file" and "::" not in uri:
        uri = re.sub("^/+", "/", unquote(urlsplit(uri).path))
    return uri if "?" in uri else uri.rstrip("/") or uri


def name_of(*parts: str) -> str:
    """A short file name that stands for some text."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:24]
