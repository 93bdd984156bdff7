"""Projects and recordings by name, for those who may see them."""

from __future__ import annotations

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from noeira_tui.core.paths import SEGMENT_RULE, is_segment, is_wire_path
from noeira_tui.service.context import Call
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.tables import Project, Recording

MAX_SEGMENT = 200
PATH_RULE = f"at most 512 characters and 8 segments of {SEGMENT_RULE}"


def check_segment(field: str, text: str) -> None:
    """Refuse with 400 a name that is not one path segment."""
    if not is_segment(text) or len(text) > MAX_SEGMENT:
        raise RequestRefusedError(400, f"{field}: at most {MAX_SEGMENT} {SEGMENT_RULE}")


def check_path(path: str) -> None:
    """Refuse with 400 a path that a client could not write inside its folder."""
    if not is_wire_path(path):
        raise RequestRefusedError(400, f"Bad path {path[:600]!r}: {PATH_RULE}")


def projects_of(call: Call) -> Select[Project]:
    """The projects this key may see."""
    query = select(Project).where(Project.account_pk == call.access.account_pk)
    return query if call.access.project is None else query.where(Project.slug == call.access.project)


def find_project(session: Session, call: Call, slug: str, *, lock: bool = False) -> Project:
    """A project by its slug; 404 when there is none this key may see. With `lock`, other writers of it wait.

    Whoever locks several rows takes projects before recordings, and contents (`lock_contents`) last: else two requests
    would wait for each other. The locks leave the keys free (`FOR NO KEY UPDATE`), which new rows below refer to.
    """
    query = projects_of(call).where(Project.slug == slug)
    row = session.scalar(query.with_for_update(key_share=True) if lock else query)
    if row is None:
        raise RequestRefusedError(404, f"There is no project {slug}")
    return row


def find_recording(session: Session, call: Call, slug: str, name: str, *, lock: bool = False) -> Recording:
    """A recording of a project; 404 when there is none. With `lock`, other writers of it wait for this transaction."""
    project = find_project(session, call, slug)
    query = select(Recording).where(Recording.project_pk == project.pk, Recording.name == name)
    row = session.scalar(query.with_for_update(key_share=True) if lock else query)
    if row is None:
        raise RequestRefusedError(404, f"There is no dataset {name} in project {slug}")
    return row
