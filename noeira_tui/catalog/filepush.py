"""Putting one file into the catalog: register, upload, complete, each step safe to be killed after."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.memory import CatalogMemory
from noeira_tui.catalog.urlsources import Registrations
from noeira_tui.catalog.wire import NewDataset, Registration, RowStatus
from noeira_tui.core.errors import RefusedError, StateError, TransferError
from noeira_tui.core.paths import is_segment, require_segments
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import or_without
from noeira_tui.transfer.facts import TransferContext, Uploaded

if TYPE_CHECKING:
    from noeira_tui.catalog.largepush import LargePush
    from noeira_tui.transfer.hashcache import HashCache

_STORED_OTHERWISE = 422
"""The status of a service that finds other bytes stored, or none, after a store said that it took them."""


@dataclass(frozen=True)
class Pushed:
    """A push's outcome. `bytes_transferred` is 0 when the service had these bytes under this id already."""

    id: str
    sha256: str
    size_bytes: int
    bytes_transferred: int
    elapsed_s: float


class FilePush:
    """One push of one file; `RemoteCatalog.push` says what it does and raises."""

    def __init__(
        self,
        client: CatalogClient,
        hashes: HashCache,
        memory: CatalogMemory,
        context: TransferContext,
        progress: Progress,
        cancel: CancelToken,
        warn: Callable[[StateError], None] | None,
    ) -> None:
        self._client = client
        self._hashes = hashes
        self._memory = memory
        self._context = context
        self._progress = progress
        self._cancel = cancel
        self._warn = warn

    def run(self, new: NewDataset, source: Path) -> Pushed:
        """Send the file unless the service has these very bytes and facts already."""
        require_segments(name=new.name, version=new.version)
        size_bytes = _regular_file(source).st_size
        self._progress.expect(size_bytes=size_bytes)
        dataset_id = f"{new.name}-{new.version}"
        large = self._large(source, size_bytes)
        may_read = large is None or large.can_send
        held = self._already_held(dataset_id, new, source, size_bytes, may_read=may_read)
        if held is not None:
            self._progress.already(size_bytes)
            return Pushed(dataset_id, held, size_bytes, 0, self._progress.snapshot().elapsed_s)
        return self._send(new, source, large)

    def _large(self, source: Path, size_bytes: int) -> LargePush | None:
        """The way up for a file that one PUT cannot carry; None for any other. Raises TransferError without a way."""
        if size_bytes <= self._context.single_put_limit_bytes:
            return None
        from noeira_tui.catalog.largepush import LargePush

        return LargePush(self._client, source, size_bytes, self._context)

    def _send(self, new: NewDataset, source: Path, large: LargePush | None) -> Pushed:
        from noeira_tui.transfer.upload import upload

        if self._client.has("filename") and is_segment(source.name):
            new = replace(new, filename=source.name)
        self._progress.enter("registering")
        registrations = Registrations(self._client, new)
        dataset_id = registrations.latest.id
        or_without(lambda: self._memory.begin(dataset_id, source, pushed=True), None, self._warn)
        self._progress.enter("uploading")
        if large is not None:
            sent = large.send(registrations.latest, self._progress, self._cancel)
            self._complete(registrations.latest, sent)
        else:
            sent = upload(source, registrations, progress=self._progress, cancel=self._cancel, context=self._context)
            try:
                self._complete(registrations.latest, sent)
            except RefusedError as err:
                if err.status != _STORED_OTHERWISE:
                    raise
                sent = self._send_again(registrations, source, sent)
        self._synced(dataset_id, source, sent.sha256)
        return Pushed(
            dataset_id, sent.sha256, sent.size_bytes, sent.bytes_transferred, self._progress.snapshot().elapsed_s
        )

    def _send_again(self, registrations: Registrations, source: Path, before: Uploaded) -> Uploaded:
        """Once more, to a place of its own, what a store took and then had otherwise. Raises as the first time."""
        from noeira_tui.transfer.upload import upload

        self._progress.restart()
        self._progress.enter("uploading")
        registrations.refresh()
        sent = upload(source, registrations, progress=self._progress, cancel=self._cancel, context=self._context)
        self._complete(registrations.latest, sent)
        return replace(sent, bytes_transferred=before.bytes_transferred + sent.bytes_transferred)

    def _complete(self, registration: Registration, sent: Uploaded) -> None:
        self._progress.enter("completing")
        self._client.complete(
            registration.id,
            size_bytes=sent.size_bytes,
            sha256=sent.sha256,
            object_key=registration.object_key or None,
            cancel=self._cancel,
        )

    def _already_held(
        self,
        dataset_id: str,
        new: NewDataset,
        source: Path,
        size: int,
        *,
        may_read: bool,
    ) -> str | None:
        """The digest, when the service already has these very bytes and facts under this id.

        Without `may_read` only a digest that is known already counts.
        """
        try:
            row = self._client.get_dataset(dataset_id).row
        except RefusedError as err:
            if err.status in {404, 409}:
                return None
            raise
        if row.status is not RowStatus.READY or row.size_bytes != size or row.sha256 is None:
            return None
        told = {key: value for key, value in new.__dict__.items() if value is not None}
        if any(getattr(row, key) != value for key, value in told.items()):
            return None
        self._progress.enter("comparing")
        digest = self._hashes.digest(source, cancel=self._cancel) if may_read else self._hashes.lookup(source)
        if digest is None or digest != row.sha256:
            return None
        self._synced(dataset_id, source, digest)
        return digest

    def _synced(self, dataset_id: str, source: Path, digest: str) -> None:
        or_without(lambda: self._memory.synced_now(dataset_id, source, digest, pushed=True), None, self._warn)


def _regular_file(path: Path) -> os.stat_result:
    try:
        stat = path.stat()
    except FileNotFoundError as err:
        raise TransferError(f"There is no file {path}.", title="Nothing to push") from err
    except OSError as err:
        raise TransferError(f"{path} cannot be read: {err.strerror}.", title="Nothing to push") from err
    if not path.is_file():
        raise TransferError(
            f"{path} is not a file.",
            title="Nothing to push",
            hint="A catalog dataset is one file: pack a folder first, for instance with `tar` or as `.zarr.zip`.",
        )
    return stat
