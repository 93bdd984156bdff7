"""API keys: made, listed, revoked and checked. The database has only digests of their secret part.

A key reads `nk_<id>_<secret>`. The secret has 256 random bits, so one sha256 of it is enough to store: there is nothing
to guess that a slow hash would protect.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from noeira_tui.core.errors import ConfigError, ServiceError
from noeira_tui.core.paths import SEGMENT_RULE, is_segment
from noeira_tui.service.audit import Action, note
from noeira_tui.service.database import DEFAULT_ACCOUNT, Database, WouldWaitError
from noeira_tui.service.tables import Account, ApiKey, now

_log = logging.getLogger("noeira_tui.service")
_PREFIX = "nk"
_LAST_USE_GRAIN_S = 60.0
_MAX_NAME = 200
_KEY_QUERY = select(ApiKey.account_pk, ApiKey.scope, ApiKey.project, ApiKey.secret_sha256, ApiKey.revoked_at).where(
    ApiKey.id == bindparam("identity")
)
_KEY_SQL = "SELECT account_pk, scope, project, secret_sha256, revoked_at FROM api_keys WHERE id = :identity"


class Scope(StrEnum):
    """What a key may do; each one includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, needed: Scope) -> bool:
        order = list(Scope)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True)
class KeyFacts:
    """An API key of an account, as it may be shown. `project` limits it to one project."""

    id: str
    account: str
    name: str
    scope: Scope
    project: str | None
    created_at: datetime
    last_used_at: datetime | None
    revoked: bool


@dataclass(frozen=True)
class Access:
    """Who asks: the account, the key, and what it may do. `project` limits it to one project."""

    account_pk: int
    key_id: str
    scope: Scope
    project: str | None = None

    def sees_project(self, slug: str) -> bool:
        return self.project is None or self.project == slug


class KeyStore:
    """The API keys of a service, running or stopped. Tables are made when they are missing.

    Raises ConfigError for wrong input, StateError when the database cannot be used.
    """

    def __init__(self, database_url: str) -> None:
        self._database = Database(database_url)
        self._database.create()

    def create(
        self, name: str, scope: str = Scope.WRITE, project: str | None = None, account: str = DEFAULT_ACCOUNT
    ) -> tuple[KeyFacts, str]:
        """Make a key of an account; the second value is the key itself, which is told this once only."""
        if not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
            raise ConfigError(f"A key's name is 1 to {_MAX_NAME} printable characters.")
        if scope not in set(Scope):
            raise ConfigError(f"There is no scope {scope!r}.", hint=f"Choose one of {', '.join(Scope)}.")
        if project is not None and not is_segment(project):
            raise ConfigError(f"{project!r} is no project name.", hint=f"It has {SEGMENT_RULE}.")
        identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        with self._database.opened(), self._database.write() as session:
            account_pk = account_pk_of(session, account)
            row = ApiKey(
                id=identity,
                account_pk=account_pk,
                name=name,
                scope=str(scope),
                project=project,
                secret_sha256=_digest(secret),
                created_at=now(),
            )
            session.add(row)
            note(session, account_pk, None, Action.KEY_CREATED, f"keys/{identity}")
            session.flush()
            return _facts(row, account), f"{_PREFIX}_{identity}_{secret}"

    def list(self, account: str | None = None) -> list[KeyFacts]:
        """All keys, or those of one account; oldest first, revoked ones included."""
        query = select(ApiKey, Account.name).join(Account, Account.pk == ApiKey.account_pk)
        with self._database.opened(), self._database.read() as session:
            if account is not None:
                query = query.where(ApiKey.account_pk == account_pk_of(session, account))
            found = session.execute(query.order_by(ApiKey.created_at, ApiKey.id))
            return [_facts(row, owner) for row, owner in found]

    def revoke(self, key_id: str) -> KeyFacts:
        """Make a key invalid from now on; revoking it again changes nothing. Raises ServiceError for an unknown id."""
        with self._database.opened(), self._database.write() as session:
            row = session.get(ApiKey, key_id)
            if row is None:
                raise ServiceError(
                    f"There is no key {key_id!r}.", title="No such key", hint="`noeira-tui keys list` shows their ids."
                )
            if row.revoked_at is None:
                row.revoked_at = now()
                note(session, row.account_pk, None, Action.KEY_REVOKED, f"keys/{row.id}")
            session.flush()
            return _facts(row, session.scalars(select(Account.name).where(Account.pk == row.account_pk)).one())

    def close(self) -> None:
        self._database.close()


@dataclass(frozen=True)
class _KnownKey:
    account_pk: int
    scope: str
    project: str | None
    secret_sha256: str
    is_revoked: bool


def _known_key(row: Sequence[Any] | None) -> _KnownKey | None:
    if row is None:
        return None
    account_pk, scope, project, secret_sha256, revoked_at = row
    return _KnownKey(account_pk, scope, project, secret_sha256, revoked_at is not None)


class KeyCheck:
    """Checks the keys of requests, and records their last use at most once a minute each.

    Every check asks the database, so that a revoked key is refused at once. On SQLite that takes microseconds and needs
    no thread; the last use is written by a thread of its own, as a request must not wait for the disk to tell it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._used: dict[str, float] = {}
        self._writer = ThreadPoolExecutor(1, "last-use")

    def access(self, key: str, *, wait: bool = True, note: bool = True) -> Access | None:
        """What this key gives access to; None for one that is unknown, wrong or revoked.

        Without `wait`, raises WouldWaitError where the database would have to be waited for. Without `note`, the last
        use stays as it is.
        """
        prefix, _, rest = key.partition("_")
        identity, _, secret = rest.partition("_")
        if prefix != _PREFIX or not identity or not secret:
            return None
        known = self._known(identity, wait=wait)
        if known is None or not hmac.compare_digest(known.secret_sha256, _digest(secret)) or known.is_revoked:
            return None
        if note:
            self._note_use(identity)
        return Access(known.account_pk, identity, Scope(known.scope), known.project)

    def close(self) -> None:
        """Let the last uses be written."""
        self._writer.shutdown()

    def _known(self, identity: str, *, wait: bool) -> _KnownKey | None:
        told = {"identity": identity}
        try:
            return _known_key(self._database.first_now(_KEY_SQL, told))
        except WouldWaitError:
            if not wait:
                raise
        with self._database.read() as session:
            return _known_key(session.execute(_KEY_QUERY, told).one_or_none())

    def _note_use(self, identity: str) -> None:
        moment = time.monotonic()
        last = self._used.get(identity)
        if last is not None and moment - last < _LAST_USE_GRAIN_S:
            return
        self._used[identity] = moment
        self._writer.submit(self._record_use, identity, now())

    def _record_use(self, identity: str, at: datetime) -> None:
        try:
            with self._database.write() as session:
                session.execute(update(ApiKey).where(ApiKey.id == identity).values(last_used_at=at))
        except (DBAPIError, PoolTimeout) as err:
            # A full disk must not keep anyone from reading.
            _log.warning("the use of key %s was not recorded: %s", identity, getattr(err, "orig", err))


def account_pk_of(session: Session, name: str) -> int:
    """The row of an account. Raises ConfigError for one that does not exist."""
    found = session.scalar(select(Account.pk).where(Account.name == name))
    if found is None:
        raise ConfigError(f"There is no account {name!r}.", hint="`noeira-tui accounts list` shows them.")
    return found


def _facts(row: ApiKey, account: str) -> KeyFacts:
    return KeyFacts(
        id=row.id,
        account=account,
        name=row.name,
        scope=Scope(row.scope),
        project=row.project,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        revoked=row.revoked_at is not None,
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
