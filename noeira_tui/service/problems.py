"""What a request is answered when it fails: always `{"error": "…"}`, also for routes that do not exist."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import ObjectDeletedError, StaleDataError
from starlette.exceptions import HTTPException

from noeira_tui.core.errors import ServiceError
from noeira_tui.service.database import trouble_of
from noeira_tui.service.storerefusal import StoreError

_log = logging.getLogger("noeira_tui.service")
_RETRY_AFTER_S = "1"


class RequestRefusedError(ServiceError):
    """A request is refused with a status and a text; `facts` are further fields of the answer.

    `retry_after_s` tells the client when to come again.
    """

    title = "Refused"

    def __init__(self, status: int, message: str, *, retry_after_s: int | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.status = status
        self.facts = facts


def error_answer(status: int, message: str, **facts: Any) -> JSONResponse:
    """The one shape of an error."""
    return JSONResponse({"error": message, **facts}, status)


def answer_errors(app: FastAPI) -> None:
    """Make every failure of `app` answer in the protocol's shape."""
    for kind, answer in _ANSWERS.items():
        app.add_exception_handler(kind, answer)


async def _refused(_: Request, err: Exception) -> Response:
    assert isinstance(err, RequestRefusedError)
    answer = error_answer(err.status, err.message, **err.facts)
    if err.retry_after_s is not None:
        answer.headers["Retry-After"] = str(err.retry_after_s)
    return answer


async def _http(request: Request, err: Exception) -> Response:
    assert isinstance(err, HTTPException)
    text = {
        404: f"There is no route {request.method} {request.url.path}",
        405: f"{request.method} is not allowed on {request.url.path}",
    }.get(err.status_code, str(err.detail))
    answer = error_answer(err.status_code, text)
    answer.headers.update(err.headers or {})
    return answer


async def _invalid(_: Request, err: Exception) -> Response:
    assert isinstance(err, RequestValidationError)
    first = err.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in {"body", "query", "path"})
    return error_answer(422, f"{place}: {first['msg']}" if place else str(first["msg"]))


async def _store(_: Request, err: Exception) -> Response:
    assert isinstance(err, StoreError)
    _log.error("%s", err)
    if err.retryable:
        return _again("The object store gives no answer; try again")
    # Coming again at once does not help: without a time for that, clients give up soon, and tell why.
    return error_answer(503, "The object store refuses what the service asks; whoever runs it finds why in its log")


async def _database(request: Request, err: Exception) -> Response:
    assert isinstance(err, DBAPIError)
    trouble = trouble_of(err)
    if trouble is None:
        _log.error("database: %s", err)
        return await _unexpected(request, err)
    _log.warning("database: %s", err.orig)
    return _again(f"{trouble}; try again")


async def _no_connection(_: Request, err: Exception) -> Response:
    _log.warning("database: %s", err)
    return _again("The database is busy; try again")


async def _collided(_: Request, err: Exception) -> Response:
    # Two processes wrote or removed the same row at the same moment; whoever repeats the request finds what is left.
    _log.warning("database: %s", err)
    return _again("Somebody else changed this at the same moment; try again")


async def _unstorable(_: Request, err: Exception) -> Response:
    _log.warning("database: %s", err)
    return error_answer(400, "A value in the request cannot be stored")


async def _unexpected(_: Request, err: Exception) -> Response:
    # Starlette raises it again after this answer, so that the server logs the traceback.
    return error_answer(500, "Internal error; the service's log has more")


def _again(text: str) -> Response:
    answer = error_answer(503, text)
    answer.headers["Retry-After"] = _RETRY_AFTER_S
    return answer


_ANSWERS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    RequestRefusedError: _refused,
    HTTPException: _http,
    RequestValidationError: _invalid,
    StoreError: _store,
    DBAPIError: _database,
    PoolTimeout: _no_connection,
    IntegrityError: _collided,
    StaleDataError: _collided,
    ObjectDeletedError: _collided,
    DataError: _unstorable,
    Exception: _unexpected,
}
