"""For those who watch the service: whether it lives, whether it can work, and its counters. No key is needed."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from noeira_tui.service import answers
from noeira_tui.service.context import Json, context_of
from noeira_tui.service.metrics import CONTENT_TYPE
from noeira_tui.service.storerefusal import StoreError

router = APIRouter(tags=["operations"])


@router.get("/healthz", **answers.answers(answers.Alive))
async def alive() -> Json:
    """200 as long as the process answers at all."""
    return {"status": "alive"}


@router.get("/readyz", **answers.answers(answers.Ready, (503, answers.Error)))
def ready(request: Request) -> JSONResponse:
    """200 when the database and the object store answer, else 503 naming the one that does not."""
    context = context_of(request)
    checks = {"database": "ok", "object_store": "ok"}
    try:
        context.database.check()
    except (DBAPIError, PoolTimeout):
        checks["database"] = "no answer"
    try:
        context.store.check()
    except StoreError as err:
        checks["object_store"] = "no answer" if err.retryable else "refuses the service"
    if all(told == "ok" for told in checks.values()):
        return JSONResponse({"status": "ready", **checks})
    failing = ", ".join(name.replace("_", " ") for name, told in checks.items() if told != "ok")
    return JSONResponse({"error": f"Not ready: {failing}", **checks}, 503, {"Retry-After": "1"})


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Counters in the text format that Prometheus reads."""
    return Response(context_of(request).metrics.text(), media_type=CONTENT_TYPE)
