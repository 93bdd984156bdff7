"""A pull together with the project it goes into, which may have to be made here first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from noeira_tui.core.errors import DatasetError, DestinationError, RefusedError
from noeira_tui.core.files import write_atomically
from noeira_tui.recordings.definition_plan import Direction
from noeira_tui.recordings.definition_sync import DefinitionSync
from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.outcome import Mirrored
from noeira_tui.recordings.pull import plan_pull, run_pull

_MINIMAL = b"# The service has no project.kv for this project.\n"


def pull_into_project(
    mirror: Mirror, *, create_project: bool = False, revision: int | None = None, force: bool = False
) -> Mirrored:
    """Fetch a recording into its project here. Raises DatasetError when the project is not here, unless
    `create_project`; and what `plan_pull` raises."""
    refuse_missing_project(mirror, create_project=create_project)
    plan = plan_pull(mirror, revision=revision, force=force)
    made = not mirror.definition.is_file()
    if made:
        _make_project(mirror)
    return replace(run_pull(mirror, plan), made_project=made)


def refuse_missing_project(mirror: Mirror, *, create_project: bool) -> None:
    """Raise DatasetError when the project is not here and is not to be made."""
    if not create_project and not mirror.definition.is_file():
        raise no_project_here(mirror.project, mirror.definition)


def no_project_here(project: str, definition: Path) -> DatasetError:
    """The error for a pull into a project that this box lacks and that is not to be made."""
    return DatasetError(
        f"There is no project {project!r} here ({definition} does not exist). Nothing was fetched.",
        title="No such project here",
        hint="Add --create-project to make it here, from its definition on the service.",
    )


def _make_project(mirror: Mirror) -> None:
    """Fetch the project's definition files, or write the least that makes a folder a project."""
    work = mirror.work
    sync = DefinitionSync(mirror.client, mirror.projects_dir, mirror.project, cancel=work.cancel, context=work.context)
    try:
        outcome = sync.run(sync.plan(Direction.PULL))
    except RefusedError as err:
        if err.status not in {404, 405}:
            raise
    else:
        if outcome.failed:
            failure = outcome.failed[0]
            raise DatasetError(
                f"{failure.path} of project {mirror.project!r} could not be fetched: {failure.error}", title="Project"
            )
    if mirror.definition.is_file():
        return
    try:
        mirror.definition.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(mirror.definition, _MINIMAL)
    except OSError as err:
        raise DestinationError(f"{mirror.definition} cannot be written: {err.strerror or err}.") from err
