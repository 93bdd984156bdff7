"""The web application, made by one factory for the command line and the tests."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.context import Context
from noeira_tui.service.database import Database
from noeira_tui.service.metrics import Metrics
from noeira_tui.service.observed import Observed
from noeira_tui.service.openapi import document
from noeira_tui.service.problems import RequestRefusedError, answer_errors, error_answer
from noeira_tui.service.routes import about, audit, datasets, definitions, files, health, projects, revisions
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.ui import docs, pages


def make_app(
    config: ServiceConfig,
    database: Database,
    store: ObjectStore,
    metrics: Metrics | None = None,
    shared: Path | None = None,
) -> FastAPI:
    """The application on a database whose tables exist and a store whose bucket exists.

    `shared` is a folder where several processes of one service count their rate limits together.
    """
    metrics = metrics or Metrics()
    metrics.gauge("noeira_database_connections", lambda: database.connections)
    app = FastAPI(
        title="noeira catalog service",
        version=version("noeira-tui"),
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    document(app)
    app.state.context = Context.of(config, database, store, metrics, shared)
    answer_errors(app)
    for module in (about, health, audit, datasets, projects, files, revisions, definitions):
        app.include_router(module.router)
    app.include_router(pages.router)
    app.include_router(docs.router)
    app.add_middleware(BoundedBodies, max_bytes=config.max_body_bytes)
    app.add_middleware(Observed, metrics=metrics)
    return app


_SILENCE_S = 30


class BoundedBodies:
    """Refuses bodies over a bound, announced or not, before they are kept in memory, and bodies that stop coming."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > self._max_bytes:
            await error_answer(413, self._text)(scope, receive, send)
            return
        seen = 0
        answered = whole = False
        refusal: RequestRefusedError | None = None

        async def counted() -> Message:
            nonlocal seen, whole, refusal
            if whole:
                return await receive()
            try:
                async with asyncio.timeout(_SILENCE_S):
                    message = await receive()
            except TimeoutError as err:
                # It holds a place among the few large bodies.
                refusal = RequestRefusedError(408, f"Nothing of the body came for {_SILENCE_S} s")
                raise refusal from err
            whole = not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > self._max_bytes:
                refusal = RequestRefusedError(413, self._text)
                raise refusal
            return message

        async def sending(message: Message) -> None:
            # Whatever the application made of a body that was cut off, the answer is the same.
            nonlocal answered
            if refusal is None:
                await send(message)
            elif not answered:
                answered = True
                await error_answer(refusal.status, refusal.message)(scope, receive, send)

        await self._app(scope, counted, sending)

    @property
    def _text(self) -> str:
        return f"The body is larger than {self._max_bytes} bytes"
