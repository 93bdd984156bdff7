"""What the `dataset` commands do with one recording, beside moving it: compare, foretell, revisions, remove."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.cli import livebar, shapes
from noeira_tui.cli.command import Cli, stoppable
from noeira_tui.cli.literal import literal
from noeira_tui.cli.removal import confirm
from noeira_tui.cli.table import table
from noeira_tui.core.errors import CancelledError, DatasetError, RefusedError
from noeira_tui.core.paths import is_segment
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import show_size
from noeira_tui.core.settings import API_KEY
from noeira_tui.core.statedb import StateDb
from noeira_tui.overview.freeing import free, prove_recording
from noeira_tui.recordings import fetch, pull, push
from noeira_tui.recordings.compare import FileComparison
from noeira_tui.recordings.mirror import Mirror, Work
from noeira_tui.recordings.outcome import Mirrored
from noeira_tui.recordings.projects import DEFINITION
from noeira_tui.recordings.push_plan import plan_push
from noeira_tui.recordings.rows import row_faults


@contextmanager
def opened(cli: Cli, project: str, dataset: str, title: str) -> Iterator[Mirror]:
    """The recording here and on the service, for a command that somebody waits for."""
    settings, progress, cancel = cli.settings, Progress(), CancelToken()
    work = Work(progress, cancel, warn=lambda err: cli.output.say(f"warning: {literal(str(err))}"))
    with CatalogClient(settings.service_url, settings.require(API_KEY), sleep=cancel.sleep) as client:
        mirror = Mirror(client, StateDb(settings.state_dir), settings.projects_dir, project, dataset, work)
        with stoppable(cancel), livebar.shown(cli.output, title, progress):
            yield mirror


def push_foretold(cli: Cli, project: str, dataset: str, *, force: bool) -> Mirrored:
    """What a push would do."""
    with opened(cli, project, dataset, f"compare {project}/{dataset}") as mirror:
        return push.foretold(mirror, plan_push(mirror, force=force))


def pull_foretold(
    cli: Cli, project: str, dataset: str, *, create_project: bool, revision: int | None, force: bool
) -> Mirrored:
    """What a pull would do."""
    with opened(cli, project, dataset, f"compare {project}/{dataset}") as mirror:
        fetch.refuse_missing_project(mirror, create_project=create_project)
        return pull.foretold(mirror, pull.plan_pull(mirror, revision=revision, force=force))


def agree_on_project(cli: Cli, project: str, *, create_project: bool) -> bool:
    """Whether a pull may make its project here, asked on a terminal where that was not said.

    Raises DatasetError, naming the flag, where it is not here and nobody can be asked, CancelledError without a yes.
    """
    definition = cli.settings.projects_dir / project / DEFINITION
    # A name that no project can have is refused by the pull itself.
    if create_project or not is_segment(project) or definition.is_file():
        return create_project
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise fetch.no_project_here(project, definition)
    question = f"There is no project {project!r} here. Make {definition.parent}, from its definition on the service?"
    cli.output.warn(literal(question) + " Type yes: ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CancelledError("Nothing was made and nothing fetched.", title="Not confirmed")
    return True


def recording_status(cli: Cli, project: str, dataset: str) -> int:
    """Print every file with its state; what has no known digest is hashed."""
    with opened(cli, project, dataset, f"compare {project}/{dataset}") as mirror:
        answer = mirror.files.working()
        local, compared = mirror.compare(mirror.look(), answer, thorough=True)
    if answer is None and not local.files:
        raise DatasetError(
            f"There is no recording {project}/{dataset}, here or on the service.",
            title="No such recording",
            hint=f"`noeira-tui dataset list --project {project}` shows them.",
        )
    faults = row_faults(local)
    files = [_with_fault(file, faults.get(file.path)) for file in compared.files]
    if cli.output.json:
        cli.output.data([shapes.recording_file(file) for file in files])
        return 0
    rows = [
        (literal(file.path), file.state.value, show_size(file.size_bytes), literal(file.reason or "")) for file in files
    ]
    for line in table(("file", "state", "size", ""), rows, right=frozenset({2})):
        cli.output.line(line)
    counted = [] if local.episodes is None else [f"{local.episodes} episodes recorded"]
    if local.tables is not None and local.readable_episodes != local.episodes:
        counted.append(f"{local.readable_episodes or 0} readable")
    cli.output.line(f"{literal(project)}/{literal(dataset)} {compared.state}: {', '.join(counted) or 'no counts'}")
    for problem in local.problems:
        cli.output.line(f"problem: {literal(problem)}")
    return 0


def _with_fault(file: FileComparison, fault: str | None) -> FileComparison:
    """A file with what is wrong with its rows beside what is told of it already."""
    return file if fault is None else replace(file, reason="; ".join(filter(None, (file.reason, fault))))


def list_revisions(cli: Cli, project: str, dataset: str) -> int:
    """Print the revisions that the service keeps."""
    with opened(cli, project, dataset, "revisions") as mirror:
        rows = mirror.files.revisions()
    if cli.output.json:
        cli.output.data([shapes.revision(row) for row in rows])
        return 0
    if not rows:
        cli.output.line(f"{literal(project)}/{literal(dataset)} has no revision yet.")
        return 0
    lines = [
        (
            str(row.revision),
            "—" if row.n_episodes is None else str(row.n_episodes),
            "—" if row.file_count is None else str(row.file_count),
            show_size(row.size_bytes),
            literal(row.created_at or ""),
        )
        for row in rows
    ]
    for line in table(("revision", "episodes", "files", "size", "committed"), lines, right=frozenset({0, 1, 2, 3})):
        cli.output.line(line)
    return 0


def restore_revision(cli: Cli, project: str, dataset: str, revision: int) -> int:
    """Make an earlier revision the newest."""
    with opened(cli, project, dataset, "restore") as mirror:
        made = mirror.files.restore(revision)
        # The answer to a restore has no counts; the list has.
        row = next((row for row in mirror.files.revisions() if row.revision == made.revision), made)
    if cli.output.json:
        cli.output.data({"project": project, "dataset": dataset, "restored": revision, **shapes.revision(row)})
    else:
        cli.output.line(f"revision {revision} is what readers get now, as revision {row.revision}")
    return 0


def remove_remote(cli: Cli, project: str, dataset: str, *, yes: bool) -> int:
    """Remove the service's copy; copies on boxes stay."""
    with opened(cli, project, dataset, "remove") as mirror:
        row = mirror.files.row()
        if row is None:
            raise RefusedError(
                f"There is no recording {project}/{dataset} on the service.", status=404, title="No such recording"
            )
        size = show_size(row.size_bytes)
        confirm(cli, f"Remove {project}/{dataset} ({size}) with all revisions from the service? No way back.", yes=yes)
        mirror.client.delete_recording(project, dataset)
    return _tell_removed(cli, project, dataset, None, row.size_bytes)


def remove_local(cli: Cli, project: str, dataset: str, *, yes: bool) -> int:
    """Free the copy here, after hashing every file and hearing the same digests from the service."""
    progress, cancel = Progress(), CancelToken()
    with stoppable(cancel), livebar.shown(cli.output, f"prove {project}/{dataset}", progress):
        proven = prove_recording(cli.settings, project, dataset, progress, cancel)
    confirm(cli, f"Free {proven.path}, {show_size(proven.size_bytes)}? The service has the same bytes.", yes=yes)
    free(cli.settings, proven)
    return _tell_removed(cli, project, dataset, str(proven.path), proven.size_bytes)


def _tell_removed(cli: Cli, project: str, dataset: str, path: str | None, size_bytes: int | None) -> int:
    if cli.output.json:
        cli.output.data(
            {"project": project, "dataset": dataset, "path": path, "size_bytes": size_bytes, "removed": True}
        )
    else:
        where = f": {literal(path)}" if path else " from the service"
        cli.output.line(f"{literal(project)}/{literal(dataset)} removed{where}")
    return 0
