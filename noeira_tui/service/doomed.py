"""Objects that are to be removed from the store: noted in the database, so that no kill makes anyone forget them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, DateTime, delete, exists, insert, literal, select
from sqlalchemy.orm import Session

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.tables import Blob, DatasetUpload, DoomedObject, FileUpload, now

_UPLOAD_MAY_TAKE = timedelta(days=7)


def upload_grace(config: ServiceConfig) -> timedelta:
    """How long after its registration an upload may arrive: its transfer may begin just before the URL expires."""
    return timedelta(seconds=config.upload_expiry_s) + _UPLOAD_MAY_TAKE


def doom(session: Session, keys: Collection[str], since: datetime) -> None:
    """Note objects that may go at `since`, unless something is stored there by then that a row names."""
    # One that was published where it was uploaded, by a former version, may be noted as an upload already.
    spare(session, keys)
    session.add_all(DoomedObject(object_key=key, since=since) for key in keys)


def doom_uploads(
    session: Session, config: ServiceConfig, table: type[DatasetUpload | FileUpload], of: ColumnElement[bool]
) -> None:
    """Note what registrations that are about to be removed with their row may have stored, or store yet."""
    since = literal(now() + upload_grace(config), DateTime(timezone=True))
    # One that a former version published where it was uploaded may be noted already.
    noted = exists().where(DoomedObject.object_key == table.object_key)
    session.execute(
        insert(DoomedObject).from_select(["object_key", "since"], select(table.object_key, since).where(of, ~noted)),
        execution_options={"synchronize_session": False},
    )


def spare(session: Session, keys: Collection[str]) -> None:
    """Take back the notes of objects that rows name now."""
    if keys:
        session.execute(delete(DoomedObject).where(DoomedObject.object_key.in_(keys)))


def ripe(session: Session, moment: datetime) -> list[str]:
    """Objects whose time has come, and that no row names."""
    named = select(Blob.pk).where(Blob.object_key == DoomedObject.object_key).exists()
    return list(session.scalars(select(DoomedObject.object_key).where(DoomedObject.since <= moment, ~named)))
