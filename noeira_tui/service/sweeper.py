"""Removing what no row names any more, after a grace time, and never what an upload in flight will name.

Contents that lost their last row are marked first and removed at a later sweep, if they are still unnamed: whoever has
a download URL may use it until it expires, and whoever offers equal contents meanwhile gets them back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, delete, or_, select, update
from sqlalchemy.exc import IntegrityError

from noeira_tui.service import audit
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.database import Database
from noeira_tui.service.doomed import doom, ripe, spare, upload_grace
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storeparts import forget_unfinished
from noeira_tui.service.storerefusal import StoreError
from noeira_tui.service.tables import (
    Blob,
    Dataset,
    DatasetUpload,
    FileUpload,
    ProjectFile,
    RecordingFile,
    RevisionFile,
)
from noeira_tui.service.tables import now as moment_now

_log = logging.getLogger("noeira_tui.service")
_LOT = 500
_DOWNLOAD_MAY_TAKE = timedelta(days=1)


@dataclass(frozen=True)
class Swept:
    """What one sweep removed."""

    blobs: int
    uploads: int
    strays: int


class Sweeper:
    """Sweeps one service's database and bucket; of several instances on one database, one at a time does."""

    def __init__(self, config: ServiceConfig, database: Database, store: ObjectStore) -> None:
        self._database = database
        self._store = store
        self._audit_days = config.audit_days
        # A transfer may have begun just before its URL expired.
        self._blob_grace = timedelta(seconds=config.download_expiry_s) + _DOWNLOAD_MAY_TAKE
        self._upload_grace = upload_grace(config)

    def sweep(self, now: datetime | None = None) -> Swept:
        """Mark what is unnamed, remove what was for long enough. Raises StoreError, or SQLAlchemy's DBAPIError."""
        with self._database.alone() as alone:
            # Another instance is at it: what it leaves is for its next sweep.
            swept = self._sweep(now or moment_now()) if alone else Swept(0, 0, 0)
        if swept != Swept(0, 0, 0):
            _log.info("swept %d contents, %d registrations, %d stray objects", swept.blobs, swept.uploads, swept.strays)
        return swept

    def _sweep(self, now: datetime) -> Swept:
        self._mark(now)
        blobs, uploads = self._remove_blobs(now), self._remove_uploads(now)
        with self._database.write() as session:
            audit.forget(session, self._audit_days, now)
        strays = self._remove_strays(now)
        self._remove_doomed(now)
        return Swept(blobs, uploads, strays)

    def _mark(self, now: datetime) -> None:
        for lot in self._lots(select(Blob.pk).where(Blob.unnamed_since.is_(None), ~_named())):
            with self._database.write() as session:
                session.execute(update(Blob).where(Blob.pk.in_(lot), ~_named()).values(unnamed_since=now))
        for lot in self._lots(select(Blob.pk).where(Blob.unnamed_since.is_not(None), _named())):
            with self._database.write() as session:
                session.execute(update(Blob).where(Blob.pk.in_(lot)).values(unnamed_since=None))

    def _remove_blobs(self, now: datetime) -> int:
        ripe = (Blob.unnamed_since < now - self._blob_grace, ~_named())
        removed = 0
        for lot in self._lots(select(Blob.pk).where(*ripe)):
            try:
                with self._database.write() as session:
                    keys = list(session.scalars(delete(Blob).where(Blob.pk.in_(lot), *ripe).returning(Blob.object_key)))
                    doom(session, keys, now)
            except IntegrityError:
                # One of them was named at this very moment; the others are for the next sweep.
                continue
            removed += len(keys)
        return removed

    def _remove_uploads(self, now: datetime) -> int:
        removed = 0
        for table in (DatasetUpload, FileUpload):
            for lot in self._lots(select(table.pk).where(table.created_at < now - self._upload_grace)):
                with self._database.write() as session:
                    keys = set(session.scalars(delete(table).where(table.pk.in_(lot)).returning(table.object_key)))
                    named = set(session.scalars(select(Blob.object_key).where(Blob.object_key.in_(keys))))
                    doom(session, keys - named, now)
                removed += len(keys)
        return removed

    def _remove_doomed(self, now: datetime) -> None:
        """Remove from the store what lost its row, now or in a sweep that was killed or refused by the store."""
        with self._database.read() as session:
            doomed = ripe(session, now)
        if doomed:
            forget_unfinished(self._store, frozenset(doomed))
        refused: StoreError | None = None
        for start in range(0, len(doomed), _LOT):
            gone = []
            for key in doomed[start : start + _LOT]:
                try:
                    self._store.delete(key)
                except StoreError as err:
                    refused = err
                    if err.retryable:
                        break
                    # This one is kept by a rule of the bucket: that must not keep the others.
                    continue
                gone.append(key)
            with self._database.write() as session:
                spare(session, gone)
            if refused is not None and refused.retryable:
                break
        if refused is not None:
            raise refused

    def _remove_strays(self, now: datetime) -> int:
        """Objects of the embedded store that lost their row to a kill between two steps."""
        removed = 0
        for lot in self._store.keys_older_than(now - self._upload_grace, _LOT):
            with self._database.read() as session:
                known = {
                    key
                    for column in (Blob.object_key, DatasetUpload.object_key, FileUpload.object_key)
                    for key in session.scalars(select(column).where(column.in_(lot)))
                }
            strays = [key for key in lot if key not in known]
            self._store.remove(strays)
            removed += len(strays)
        return removed

    def _lots(self, query: Select[int]) -> Iterator[list[int]]:
        with self._database.read() as session:
            found = list(session.scalars(query))
        for start in range(0, len(found), _LOT):
            yield found[start : start + _LOT]


def _named() -> ColumnElement[bool]:
    """Whether any row names the blob."""
    return or_(
        *(
            select(table.blob_pk).where(table.blob_pk == Blob.pk).exists()
            for table in (Dataset, RecordingFile, RevisionFile, ProjectFile)
        )
    )
