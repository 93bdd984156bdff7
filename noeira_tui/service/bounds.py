"""How much one account may have: counts of rows, and bytes. Looked at only when something new is made."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.contents import Contents
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

    def room(self, session: Session, access: Access) -> Room:
        """What an account may still store, as this transaction sees it."""
        allowed = self._config.max_account_bytes
        held = 0
        if allowed:
            query = select(func.coalesce(func.sum(Blob.size_bytes), 0)).where(Blob.account_pk == access.account_pk)
            held = int(session.scalar(query) or 0)
        return Room(self._config.max_object_bytes, allowed, held)

    @staticmethod
    def _room(
        session: Session, table: type[Base], inside: ColumnElement[bool], most: int, what: str, count: int = 1
    ) -> None:
        if most:
            held = session.scalar(select(func.count()).select_from(table).where(inside)) or 0
            if held + count > most:
                raise RequestRefusedError(403, f"There may be at most {most} {what}")


class Room:
    """How many bytes fit into an account. Made once for a request, so that its files count together; 0 is no bound."""

    def __init__(self, largest: int, allowed: int, held: int) -> None:
        self._largest = largest
        self._allowed = allowed
        self._held = held
        self._counted: set[Contents] = set()

    def take(self, contents: Contents) -> None:
        """Count contents that are not stored yet, equal ones once. Refuses with 413 or 403 what does not fit."""
        size_bytes = contents.size_bytes
        if self._largest and size_bytes > self._largest:
            raise RequestRefusedError(413, f"Larger than this service takes ({self._largest} bytes)")
        if not self._allowed or not size_bytes or contents in self._counted:
            return
        if self._held + size_bytes > self._allowed:
            raise RequestRefusedError(
                403,
                f"This account holds {self._held} bytes and may hold {self._allowed}: {size_bytes} more do not fit",
            )
        self._held += size_bytes
        self._counted.add(contents)
