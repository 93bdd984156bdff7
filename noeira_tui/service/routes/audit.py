"""The audit log, for admin keys."""

from __future__ import annotations

from fastapi import APIRouter, Response

from noeira_tui.catalog.wire import format_time
from noeira_tui.service import answers
from noeira_tui.service.answers import REFUSALS
from noeira_tui.service.audit import events
from noeira_tui.service.context import Authorised, Json, ProtectedRoute
from noeira_tui.service.pages import Paged
from noeira_tui.service.problems import RequestRefusedError

# ProtectedRoute asks for an admin key where it finds this tag.
router = APIRouter(route_class=ProtectedRoute, tags=["admin"], responses=REFUSALS)
_DEFAULT_LIMIT = 100


@router.get("/audit", **answers.answers(list[answers.AuditEvent]))
def list_events(call: Authorised, page: Paged, response: Response) -> list[Json]:
    """Who did what in this account, newest first; `after` is an event's number. Without `limit`, the last hundred."""
    if page.after is not None and not (page.after.isascii() and page.after.isdigit() and len(page.after) < 19):
        raise RequestRefusedError(422, "after: an event's number")
    if call.access.project is not None:
        raise RequestRefusedError(403, f"This API key is limited to the project {call.access.project}")
    before = int(page.after) if page.after is not None else None
    with call.database.read() as session:
        found = events(session, call.access.account_pk, before, page.fetch or _DEFAULT_LIMIT)
    return [
        {
            "number": event.number,
            "at": format_time(event.at),
            "keyId": event.key_id,
            "action": event.action,
            "subject": event.subject,
            "paths": list(event.paths),
            "sizeBytes": event.size_bytes,
        }
        for event in page.cut(found, response, lambda event: str(event.number))
    ]
