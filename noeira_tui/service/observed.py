"""Every request is counted, timed, given an id, and told to the log: once, outermost, whatever answers it."""

from __future__ import annotations

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noeira_tui.service.logs import REQUESTS, with_fields
from noeira_tui.service.metrics import Metrics

_log = logging.getLogger(REQUESTS)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Observed:
    """The outermost layer of the application. `X-Request-Id` is taken from the request when it is a plain one."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = Headers(scope=scope).get("x-request-id", "")
        request_id = told if _ID.fullmatch(told) else secrets.token_hex(8)
        status = 0
        began = time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).append("X-Request-Id", request_id)
            await send(message)

        self._metrics.count("noeira_requests_in_flight", 1)
        try:
            await self._app(scope, receive, sending)
        finally:
            self._metrics.count("noeira_requests_in_flight", -1)
            self._tell(scope, request_id, status, time.perf_counter() - began)

    def _tell(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.observe(route, method, status, seconds)
        if not _log.isEnabledFor(logging.INFO):
            return
        access = scope.get("state", {}).get("access")
        client = scope.get("client")
        _log.info(
            "%s %s %d",
            method,
            route,
            status,
            extra=with_fields(
                request_id=request_id,
                method=method,
                path=scope["path"][:1000],
                status=status,
                duration_ms=round(seconds * 1000, 2),
                client=client[0] if client else None,
                key_id=access.key_id if access is not None else None,
                account=access.account_pk if access is not None else None,
            ),
        )
