"""`dataset`: the recordings of a project."""

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
    group = typer.Typer(name="dataset", help="Recordings of a project, here and on the service.")
    group.callback()(_group)
    command(group, "list")(list_)
    return group


def _group() -> None:
    """Recordings of a project, here and on the service."""


def list_(cli: Cli, project: Annotated[str, typer.Option("--project", metavar="P", help="The project.")]) -> int:
    """Recordings of a project, here and on the service, with state.

    Example: noeira-tui dataset list --project so101-tower
    """
    view = looked(cli)
    found = next((item for item in view.projects if item.project == project), None)
    if found is None:
        raise DatasetError(
            f"There is no project {project!r}, here or on the service.",
            title="No such project",
            hint="`noeira-tui project list` shows them.",
        )
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
