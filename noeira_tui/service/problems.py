"""What a request is answered when it fails: always `{"error": "…"}`, also for routes that do not exist."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from noeira_tui.core.errors import ServiceError
from noeira_tui.service.store import StoreError

_log = logging.getLogger("noeira_tui.service")
_RETRY_AFTER_S = "2"


class RequestRefusedError(ServiceError):
    """A request is refused with a status and a text; `facts` are further fields of the answer."""

    title = "Refused"

    def __init__(self, status: int, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.status = status
        self.facts = facts


def error_answer(status: int, message: str, **facts: Any) -> JSONResponse:
    """The one shape of an error."""
    return JSONResponse({"error": message, **facts}, status)


def answer_errors(app: FastAPI) -> None:
    """Make every failure of `app` answer in the protocol's shape."""

    @app.exception_handler(RequestRefusedError)
    async def _refused(_: Request, err: RequestRefusedError) -> JSONResponse:
        return error_answer(err.status, err.message, **err.facts)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, err: HTTPException) -> JSONResponse:
        text = {
            404: f"There is no route {request.method} {request.url.path}",
            405: f"{request.method} is not allowed on {request.url.path}",
        }.get(err.status_code, str(err.detail))
        answer = error_answer(err.status_code, text)
        answer.headers.update(err.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, err: RequestValidationError) -> JSONResponse:
        first = err.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in {"body", "query", "path"})
        return error_answer(422, f"{place}: {first['msg']}" if place else str(first["msg"]))

    @app.exception_handler(StoreError)
    async def _store(_: Request, err: StoreError) -> JSONResponse:
        _log.error("%s", err)
        answer = error_answer(503, "The object store gives no answer; try again")
        answer.headers["Retry-After"] = _RETRY_AFTER_S
        return answer

    @app.exception_handler(OperationalError)
    @app.exception_handler(PoolTimeout)
    async def _database(_: Request, err: Exception) -> JSONResponse:
        _log.error("database: %s", err)
        answer = error_answer(503, "The database gives no answer; try again")
        answer.headers["Retry-After"] = _RETRY_AFTER_S
        return answer

    @app.exception_handler(IntegrityError)
    async def _collided(_: Request, err: IntegrityError) -> JSONResponse:
        # Two processes wrote the same row at the same moment; whoever repeats the request finds it there.
        _log.warning("database: %s", err.orig)
        answer = error_answer(503, "Somebody else changed this at the same moment; try again")
        answer.headers["Retry-After"] = "0"
        return answer

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, err: Exception) -> JSONResponse:
        # Starlette raises it again after this answer, so that the server logs the traceback.
        return error_answer(500, "Internal error; the service's log has more")
