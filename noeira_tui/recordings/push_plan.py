"""What a push of a recording would do: both sides compared once, for the dry run, the confirmation and the work."""

from __future__ import annotations

import time
from dataclasses import dataclass

from noeira_tui.catalog.wire import RecordingAnswer
from noeira_tui.core.errors import DatasetError
from noeira_tui.recordings.compare import FileComparison, FileState, RecordingState
from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.read import LocalRecording
from noeira_tui.recordings.tree import Tree, scan


@dataclass(frozen=True)
class PushPlan:
    """What one pass would do: the recording as it was, the service's answer, and the two compared."""

    local: LocalRecording
    answer: RecordingAnswer | None
    compared: RecordingState
    elapsed_s: float = 0.0
    force: bool = False

    def of(self, *states: FileState) -> tuple[FileComparison, ...]:
        """The files in some of the states, in the order in which they travel."""
        return tuple(file for file in self.compared.files if file.state in states)

    @property
    def sends(self) -> tuple[FileComparison, ...]:
        return self.of(FileState.AHEAD)


def plan_push(mirror: Mirror, *, tree: Tree | None = None, force: bool = False) -> PushPlan:
    """Compare both sides with one request for the service's files; changes nothing anywhere.

    Raises DatasetError for a project or a recording that is not here, ServiceError, CancelledError.
    """
    began = time.monotonic()
    require_project(mirror)
    tree = scan(mirror.folder) if tree is None else tree
    if not tree.exists:
        raise DatasetError(
            f"There is no recording {mirror.dataset!r} in {mirror.folder.parent}. Nothing was made anywhere.",
            title="No such recording",
            hint=f"`noeira-tui dataset list --project {mirror.project}` shows them.",
        )
    mirror.work.progress.enter("comparing")
    answer = mirror.files.working()
    local, compared = mirror.compare(mirror.look(tree), answer, force_push=force)
    return PushPlan(local, answer, compared, time.monotonic() - began, force)


def require_project(mirror: Mirror) -> None:
    """Refuse a project that does not exist here: a typo must not create anything. Raises DatasetError."""
    if not mirror.definition.is_file():
        raise DatasetError(
            f"There is no project {mirror.project!r} here: {mirror.definition} does not exist. "
            "Nothing was made anywhere.",
            title="No such project",
            hint=f"A project is a folder with a {mirror.definition.name}; check the name, or write one.",
        )
