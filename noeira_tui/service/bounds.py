"""How much one account may have: counts of rows, and bytes. Looked at only when something new is made."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.keys import Access
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.tables import Base, Blob, Dataset, Project, ProjectFile, Recording, RecordingFile, Revision


class Bounds:
    """The bounds of one service. Every method refuses with 403 what would go beyond one."""

    def __init__(self, config: ServiceConfig) -> None:
        self._config = config

    def new_dataset(self, session: Session, access: Access) -> None:
        self._room(session, Dataset, Dataset.account_pk == access.account_pk, self._config.max_datasets, "datasets")

    def new_project(self, session: Session, access: Access) -> None:
        self._room(session, Project, Project.account_pk == access.account_pk, self._config.max_projects, "projects")

    def new_recording(self, session: Session, project: Project) -> None:
        inside = Recording.project_pk == project.pk
        self._room(session, Recording, inside, self._config.max_recordings, f"datasets in the project {project.slug}")

    def new_files(self, session: Session, recording: Recording, count: int) -> None:
        """`count` paths of the working set that were not there before."""
        inside = RecordingFile.recording_pk == recording.pk
        if count:
            self._room(session, RecordingFile, inside, self._config.max_files, f"files in {recording.name}", count)

    def made_revision(self, session: Session, recording: Recording) -> None:
        """A revision that this transaction made already: whether it was one too many."""
        inside = Revision.recording_pk == recording.pk
        self._room(session, Revision, inside, self._config.max_revisions, f"revisions of {recording.name}", 0)

    def new_definition(self, session: Session, project: Project) -> None:
        inside = ProjectFile.project_pk == project.pk
        self._room(
            session,
            ProjectFile,
            inside,
            self._config.max_definitions,
            f"definition files in {project.slug}",
        )

    def new_bytes(self, session: Session, access: Access, size_bytes: int) -> None:
        """`size_bytes` of contents that are not stored yet."""
        largest = self._config.max_object_bytes
        if largest and size_bytes > largest:
            raise RequestRefusedError(413, f"Larger than this service takes ({largest} bytes)")
        allowed = self._config.max_account_bytes
        if allowed and size_bytes:
            held = session.scalar(
                select(func.coalesce(func.sum(Blob.size_bytes), 0)).where(Blob.account_pk == access.account_pk)
            )
            if int(held or 0) + size_bytes > allowed:
                raise RequestRefusedError(
                    403, f"This account holds {held} bytes and may hold {allowed}: {size_bytes} more do not fit"
                )

    @staticmethod
    def _room(
        session: Session, table: type[Base], inside: ColumnElement[bool], most: int, what: str, count: int = 1
    ) -> None:
        if most:
            held = session.scalar(select(func.count()).select_from(table).where(inside)) or 0
            if held + count > most:
                raise RequestRefusedError(403, f"There may be at most {most} {what}")
