"""`RemoteCatalog`: list, describe, pull and push catalog datasets, from a script, a job or the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.copies import claims, list_data_dir
from noeira_tui.catalog.memory import CatalogMemory, RememberedCopy
from noeira_tui.catalog.retry import INTERACTIVE, Patience
from noeira_tui.catalog.urlsources import DatasetUrl
from noeira_tui.catalog.wire import DatasetAnswer, DatasetRow, NewDataset
from noeira_tui.core.errors import (
    DestinationError,
    ProtocolError,
    StateError,
)
from noeira_tui.core.paths import absolute, is_segment, suffix_of
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import API_KEY, Settings
from noeira_tui.core.statedb import StateDb, or_without
from noeira_tui.core.states import State
from noeira_tui.transfer.facts import Downloaded, FileStamp, Replace, TransferContext, Wanted

if TYPE_CHECKING:
    from noeira_tui.catalog.filepush import Pushed
    from noeira_tui.transfer.hashcache import HashCache


@dataclass(frozen=True)
class Pulled:
    """A pull's outcome. `bytes_transferred` is 0 when the file was right already."""

    id: str
    path: Path
    sha256: str
    size_bytes: int
    bytes_transferred: int
    resumed_from: int
    requests: int
    elapsed_s: float
    state: State = State.CURRENT


class RemoteCatalog:
    """The catalog of one service, and what this box did with it.

    ```python
    from noeira_tui import RemoteCatalog

    with RemoteCatalog.from_env() as catalog:
        path = catalog.pull("walker-random-v1")
    ```
    """

    def __init__(
        self,
        settings: Settings,
        *,
        context: TransferContext | None = None,
        patience: Patience = INTERACTIVE,
        warn: Callable[[StateError], None] | None = None,
    ) -> None:
        """Connect lazily: nothing is asked yet. Raises MissingSettingError when URL or key is absent or empty."""
        from noeira_tui.transfer.hashcache import HashCache

        url, key = settings.service_url, settings.require(API_KEY)
        self.settings = settings
        self.client = CatalogClient(url, key, patience=patience)
        db = StateDb(settings.state_dir)
        self.memory = CatalogMemory(db, url)
        self.hashes: HashCache = HashCache(db)
        self._context = context or TransferContext()
        self._warn = warn

    @classmethod
    def from_env(cls, *, root: Path | None = None, env_file: Path | None = None) -> Self:
        """The catalog named by NOEIRA_CLOUD_URL and NOEIRA_CLOUD_API_KEY, from the environment, `.env` or settings.

        Raises MissingSettingError naming the absent key and every place that was looked at.
        """
        return cls(Settings.load(root=root, env_file=env_file))

    def __repr__(self) -> str:
        return f"RemoteCatalog({self.client!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the service."""
        self.client.close()

    def list(self) -> tuple[DatasetRow, ...]:
        """All rows of the catalog, pending ones included. Raises ServiceError."""
        return self.client.list_datasets()

    def describe(self, dataset_id: str) -> DatasetRow:
        """One ready row. Raises RefusedError for an unknown (404) or a pending one (409)."""
        return self.client.get_dataset(dataset_id).row

    def pull(
        self,
        dataset_id: str,
        dest: str | Path | None = None,
        *,
        force: bool = False,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> Path:
        """Make `dest` hold the dataset's contents, verified, and return its path. See `fetch`."""
        return self.fetch(dataset_id, dest, force=force, progress=progress, cancel=cancel).path

    def fetch(
        self,
        dataset_id: str,
        dest: str | Path | None = None,
        *,
        force: bool = False,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> Pulled:
        """Make `dest` hold the dataset's contents, verified; no bytes move when it already does.

        `dest` defaults to `data/<id><suffix>` under the root; a folder takes the file under that name. A file already
        there is replaced only when its contents are what was last pulled there, or with `force`.

        Raises RefusedError (404, 409 while pending), DestinationError (a file of the user's own is in the way),
        VerificationError, DiskFullError, NetworkError, CancelledError.
        """
        progress, cancel = progress or Progress(), cancel or CancelToken()
        progress.enter("asking the service")
        answer = self.client.get_dataset(dataset_id)
        row = answer.row
        if row.sha256 is None:
            raise ProtocolError(f"{dataset_id} is ready, but the service gives no digest for it.")
        path = self._destination(answer, dest)
        progress.expect(size_bytes=row.size_bytes)
        here = self._digest_here(path, progress, cancel)
        if here is not None and here[0] == row.sha256:
            progress.already(here[1].size_bytes)
            _drop_leftover(path, row.sha256)
            self._synced(row.id, path, row.sha256)
            return Pulled(row.id, path, row.sha256, here[1].size_bytes, 0, 0, 1, progress.snapshot().elapsed_s)
        replace = self._may_replace(row, path, here, force=force)
        done = self._download(answer, path, Wanted(row.sha256, row.size_bytes), replace, progress, cancel)
        self.hashes.remember(path, done.sha256, FileStamp.of(path.stat()))
        self._synced(row.id, path, done.sha256)
        return Pulled(
            row.id,
            path,
            done.sha256,
            done.size_bytes,
            done.bytes_transferred,
            done.resumed_from,
            done.requests + 1,
            progress.snapshot().elapsed_s,
        )

    def push(
        self,
        path: str | Path,
        *,
        name: str,
        version: str = "v1",
        env_id: str | None = None,
        n_rows: int | None = None,
        n_episodes: int | None = None,
        seed: int | None = None,
        source_commit: str | None = None,
        columns: str | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> Pushed:
        """Put one file into the catalog as `<name>-<version>`: register, upload, complete.

        Until `complete` the row is pending (or keeps its former contents), so an interrupted push shows no truncated
        object; pushing again finishes it. The digest is of exactly the bytes that were sent. A file that one PUT
        cannot carry (5 GiB) goes up in parts where this box has S3 credentials.

        Raises ConfigError (bad name or version), TransferError (no regular file; too large, with the commands that
        can send it), SourceChangedError,
        RefusedError (409 for an id that belongs to another name and version), NetworkError, CancelledError.
        """
        from noeira_tui.catalog.filepush import FilePush

        new = NewDataset(name, version, env_id, n_rows, n_episodes, seed, source_commit, columns)
        push = FilePush(
            self.client,
            self.hashes,
            self.memory,
            self._context,
            progress or Progress(),
            cancel or CancelToken(),
            self._warn,
        )
        return push.run(new, absolute(Path(path), self.settings.cwd))

    def local_path(self, row: DatasetRow) -> Path | None:
        """Where the copy here is: the place remembered, else `data/<id>` with any suffix; None without one."""
        nothing: dict[str, RememberedCopy] = {}
        remembered = or_without(self.memory.copies, nothing, self._warn).get(row.id)
        if remembered is not None and remembered.path.exists():
            return remembered.path
        return claims(list_data_dir(self.settings.data_dir), {row.id}).get(row.id)

    def forget(self, dataset_id: str, path: Path) -> None:
        """Forget that a dataset was here, because its copy was freed on purpose."""
        or_without(lambda: self.memory.forget(dataset_id, path), None, self._warn)

    # -- what is here

    def _destination(self, answer: DatasetAnswer, dest: str | Path | None) -> Path:
        row = answer.row
        name = row.filename or PurePosixPath(unquote(urlsplit(answer.download.url).path)).name
        if not is_segment(row.id):
            raise ProtocolError(f"The service names a dataset {row.id!r}, which cannot be a file's name.")
        default = row.id + suffix_of(name)
        if dest is None:
            path = self.settings.data_dir / default
        else:
            path = absolute(Path(dest), self.settings.cwd)
            if path.is_dir() or str(dest).endswith("/"):
                path = path / default
        # A link of the user's to a bigger disk is followed: its target is replaced, not the link.
        return Path(os.path.realpath(path)) if path.is_symlink() else path

    def _digest_here(self, path: Path, progress: Progress, cancel: CancelToken) -> tuple[str, FileStamp] | None:
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        except NotADirectoryError as err:
            raise DestinationError(f"{path.parent} is not a folder.", hint="Name another DEST.") from err
        except OSError as err:
            raise DestinationError(f"{path} cannot be looked at: {err.strerror}.") from err
        if path.is_dir():
            raise DestinationError(f"{path} is a folder.", hint="Name a file as DEST.")
        if not S_ISREG(stat.st_mode):
            # Reading a pipe would wait for ever, and nobody means to replace a device.
            raise DestinationError(f"{path} is not a plain file.", hint="Name another DEST.")
        remembered = or_without(lambda: self.memory.last_sync_at(path), None, self._warn)
        if remembered is not None and (stat.st_size, stat.st_mtime_ns) == remembered[1:]:
            return remembered[0], FileStamp.of(stat)
        progress.enter("comparing")
        return self.hashes.digest(path, cancel=cancel), FileStamp.of(stat)

    def _download(
        self,
        answer: DatasetAnswer,
        path: Path,
        wanted: Wanted,
        replace: Replace,
        progress: Progress,
        cancel: CancelToken,
    ) -> Downloaded:
        from noeira_tui.transfer.download import download

        row = answer.row
        or_without(lambda: self.memory.begin(row.id, path, pushed=False), None, self._warn)
        progress.enter("downloading")
        url = DatasetUrl(self.client, row, answer.download)
        return download(url, path, wanted, replace=replace, progress=progress, cancel=cancel, context=self._context)

    def _may_replace(self, row: DatasetRow, path: Path, here: tuple[str, FileStamp] | None, *, force: bool) -> Replace:
        if force:
            return Replace(anything=True)
        if here is None:
            return Replace()
        digest, stamp = here
        last = or_without(lambda: self.memory.last_sync_at(path), None, self._warn)
        if last is not None and digest == last[0]:
            return Replace(stamp=stamp)
        raise DestinationError(
            f"{path} is not what was last pulled there (its sha256 is {digest[:12]}…, "
            f"{row.id} is {(row.sha256 or '')[:12]}…). Nothing was changed.",
            hint="Move it, name another DEST, or replace it with --force.",
            title="A file of yours is in the way",
        )

    def _synced(self, dataset_id: str, path: Path, digest: str) -> None:
        or_without(lambda: self.memory.synced_now(dataset_id, path, digest, pushed=False), None, self._warn)


def _drop_leftover(path: Path, sha256: str) -> None:
    """Remove what an interrupted download left beside a file that is whole: nothing will ever go on from it."""
    from noeira_tui.transfer.part import claim, partial_bytes

    if partial_bytes(path) is None:
        return
    # What a living process writes is not claimed, and in a folder that cannot be written the leftover stays.
    with suppress(DestinationError, OSError):
        claim(path, Wanted(sha256)).discard()
