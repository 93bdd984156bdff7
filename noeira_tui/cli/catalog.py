"""`catalog`: list, show, pull, push, verify and remove catalog datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noeira_tui.cli import shapes
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.foreground import detached, foreground
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import Output, state_text
from noeira_tui.cli.table import table
from noeira_tui.core.errors import ConfigError, DatasetError, RefusedError, UnreachableError
from noeira_tui.core.paths import absolute
from noeira_tui.core.quantity import show_duration, show_rate, show_size
from noeira_tui.core.settings import API_KEY
from noeira_tui.core.states import State, trouble_rank
from noeira_tui.jobs.kinds import CatalogPull, CatalogPush
from noeira_tui.overview.picture import DatasetView, Overview, ProjectView

Id = Annotated[str, typer.Argument(metavar="ID", help="The dataset's id, NAME-VERSION.")]
Detach = Annotated[bool, typer.Option("--detach", help="Go on as a job; prints its id.")]


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="catalog", help="Catalog datasets: single files with a digest and a recipe.")
    for name, function in (("list", list_), ("show", show), ("pull", pull), ("push", push)):
        command(group, name)(function)
    command(group, "verify")(verify)
    command(group, "rm")(remove)
    return group


def list_(cli: Cli) -> int:
    """All datasets of the catalog, with the state of the copy here.

    Example: noeira-tui catalog list --json
    """
    view = _look(cli)
    if cli.output.json:
        cli.output.data([shapes.dataset(item) for item in view.datasets])
        return 0
    if not view.datasets:
        cli.output.line("The catalog is empty. `noeira-tui catalog push FILE --name N` puts something in.")
        return 0
    rows = [
        (literal(item.id), show_size(item.size_bytes), state_text(item.state), _recipe(item), literal(item.detail))
        for item in sorted(view.datasets, key=lambda item: (trouble_rank(item.state), item.id))
    ]
    for line in table(("id", "size", "state", "recipe", ""), rows, right=frozenset({1})):
        cli.output.line(line)
    return 0


def show(cli: Cli, dataset_id: Id) -> int:
    """One dataset: digest, size, recipe, and the copy here.

    Example: noeira-tui catalog show walker-random-v1
    """
    view = _look(cli)
    found = next((item for item in view.datasets if item.id == dataset_id), None)
    if found is None:
        raise RefusedError(
            f"There is no dataset {dataset_id!r} on {view.service.url}, and none in {cli.settings.data_dir}.",
            status=404,
            title="No such dataset",
            hint="`noeira-tui catalog list` shows the ids.",
        )
    if cli.output.json:
        cli.output.data(shapes.dataset(found))
        return 0
    _print_dataset(cli.output, found)
    return 0


def pull(
    cli: Cli,
    dataset_id: Id,
    dest: Annotated[
        str | None, typer.Argument(metavar="[DEST]", show_default=False, help="File, or folder with a / at its end.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace whatever is at DEST.")] = False,
    detach: Detach = False,
) -> int:
    """Make DEST hold the dataset, verified; moves no bytes when it does already.

    DEST defaults to data/ID with the dataset's suffix. Example: noeira-tui catalog pull walker-random-v1
    """
    work = CatalogPull(dataset_id, None if dest is None else _place(cli, dest), force)
    if detach:
        return detached(cli, work)
    done = foreground(cli, work, f"pull {dataset_id}")
    if cli.output.json:
        cli.output.data(shapes.pulled(done))
    elif done.bytes_transferred:
        resumed = f", resumed from {show_size(done.resumed_from)}" if done.resumed_from else ""
        rate = show_rate(done.bytes_transferred / max(done.elapsed_s, 1e-3))
        cli.output.line(f"{literal(str(done.path))}  {show_size(done.size_bytes)} verified{resumed}, {rate}")
    else:
        cli.output.line(f"{literal(str(done.path))}  current, nothing to fetch")
    return 0


def push(
    cli: Cli,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file to push.")],
    name: Annotated[str, typer.Option("--name", help="Name of the dataset.")],
    version: Annotated[str, typer.Option("--version", help="Version of the dataset.")] = "v1",
    env_id: Annotated[str | None, typer.Option("--env-id", show_default=False)] = None,
    n_rows: Annotated[int | None, typer.Option("--n-rows", min=0, show_default=False)] = None,
    n_episodes: Annotated[int | None, typer.Option("--n-episodes", min=0, show_default=False)] = None,
    seed: Annotated[int | None, typer.Option("--seed", show_default=False)] = None,
    source_commit: Annotated[str | None, typer.Option("--source-commit", show_default=False)] = None,
    columns: Annotated[str | None, typer.Option("--columns", show_default=False)] = None,
    detach: Detach = False,
) -> int:
    """Put one file into the catalog as NAME-VERSION: register, upload, complete.

    Example: noeira-tui catalog push walker.h5 --name walker-random --seed 7 --source-commit 081b53c0
    """
    work = CatalogPush(_place(cli, path), name, version, env_id, n_rows, n_episodes, seed, source_commit, columns)
    if detach:
        return detached(cli, work)
    done = foreground(cli, work, f"push {name}-{version}")
    if cli.output.json:
        cli.output.data(shapes.pushed(done))
    elif done.bytes_transferred or not done.size_bytes:
        rate = show_rate(done.bytes_transferred / max(done.elapsed_s, 1e-3))
        cli.output.line(
            f"{literal(done.id)}  {show_size(done.size_bytes)} sent in {show_duration(done.elapsed_s)}, {rate}"
        )
    else:
        cli.output.line(f"{literal(done.id)}  the service has these bytes already, nothing to send")
    return 0


def verify(
    cli: Cli,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
) -> int:
    """Hash the copies here against the catalog; without ids, all of them. Exit code 1 if one differs.

    Example: noeira-tui catalog verify walker-random-v1
    """
    from noeira_tui.cli.verify import verify_copies

    return verify_copies(cli, _look(cli), ids or [])


def remove(
    cli: Cli,
    dataset_id: Id,
    remote: Annotated[bool, typer.Option("--remote", help="Remove the service's copy.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Free the copy here.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Remove the service's copy, or free the one here after proving that the service holds the same bytes.

    Example: noeira-tui catalog rm walker-random-v1 --local
    """
    from noeira_tui.cli.removal import remove_local, remove_remote

    if remote == local:
        raise ConfigError("Say which copy: --remote or --local.", title="Wrong use")
    return remove_remote(cli, dataset_id, yes=yes) if remote else remove_local(cli, dataset_id, yes=yes)


def _look(cli: Cli) -> Overview:
    """The picture; asking the service is what these commands are for, so its absence is an error."""
    _ = cli.settings.service_url, cli.settings.require(API_KEY)
    view = looked(cli, alone=False)
    if not view.service.reachable:
        raise asked_in_vain(view)
    return view


def looked(cli: Cli, *, alone: bool = True) -> Overview:
    """The picture, whether or not the service answers; what could not be done is said on stderr.

    Without `alone`, that the service did not answer is for the caller to tell.
    """
    from noeira_tui.overview.look import look

    view = look(cli.settings)
    for warning in view.warnings:
        cli.output.say(f"warning: {literal(warning)}")
    if alone and not view.service.reachable:
        cli.output.say(f"warning: {literal(view.service.error or 'the service was not asked')}")
    return view


def find_project(cli: Cli, project: str) -> ProjectView:
    """One project of the picture. Raises DatasetError when neither this box nor the service has it."""
    found = next((item for item in looked(cli).projects if item.project == project), None)
    if found is None:
        raise DatasetError(
            f"There is no project {project!r}, here or on the service.",
            title="No such project",
            hint="`noeira-tui project list` shows them.",
        )
    return found


def asked_in_vain(view: Overview) -> UnreachableError:
    """The error of a command that needs a service which did not answer as one."""
    return UnreachableError(
        view.service.error or "The service did not answer.",
        title=view.service.error_title or "Service unreachable",
        hint=view.service.hint or "",
        retryable=view.service.retryable,
    )


def _place(cli: Cli, path: Path | str) -> str:
    """An absolute place, for a job whose working folder is another; a trailing slash keeps meaning a folder."""
    folder = "/" if isinstance(path, str) and path.endswith("/") else ""
    return str(absolute(Path(path), cli.settings.cwd)) + folder


def _recipe(item: DatasetView) -> str:
    parts = [f"seed {item.seed}"] if item.seed is not None else []
    parts += [f"@ {literal(item.source_commit[:8])}"] if item.source_commit else []
    return " ".join(parts)


def _print_dataset(output: Output, item: DatasetView) -> None:
    facts: list[tuple[str, str | None]] = [
        ("id", item.id),
        ("status", item.status),
        ("size", None if item.size_bytes is None else f"{show_size(item.size_bytes)} ({item.size_bytes} bytes)"),
        ("sha256", item.sha256),
        ("recipe", _recipe(item) or None),
        ("env", item.env_id),
        ("rows", None if item.n_rows is None else str(item.n_rows)),
        ("episodes", None if item.n_episodes is None else str(item.n_episodes)),
        ("columns", item.columns),
        ("filename", item.filename),
        ("created", item.created_at),
        ("newer", None if item.newer_version is None else f"there is a version {item.newer_version}"),
        ("here", None if item.path is None else str(item.path)),
        ("wanted by", ", ".join(item.wanted_by) or None),
    ]
    output.line(f"{'state':10} {state_text(item.state)}" + (f"  {literal(item.detail)}" if item.detail else ""))
    for label, value in facts:
        if value is not None:
            output.line(f"{label:10} {literal(value)}")
    if item.state is State.REMOTE or item.bytes_to_fetch:
        output.line(f"{'next':10} noeira-tui catalog pull {literal(item.id)}")
