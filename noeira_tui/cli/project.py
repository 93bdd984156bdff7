"""`project`: the projects here and on the service, and the files that define them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli import livebar, shapes
from noeira_tui.cli.catalog import find_project, looked
from noeira_tui.cli.command import Cli, command, stoppable
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import state_text
from noeira_tui.cli.table import table
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import show_size
from noeira_tui.core.redact import redact
from noeira_tui.core.settings import API_KEY
from noeira_tui.core.statedb import StateDb

if TYPE_CHECKING:
    from noeira_tui.recordings.definition_outcome import DefinitionOutcome
    from noeira_tui.recordings.definition_plan import Direction

Project = Annotated[str, typer.Argument(metavar="P", help="The project.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would move; move nothing.")]


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="project", help="Projects, here and on the service.")
    command(group, "list")(list_)
    command(group, "show")(show)
    command(group, "push")(push)
    command(group, "pull")(pull)
    return group


def list_(cli: Cli) -> int:
    """All projects, here and on the service.

    Example: noeira-tui project list --json
    """
    projects = looked(cli).projects
    if cli.output.json:
        cli.output.data([shapes.project(item) for item in projects])
        return 0
    if not projects:
        cli.output.line(
            f"No projects: a project is a folder with a project.kv in {literal(str(cli.settings.projects_dir))}."
        )
        return 0
    rows = [
        (
            literal(item.project),
            "yes" if item.here else "no",
            "yes" if item.on_service else "no",
            str(len(item.recordings)),
            literal(item.problem or item.description or ""),
        )
        for item in projects
    ]
    for line in table(("project", "here", "on service", "recordings", ""), rows, right=frozenset({3})):
        cli.output.line(line)
    return 0


def show(cli: Cli, project: Project) -> int:
    """One project: where it is, what it wants here, its recordings.

    Example: noeira-tui project show so101-tower
    """
    found = find_project(cli, project)
    if cli.output.json:
        cli.output.data(
            {
                **shapes.project(found),
                "recordings": [shapes.recording(item) for item in found.recordings],
                "wants": list(found.wants),
            }
        )
        return 0
    where = [word for word, there in (("here", found.here), ("on the service", found.on_service)) if there]
    cli.output.line(f"{literal(found.project)}  {' and '.join(where)}  {literal(found.description or '')}".rstrip())
    if found.problem:
        cli.output.line(f"problem: {literal(found.problem)}")
    for name in found.wants:
        cli.output.line(f"needs {literal(name)}")
    rows = [
        (literal(item.dataset), show_size(item.size_bytes), state_text(item.state), literal(item.detail))
        for item in found.recordings
    ]
    if rows:
        for line in table(("recording", "size", "state", ""), rows, right=frozenset({1})):
            cli.output.line(line)
    return 0


def push(
    cli: Cli,
    project: Project,
    force: Annotated[bool, typer.Option("--force", help="Where both sides changed a file, take the one here.")] = False,
    dry_run: DryRun = False,
) -> int:
    """Send project.kv, calibration/ and policies/*.kv; what somebody else changed meanwhile is named and stays.

    Example: noeira-tui project push so101-tower
    """
    from noeira_tui.recordings.definition_plan import Direction

    return _synced(cli, project, Direction.PUSH, force=force, dry_run=dry_run)


def pull(
    cli: Cli,
    project: Project,
    force: Annotated[
        bool, typer.Option("--force", help="Where both sides changed a file, take the service's.")
    ] = False,
    dry_run: DryRun = False,
) -> int:
    """Fetch project.kv, calibration/ and policies/*.kv; what was changed here too is named and stays.

    A project that only the service has is made here.

    Example: noeira-tui project pull so101-tower
    """
    from noeira_tui.recordings.definition_plan import Direction

    return _synced(cli, project, Direction.PULL, force=force, dry_run=dry_run)


def _synced(cli: Cli, project: str, direction: Direction, *, force: bool, dry_run: bool) -> int:
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.jobs.store import JobStore
    from noeira_tui.jobs.work import shared_context
    from noeira_tui.recordings.definition_outcome import foretold
    from noeira_tui.recordings.definition_sync import DefinitionSync

    settings, progress, cancel = cli.settings, Progress(), CancelToken()
    with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
        sync = DefinitionSync(
            client,
            settings.projects_dir,
            project,
            force=force,
            progress=progress,
            cancel=cancel,
            context=shared_context(settings, JobStore(StateDb(settings.state_dir)), None),
        )
        with stoppable(cancel), livebar.shown(cli.output, f"{direction} {project}", progress):
            plan = sync.plan(direction)
            outcome = foretold(plan) if dry_run else sync.run(plan)
    for warning in outcome.warnings:
        cli.output.say(f"warning: {literal(warning)}")
    if cli.output.json:
        cli.output.data(_synced_shape(outcome))
    else:
        _print_synced(cli, outcome, dry_run=dry_run)
    return 0 if outcome.is_clean else 1


def _synced_shape(outcome: DefinitionOutcome) -> shapes.Object:
    """The document of `project push` and `project pull`; of a dry run it tells what would happen."""
    return {
        "project": outcome.project,
        "files": {
            "sent" if outcome.direction == "push" else "received": len(outcome.moved),
            "unchanged": len(outcome.unchanged) + len(outcome.left),
            "conflicts": len(outcome.conflicts),
            "failed": len(outcome.failed),
        },
        "conflicts": [
            {"path": item.path, "here": item.here, "there": item.there, "base": item.base} for item in outcome.conflicts
        ],
        "failed": [{"path": item.path, "error": redact(item.error)} for item in outcome.failed],
        "bytes_transferred": outcome.bytes_transferred,
        "elapsed_s": round(outcome.elapsed_s, 3),
    }


def _print_synced(cli: Cli, outcome: DefinitionOutcome, *, dry_run: bool) -> None:
    say, push = cli.output.line, outcome.direction == "push"
    verb = ("would send" if dry_run else "sent") if push else ("would fetch" if dry_run else "fetched")
    for path in outcome.moved:
        say(f"{verb} {literal(path)}")
    if outcome.made_definition:
        say(f"{'would write' if dry_run else 'wrote'} a minimal project.kv: the service has none")
    for path in outcome.left:
        say(f"left {literal(path)}: {'the service has a newer one' if push else 'changed or only here'}")
    for conflict in outcome.conflicts:
        say(f"conflict {literal(conflict.path)}: changed here and on the service, nothing moved")
        say(f"  here  {conflict.here or 'nothing'}")
        say(f"  there {conflict.there or 'nothing'}")
    for failure in outcome.failed:
        say(f"failed {literal(failure.path)}: {literal(redact(failure.error))}")
    counts = [f"{len(outcome.moved)} {verb}", f"{len(outcome.unchanged)} unchanged"]
    counts += [f"{len(outcome.conflicts)} in conflict"] if outcome.conflicts else []
    counts += [f"{len(outcome.failed)} failed"] if outcome.failed else []
    made = (" (would be made)" if dry_run else " (made)") if outcome.made else ""
    say(f"{literal(outcome.project)}{made}: {', '.join(counts)}")
    _advise(cli, outcome)


def _advise(cli: Cli, outcome: DefinitionOutcome) -> None:
    name, other = literal(outcome.project), "pull" if outcome.direction == "push" else "push"
    if outcome.conflicts:
        cli.output.say(
            f"Compare both sides, then take the ones here with `noeira-tui project push {name} --force` or the "
            f"service's with `noeira-tui project pull {name} --force`."
        )
    elif outcome.left:
        cli.output.say(f"`noeira-tui project {other} {name}` moves what was left.")
