"""The routes of the pages, and the headers that keep a browser from doing anything else with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from noeira_tui.service.context import context_of
from noeira_tui.service.keys import Access
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.ui import look, session
from noeira_tui.service.ui.style import CSS

if TYPE_CHECKING:
    import jinja2

router = APIRouter(include_in_schema=False)
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # With none at all, browsers hide the origin of our own forms from us too.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@router.get("/ui/style.css")
async def style() -> Response:
    return Response(CSS, media_type="text/css", headers={"Cache-Control": "max-age=3600", **_sniffless()})


@router.get("/favicon.ico")
async def no_icon() -> Response:
    """Browsers ask for one whatever a page says."""
    return Response(status_code=204, headers={"Cache-Control": "max-age=86400"})


@router.get("/ui/login")
async def login(request: Request) -> Response:
    """The form that asks for a key."""
    return _login(request, "")


@router.post("/ui/login")
async def enter(request: Request) -> Response:
    """Look at the key that was typed in, and keep it in a cookie when it is one."""
    try:
        fields = await session.form_of(request)
        key = fields.get("key", "").strip()
        if not await session.is_valid(request, key):
            return _login(request, "This is not a valid API key.", 401)
    except RequestRefusedError as err:
        return _login(request, err.message, err.status)
    answer = RedirectResponse(session.PATH, 303, HEADERS)
    session.keep_key(request, answer, key)
    return answer


@router.post("/ui/logout")
async def leave(request: Request) -> Response:
    """Forget the key."""
    try:
        await session.form_of(request)
    except RequestRefusedError as err:
        return _login(request, err.message, err.status)
    answer = RedirectResponse(f"{session.PATH}/login", 303, HEADERS)
    session.forget_key(answer)
    return answer


@router.get("/ui")
async def overview(request: Request) -> Response:
    """Datasets and projects."""
    after = request.query_params.get("after", "")[:1024]

    def read(database: Session, access: Access) -> dict[str, Any]:
        found = look.datasets(database, access, after)
        shown = found[: look.PAGE]
        return {
            "datasets": shown,
            "after": shown[-1].id if len(found) > look.PAGE else None,
            "projects": look.projects(database, access, ""),
            "access": access,
        }

    return await _page(request, "overview.html", read)


@router.get("/ui/datasets/{dataset_id}")
async def dataset(request: Request, dataset_id: str) -> Response:
    """One dataset: its facts, its recipe, and how to fetch it."""
    base = str(request.base_url).rstrip("/")

    def read(database: Session, access: Access) -> dict[str, Any]:
        row = look.dataset(database, access, dataset_id)
        return {"row": row, "curl": look.curl_line(base, row) if row.sha256 is not None else None}

    return await _page(request, "dataset.html", read)


@router.get("/ui/projects/{slug}")
async def project(request: Request, slug: str) -> Response:
    """A project's recordings."""

    def read(database: Session, access: Access) -> dict[str, Any]:
        row, lines = look.recordings(database, access, slug)
        return {"project": row, "recordings": lines}

    return await _page(request, "project.html", read)


@router.get("/ui/projects/{slug}/{name}")
async def recording(request: Request, slug: str, name: str) -> Response:
    """A recording's files and revisions."""

    def read(database: Session, access: Access) -> dict[str, Any]:
        return {"slug": slug, "page": look.recording(database, access, slug, name)}

    return await _page(request, "recording.html", read)


async def _page(request: Request, template: str, read: Callable[[Session, Access], dict[str, Any]]) -> Response:
    try:
        access = await session.access_of(request)
        if access is None:
            return RedirectResponse(f"{session.PATH}/login", 303, HEADERS)
        return await run_in_threadpool(_render, request, template, access, read)
    except RequestRefusedError as err:
        return render(request, "problem.html", {"message": err.message}, err.status)


def _render(
    request: Request, template: str, access: Access, read: Callable[[Session, Access], dict[str, Any]]
) -> Response:
    with context_of(request).database.read() as database:
        return render(request, template, read(database, access))


def _login(request: Request, message: str, status: int = 200) -> Response:
    return render(request, "login.html", {"message": message}, status)


def render(request: Request, template: str, values: dict[str, Any], status: int = 200) -> Response:
    """A page from a template, with the headers of all pages."""
    answer = HTMLResponse(status_code=status, headers=HEADERS)
    token = session.form_token(request, answer)
    body = _templates().get_template(template).render(token=token, **values).encode()
    answer.body = body
    answer.headers["Content-Length"] = str(len(body))
    return answer


def _sniffless() -> dict[str, str]:
    return {"X-Content-Type-Options": "nosniff"}


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("noeira_tui.service.ui"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
