"""The audit log: who registered, completed and deleted what, and who made keys. One event a request.

Events are written in the transaction of what they tell, so that neither is there without the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from noeira_tui.service.tables import Account, AuditEvent


class Action(StrEnum):
    """What was done."""

    REGISTERED = "registered"
    COMPLETED = "completed"
    COMMITTED = "committed"
    RESTORED = "restored"
    DELETED = "deleted"
    ACCOUNT_CREATED = "account created"
    KEY_CREATED = "key created"
    KEY_REVOKED = "key revoked"


@dataclass(frozen=True)
class Event:
    """An event as it may be shown. `key_id` is None for the command line on the service's own box."""

    number: int
    at: datetime
    account: str
    key_id: str | None
    action: str
    subject: str
    paths: tuple[str, ...]
    size_bytes: int | None


def note(
    session: Session,
    account_pk: int,
    key_id: str | None,
    action: Action,
    subject: str,
    *,
    paths: Sequence[str] = (),
    size_bytes: int | None = None,
) -> None:
    """Add an event to the transaction of `session`."""
    session.add(
        AuditEvent(
            account_pk=account_pk,
            key_id=key_id,
            action=action.value,
            subject=subject,
            paths=list(paths),
            size_bytes=size_bytes,
        )
    )


def events(session: Session, account_pk: int | None, before: int | None, limit: int | None) -> list[Event]:
    """Events, newest first: of one account, or of all; `before` is the number of one that was shown already."""
    query: Select[AuditEvent, str] = (
        select(AuditEvent, Account.name)
        .join(Account, Account.pk == AuditEvent.account_pk)
        .order_by(AuditEvent.pk.desc())
        .limit(limit)
    )
    if account_pk is not None:
        query = query.where(AuditEvent.account_pk == account_pk)
    if before is not None:
        query = query.where(AuditEvent.pk < before)
    return [
        Event(row.pk, row.at, account, row.key_id, row.action, row.subject, tuple(row.paths), row.size_bytes)
        for row, account in session.execute(query)
    ]


def forget(session: Session, days: int, now: datetime) -> None:
    """Remove events older than `days`; 0 keeps them for ever."""
    if days:
        session.execute(delete(AuditEvent).where(AuditEvent.at < now - timedelta(days=days)))
