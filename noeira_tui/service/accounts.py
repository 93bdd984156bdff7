"""Accounts: what belongs to one is invisible to every other. A service has one, `default`, until more are made."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.paths import SEGMENT_RULE, is_segment
from noeira_tui.service.audit import Action, Event, events, note
from noeira_tui.service.database import Database
from noeira_tui.service.keys import account_pk_of
from noeira_tui.service.tables import Account, ApiKey, Blob, Dataset, Project

_MAX_NAME = 100


@dataclass(frozen=True)
class AccountFacts:
    """An account and what it holds. `size_bytes` counts equal contents once."""

    name: str
    created_at: datetime
    keys: int
    datasets: int
    projects: int
    size_bytes: int


class AccountStore:
    """The accounts of a service, running or stopped. Tables are made when they are missing.

    Raises ConfigError for wrong input, StateError when the database cannot be used.
    """

    def __init__(self, database_url: str) -> None:
        self._database = Database(database_url)
        self._database.create()

    def create(self, name: str) -> AccountFacts:
        """Make an account; it has nothing, and no key."""
        if not is_segment(name) or len(name) > _MAX_NAME:
            raise ConfigError(f"{name!r} is no account name.", hint=f"At most {_MAX_NAME} {SEGMENT_RULE}.")
        with self._database.opened():
            try:
                with self._database.write() as session:
                    row = Account(name=name)
                    session.add(row)
                    session.flush()
                    note(session, row.pk, None, Action.ACCOUNT_CREATED, f"accounts/{name}")
                    return AccountFacts(name, row.created_at, 0, 0, 0, 0)
            except IntegrityError as err:
                raise ConfigError(f"There is an account {name!r} already.", hint="Choose another name.") from err

    def list(self) -> list[AccountFacts]:
        """All accounts, oldest first."""
        with self._database.opened(), self._database.read() as session:
            counts = [
                {row[0]: int(row[1]) for row in session.execute(select(column, value).group_by(column))}
                for column, value in (
                    (ApiKey.account_pk, func.count()),
                    (Dataset.account_pk, func.count()),
                    (Project.account_pk, func.count()),
                    (Blob.account_pk, func.sum(Blob.size_bytes)),
                )
            ]
            rows = session.scalars(select(Account).order_by(Account.pk)).all()
        return [AccountFacts(row.name, row.created_at, *(one.get(row.pk, 0) for one in counts)) for row in rows]

    def events(self, account: str | None = None, limit: int = 100) -> builtins.list[Event]:
        """What was done, newest first: in one account, or in all."""
        with self._database.opened(), self._database.read() as session:
            account_pk = account_pk_of(session, account) if account is not None else None
            return events(session, account_pk, None, limit)

    def close(self) -> None:
        self._database.close()
