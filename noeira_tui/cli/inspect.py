"""`inspect`: what a dataset is, wherever it is, without downloading it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli import shapes
from noeira_tui.cli.command import Cli, command, stoppable
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import Output, paint
from noeira_tui.cli.table import table
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.quantity import show_duration, show_size
from noeira_tui.datasets.facts import DatasetInfo, Episode

if TYPE_CHECKING:
    from noeira_tui.datasets.webstore import Resolver

_SHOWN = 40


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "inspect")(inspect)


def inspect(
    cli: Cli,
    uri: Annotated[
        str,
        typer.Argument(metavar="URI", help="A folder, s3://, gs://, hf://, https://, noeira://datasets/ID, …"),
    ],
    episodes: Annotated[bool, typer.Option("--episodes", help="Every episode: length, tasks, files.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Also the rows per episode and the frames in each mp4.")] = False,
) -> None:
    """What a dataset is and what is wrong with it, read from its metadata by ranges, without downloading it.

    Example: noeira-tui inspect s3://bucket/datasets/pusht --episodes
    """
    from noeira_tui.datasets.inspect import inspect as look

    cancel = CancelToken()
    with stoppable(cancel):
        info = look(
            uri,
            episodes=episodes,
            deep=deep,
            cancel=cancel,
            say=cli.output.say,
            resolvers=lambda address: _resolver(cli, address),
        )
    if cli.output.json:
        cli.output.data(shapes.inspected(info))
    else:
        _print(cli.output, info)


def _resolver(cli: Cli, address: str) -> Resolver:
    """The service is looked for only when an address needs it."""
    from noeira_tui.jobs.addresses import resolvers

    return resolvers(cli.settings)(address)


def _print(output: Output, info: DatasetInfo) -> None:
    version = f" ({literal(info.format_version)})" if info.format_version else ""
    output.line(f"{paint(literal(info.uri), '1', sys.stdout)}  {literal(info.format)}{version}")
    output.line(_counts(info))
    for camera in info.cameras:
        size = f"{camera.width or '?'}×{camera.height or '?'}"
        output.line(f"camera      {literal(camera.name)}  {size}, {camera.storage}")
    for what, features in (("observation", info.observation), ("action", info.action)):
        for feature in features:
            shape = "×".join(str(size) for size in feature.shape) or "scalar"
            output.line(f"{what:<11} {literal(feature.name)}  {literal(feature.dtype)} [{shape}]")
    for number, task in enumerate(info.tasks[:_SHOWN]):
        output.line(f"task {number:<6} {literal(task)}")
    if len(info.tasks) > _SHOWN:
        output.line(f"… and {len(info.tasks) - _SHOWN:,} tasks more")
    if info.episodes is not None:
        _print_episodes(output, info.episodes.page(0, len(info.episodes)), info.fps)
    for problem in info.problems:
        output.line(f"{paint('problem', '33', sys.stdout)}     {literal(problem.code)}: {literal(problem.message)}")
    how = "" if info.streamed else ", downloaded whole"
    cost = f"{show_size(info.cost.bytes_read)} read in {info.cost.requests:,} requests, {info.elapsed_s:.2f} s{how}"
    output.line(paint(cost, "2", sys.stdout))


def _counts(info: DatasetInfo) -> str:
    words = [
        _count(info.num_episodes, "episode"),
        _count(info.total_frames, "frame"),
    ]
    if info.fps:
        words.append(f"{info.fps:g} a second")
        if info.total_frames is not None:
            words.append(show_duration(info.total_frames / info.fps))
    if info.robot_type:
        words.append(literal(info.robot_type))
    return ", ".join(words)


def _count(number: int | None, what: str) -> str:
    return f"{what}s not told" if number is None else f"{number:,} {what}{'' if number == 1 else 's'}"


def _print_episodes(output: Output, episodes: tuple[Episode, ...], fps: float | None) -> None:
    rows = [
        (
            str(episode.index),
            "—" if episode.length is None else f"{episode.length:,}",
            "—" if episode.length is None or not fps else f"{episode.length / fps:.1f} s",
            literal(episode.data_file or "—"),
            literal("; ".join(episode.tasks)),
            "!" * bool(episode.problems),
        )
        for episode in episodes
    ]
    if rows:
        for line in table(("episode", "frames", "time", "data", "tasks", ""), rows, right=frozenset({1, 2})):
            output.line(line)
