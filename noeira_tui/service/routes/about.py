"""What the service is, for anyone who asks; and the answer of a session middleware to those who added `/api`."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from noeira_tui.catalog.wire import EXTENSIONS
from noeira_tui.service import answers
from noeira_tui.service.context import Json
from noeira_tui.service.problems import error_answer

router = APIRouter(tags=["about"])
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


@router.get("/", **answers.answers(answers.About))
async def about() -> Json:
    """The service's name, version and extensions."""
    return {"service": "noeira-tui", "version": version("noeira-tui"), "extensions": list(EXTENSIONS)}


@router.api_route("/api", methods=_METHODS, include_in_schema=False)
@router.api_route("/api/{rest:path}", methods=_METHODS, include_in_schema=False)
async def not_here() -> JSONResponse:
    """The hosted service answers so under `/api`; clients tell from it that the address is wrong."""
    return error_answer(401, "Unauthorized")
