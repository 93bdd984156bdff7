"""`dataset`: the recordings of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli import shapes
from noeira_tui.cli.catalog import find_project
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.foreground import detached, foreground
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import state_text
from noeira_tui.cli.table import table
from noeira_tui.core.errors import CancelledError, ConfigError
from noeira_tui.core.quantity import show_duration, show_size
from noeira_tui.core.redact import redact
from noeira_tui.jobs.dataset_kinds import DatasetPull, DatasetPush, DatasetWatch

if TYPE_CHECKING:
    from noeira_tui.recordings.outcome import Mirrored
    from noeira_tui.recordings.watch import WatchEvent

Project = Annotated[str, typer.Option("--project", metavar="P", help="The project.")]
Dataset = Annotated[str, typer.Option("--dataset", metavar="D", help="The recording.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would move; move nothing.")]
Detach = Annotated[bool, typer.Option("--detach", help="Go on as a job; prints its id.")]
_SHOWN = 20


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="dataset", help="Recordings of a project, here and on the service.")
    group.callback()(_group)
    for name, function in (
        ("list", list_),
        ("status", status),
        ("push", push),
        ("pull", pull),
        ("revisions", revisions),
        ("restore", restore),
        ("rm", remove),
    ):
        command(group, name)(function)
    return group


def _group() -> None:
    """Recordings of a project, here and on the service."""


def list_(cli: Cli, project: Project) -> int:
    """Recordings of a project, here and on the service, with state.

    Example: noeira-tui dataset list --project so101-tower
    """
    found = find_project(cli, project)
    if cli.output.json:
        cli.output.data([shapes.recording(item) for item in found.recordings])
        return 0
    if not found.recordings:
        cli.output.line(f"{literal(project)} has no recordings yet.")
        return 0
    rows = [
        (
            literal(item.dataset),
            "—" if item.episodes is None else str(item.episodes),
            show_size(item.size_bytes),
            state_text(item.state),
            f"{item.ahead} ahead, {item.behind} behind, {item.held_back} held back"
            if item.ahead or item.behind or item.held_back
            else "",
            literal(item.detail),
        )
        for item in found.recordings
    ]
    for line in table(("recording", "episodes", "size", "state", "files", ""), rows, right=frozenset({1, 2})):
        cli.output.line(line)
    return 0


def status(cli: Cli, project: Project, dataset: Dataset) -> int:
    """One recording file by file: current, ahead, behind, diverged, held back with the reason, missing.

    Example: noeira-tui dataset status --project so101-tower --dataset cube-in-bowl
    """
    from noeira_tui.cli.recording import recording_status

    return recording_status(cli, project, dataset)


def push(
    cli: Cli,
    project: Project,
    dataset: Dataset,
    watch: Annotated[bool, typer.Option("--watch", help="Go on while it is recorded, to its end.")] = False,
    every: Annotated[
        float | None, typer.Option("--every", metavar="S", min=0.1, show_default="60", help="Seconds between rescans.")
    ] = None,
    dry_run: DryRun = False,
    force: Annotated[bool, typer.Option("--force", help="Where both sides changed a file, take the one here.")] = False,
    detach: Detach = False,
) -> int:
    """Send what the service lacks of a recording; files that are still being written wait.

    Example: noeira-tui dataset push --project so101-tower --dataset cube-in-bowl --watch
    """
    if watch and dry_run:
        raise ConfigError("--watch and --dry-run do not go together.", title="Wrong use")
    if every is not None and not watch:
        raise ConfigError("--every belongs to --watch.", title="Wrong use")
    if dry_run:
        from noeira_tui.cli.recording import push_foretold

        return _told(cli, push_foretold(cli, project, dataset, force=force))
    work = DatasetWatch(project, dataset, every, force) if watch else DatasetPush(project, dataset, force)
    if detach:
        return detached(cli, work)
    if isinstance(work, DatasetWatch):
        return _watched(cli, work)
    return _moved(cli, work, f"push {project}/{dataset}")


def pull(
    cli: Cli,
    project: Project,
    dataset: Dataset,
    create_project: Annotated[
        bool,
        typer.Option(
            "--create-project", help="Make the project here first when it is not there; without it a terminal is asked."
        ),
    ] = False,
    revision: Annotated[
        int | None, typer.Option("--revision", metavar="N", min=1, show_default=False, help="An earlier revision.")
    ] = None,
    dry_run: DryRun = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that were changed here.")] = False,
    detach: Detach = False,
) -> int:
    """Fetch what is missing or newer of a recording; what was changed here stays.

    Example: noeira-tui dataset pull --project so101-tower --dataset cube-in-bowl --create-project
    """
    from noeira_tui.cli.recording import agree_on_project, pull_foretold

    create_project = agree_on_project(cli, project, create_project=create_project)
    if dry_run:
        return _told(
            cli, pull_foretold(cli, project, dataset, create_project=create_project, revision=revision, force=force)
        )
    work = DatasetPull(project, dataset, create_project, revision, force)
    if detach:
        return detached(cli, work)
    return _moved(cli, work, f"pull {project}/{dataset}")


def revisions(cli: Cli, project: Project, dataset: Dataset) -> int:
    """The revisions of a recording that the service keeps, newest first.

    Example: noeira-tui dataset revisions --project so101-tower --dataset cube-in-bowl
    """
    from noeira_tui.cli.recording import list_revisions

    return list_revisions(cli, project, dataset)


def restore(
    cli: Cli,
    project: Project,
    dataset: Dataset,
    revision: Annotated[int, typer.Option("--revision", metavar="N", min=1, help="The revision to go back to.")],
) -> int:
    """Make an earlier revision what readers get; it becomes a new revision, and none is lost.

    Example: noeira-tui dataset restore --project so101-tower --dataset cube-in-bowl --revision 3
    """
    from noeira_tui.cli.recording import restore_revision

    return restore_revision(cli, project, dataset, revision)


def remove(
    cli: Cli,
    project: Project,
    dataset: Dataset,
    remote: Annotated[bool, typer.Option("--remote", help="Remove the service's copy.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Free the copy here.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Remove the service's copy, or free the one here after proving that the service holds the same bytes.

    Example: noeira-tui dataset rm --project so101-tower --dataset cube-in-bowl --local
    """
    from noeira_tui.cli.recording import remove_local, remove_remote

    if remote == local:
        raise ConfigError("Say which copy: --remote or --local.", title="Wrong use")
    return (remove_remote if remote else remove_local)(cli, project, dataset, yes=yes)


def _moved(cli: Cli, work: DatasetPush | DatasetPull, title: str) -> int:
    from noeira_tui.recordings.outcome import NotAllMovedError

    try:
        outcome = foreground(cli, work, title)
    except NotAllMovedError as err:
        outcome = err.outcome
    return _told(cli, outcome)


def _watched(cli: Cli, work: DatasetWatch) -> int:
    """A watch in the foreground: its events one after the other, the push object last, also after Ctrl-C."""
    from noeira_tui.recordings.outcome import NotAllMovedError

    last: list[Mirrored] = []

    def tell(event: WatchEvent) -> None:
        if event.event in {"stopped", "finished"} and event.outcome is not None:
            last.append(event.outcome)
        if cli.output.json:
            cli.output.data(shapes.watch_event(event))

    title = f"watch {work.project}/{work.dataset}"
    try:
        outcome = foreground(cli, work, title, tell=tell)
    except NotAllMovedError as err:
        outcome = err.outcome
    except CancelledError as err:
        if not last:
            raise
        _tell(cli, last[-1])
        return err.exit_code
    return _told(cli, outcome)


def _told(cli: Cli, outcome: Mirrored) -> int:
    _tell(cli, outcome)
    return 0 if outcome.is_clean else 1


def _tell(cli: Cli, outcome: Mirrored) -> None:
    if cli.output.json:
        cli.output.data(shapes.mirrored(outcome))
        return
    say, push = cli.output.line, outcome.way == "push"
    verb = ("would send" if outcome.dry_run else "sent") if push else ("would fetch" if outcome.dry_run else "fetched")
    if outcome.dry_run:
        for path in outcome.moved:
            say(f"{verb} {literal(path)}")
    for held in outcome.held[:_SHOWN]:
        say(f"held back {literal(held.path)}: {literal(held.reason)}")
    for left in outcome.left[:_SHOWN]:
        say(f"left {literal(left.path)}: {literal(left.reason)}")
    for conflict in outcome.conflicts:
        say(f"conflict {literal(conflict.path)}: {literal(conflict.reason or 'differs from the other side')}")
        say(f"  here  {conflict.here or 'nothing'}")
        say(f"  there {conflict.there or 'nothing'}")
    for failure in outcome.failed:
        say(f"failed {literal(failure.path)}: {literal(redact(failure.error))}")
    for problem in outcome.problems:
        cli.output.say(f"problem: {literal(problem)}")
    counts = [f"{len(outcome.moved)} {verb}", f"{outcome.unchanged} unchanged"]
    for number, word in (
        (len(outcome.held), "held back"),
        (len(outcome.left), "left"),
        (len(outcome.conflicts), "in conflict"),
        (len(outcome.failed), "failed"),
    ):
        counts += [f"{number} {word}"] if number else []
    seen = ""
    if push and outcome.episodes is not None and not outcome.dry_run:
        seen = f"; {outcome.episodes_sent or 0} of {outcome.episodes} episodes on the service"
    name = f"{literal(outcome.project)}/{literal(outcome.dataset)}"
    moved = f", {show_size(outcome.bytes_transferred)} in {show_duration(outcome.elapsed_s)}" if outcome.moved else ""
    say(f"{name} {state_text(outcome.state)}: {', '.join(counts)}{'' if outcome.dry_run else moved}{seen}")
    if outcome.conflicts:
        cli.output.say("Nothing in conflict moved; compare both sides, --force takes the side the files come from.")
