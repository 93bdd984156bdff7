"""What every route of one service shares, and what one request adds to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from sqlalchemy.orm import Session

from noeira_tui.catalog.wire import format_time
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.service import audit
from noeira_tui.service.bounds import Bounds
from noeira_tui.service.comparing import Comparisons
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.contents import Contents, readable_blobs
from noeira_tui.service.database import Database, WouldWaitError
from noeira_tui.service.doomed import upload_grace
from noeira_tui.service.keys import Access, KeyCheck, Scope
from noeira_tui.service.limits import Limits
from noeira_tui.service.metrics import Metrics
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.reserving import ReservedKeys
from noeira_tui.service.sockets import http_address
from noeira_tui.service.store import ObjectStore, fresh_object_key
from noeira_tui.service.tables import Blob

_SMALL_BYTES = 32 * 1024
_LARGE_AT_ONCE = 16


@dataclass(frozen=True)
class Context:
    """The parts of one running service."""

    config: ServiceConfig
    database: Database
    keys: KeyCheck
    store: ObjectStore
    metrics: Metrics
    comparisons: Comparisons
    bounds: Bounds
    limits: Limits
    large_bodies: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_LARGE_AT_ONCE))

    @classmethod
    def of(
        cls,
        config: ServiceConfig,
        database: Database,
        store: ObjectStore,
        metrics: Metrics,
        shared: Path | None = None,
    ) -> Context:
        """The parts of a service on a database and a store; `shared` is the folder of several worker processes."""
        return cls(
            config=config,
            database=database,
            keys=KeyCheck(database),
            store=store,
            metrics=metrics,
            comparisons=Comparisons(store, _fresh_keys(config, database, store)),
            bounds=Bounds(config),
            limits=Limits(config.rate_limit, config.rate_burst, config.wrong_keys_per_minute, shared),
        )

    async def admit(self, key: str, client: str) -> Access:
        """`access` from the event loop: in a thread only where the database has to be waited for."""
        try:
            return self.access(key, client, wait=False)
        except WouldWaitError:
            return await run_in_threadpool(self.access, key, client)

    def access(self, key: str, client: str, *, wait: bool = True) -> Access:
        """What an API key of a request gives access to; 401 for none, 429 for too many requests.

        Without `wait`, raises WouldWaitError where the database would have to be waited for.
        """
        access = self.keys.access(key, wait=wait)
        if access is None:
            wait_s = self.limits.wrong_keys.take(client)
            if wait_s:
                raise self._too_many("wrong keys", "Too many wrong API keys from this address", wait_s)
            raise RequestRefusedError(401, "Invalid API key")
        wait_s = self.limits.requests.take(access.key_id)
        if wait_s:
            raise self._too_many("rate", "Too many requests with this API key", wait_s)
        return access

    def _too_many(self, reason: str, text: str, wait_s: int) -> RequestRefusedError:
        self.metrics.count("noeira_refused_total", reason=reason)
        return RequestRefusedError(429, f"{text}; try again in {wait_s} s", retry_after_s=wait_s)


def _fresh_keys(config: ServiceConfig, database: Database, store: ObjectStore) -> Callable[[str], str]:
    """How keys are made under which uploads are settled."""
    return fresh_object_key if store.is_listed else ReservedKeys(database, upload_grace(config)).take


@dataclass(frozen=True)
class Links:
    """Presigned URLs for the client of one request; `endpoint` is the store's address as that client sees it."""

    store: ObjectStore
    download_expiry_s: int
    upload_expiry_s: int
    endpoint: str | None = None

    def download(self, object_key: str) -> dict[str, str | None]:
        """The fields `download_url` and `expires_at`."""
        return _fields("download_url", self.store.presign_get(object_key, self.download_expiry_s, self.endpoint))

    def upload(self, object_key: str) -> dict[str, str | None]:
        """The fields `upload_url` and `expires_at`."""
        return _fields("upload_url", self.store.presign_put(object_key, self.upload_expiry_s, self.endpoint))


def _fields(name: str, signed: PresignedUrl) -> dict[str, str | None]:
    return {name: signed.url, "expires_at": format_time(signed.expires_at) if signed.expires_at else None}


@dataclass(frozen=True)
class Call:
    """One authorised request: the service's parts, who asks, and the URLs to answer with."""

    context: Context
    access: Access
    links: Links

    @property
    def database(self) -> Database:
        return self.context.database

    @property
    def store(self) -> ObjectStore:
        return self.context.store

    @property
    def comparisons(self) -> Comparisons:
        return self.context.comparisons

    def readable_blobs(self, session: Session, wanted: Collection[str]) -> dict[Contents, Blob]:
        """Stored contents with one of the digests `wanted` that this key may read."""
        return readable_blobs(session, self.access, wanted, self.store.hash_up_to_bytes)

    @property
    def bounds(self) -> Bounds:
        return self.context.bounds

    def note(
        self,
        session: Session,
        action: audit.Action,
        subject: str,
        paths: Sequence[str] = (),
        size_bytes: int | None = None,
    ) -> None:
        """Tell the audit log what this request does, in its own transaction."""
        access = self.access
        audit.note(session, access.account_pk, access.key_id, action, subject, paths=paths, size_bytes=size_bytes)

    def refuse_project_keys(self) -> None:
        """Catalog datasets belong to no project: a key limited to one may not change them."""
        if self.access.project is not None:
            raise RequestRefusedError(403, f"This API key is limited to the project {self.access.project}")


class ProtectedRoute(APIRoute):
    """A route that looks at the API key before it reads anything else of the request."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]  # wider than Coroutine
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            context = context_of(request)
            needed = self._needed(request)
            key = _bearer(request)
            client = request.client.host if request.client is not None else ""
            access = await context.admit(key, client)
            if not access.scope.covers(needed):
                raise RequestRefusedError(403, f"This API key may only {access.scope}")
            request.state.access = access
            if _is_small(request):
                return await inner(request)
            # Read and parsed, a large body takes many times its size: only so many are at once.
            async with context.large_bodies:
                return await inner(request)

        return handle

    def _needed(self, request: Request) -> Scope:
        if "admin" in self.tags:
            return Scope.ADMIN
        return Scope.READ if request.method in {"GET", "HEAD"} else Scope.WRITE


def context_of(request: Request) -> Context:
    return cast(Context, request.app.state.context)


def _bearer(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise RequestRefusedError(401, "Missing API key")
    return key.strip()


def _is_small(request: Request) -> bool:
    announced = request.headers.get("content-length", "0")
    return "transfer-encoding" not in request.headers and announced.isdigit() and int(announced) <= _SMALL_BYTES


def _call(request: Request) -> Call:
    context = context_of(request)
    config = context.config
    links = Links(context.store, config.download_expiry_s, config.upload_expiry_s, _seen_endpoint(request, context))
    return Call(context, request.state.access, links)


def _seen_endpoint(request: Request, context: Context) -> str | None:
    """A store that listens on every address is named by the address this client reached us under."""
    config = context.config
    host = request.url.hostname
    if not (config.embedded and config.listens_everywhere) or config.public_endpoint or not host:
        return None
    port = int(context.store.endpoint.rpartition(":")[2])
    return http_address(host, port)


async def _authorised(request: Request) -> Call:
    return _call(request)


Authorised = Annotated[Call, Depends(_authorised)]
Json = dict[str, Any]
"""An answer's body; it goes straight into the response."""
