"""`project`: the projects here and on the service."""

from __future__ import annotations

from typing import Annotated

import typer

from noeira_tui.cli import shapes
from noeira_tui.cli.catalog import looked
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import state_text
from noeira_tui.cli.table import table
from noeira_tui.core.errors import DatasetError
from noeira_tui.core.quantity import show_size


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="project", help="Projects, here and on the service.")
    command(group, "list")(list_)
    command(group, "show")(show)
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


def show(cli: Cli, project: Annotated[str, typer.Argument(metavar="P", help="The project.")]) -> int:
    """One project: where it is, what it wants here, its recordings.

    Example: noeira-tui project show so101-tower
    """
    found = next((item for item in looked(cli).projects if item.project == project), None)
    if found is None:
        raise DatasetError(
            f"There is no project {project!r}, here or on the service.",
            title="No such project",
            hint="`noeira-tui project list` shows them.",
        )
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
