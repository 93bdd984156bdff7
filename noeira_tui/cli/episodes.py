"""`episodes`: what is in a catalog of episodes, and SQL over it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli import episode_shapes
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.extras import needs_extra
from noeira_tui.cli.ingest import CatalogOption
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import paint
from noeira_tui.cli.spool import print_list, print_table
from noeira_tui.core.quantity import show_duration
from noeira_tui.jobs.episode_kinds import catalog_place

if TYPE_CHECKING:
    from noeira_tui.episodes.facts import EpisodeInfo
    from noeira_tui.episodes.query import CatalogReader

_BAR_CELLS = 30


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="episodes", help="The catalog of episodes: scores, flags, and SQL over them.")
    for name, function in (("list", list_), ("stats", stats), ("query", query)):
        command(group, name)(function)
    return group


def list_(
    cli: Cli,
    flag: Annotated[str | None, typer.Option("--flag", metavar="F", help="Only those with this flag.")] = None,
    min_score: Annotated[
        float | None, typer.Option("--min-score", metavar="S", help="Only those that score at least this, of 10.")
    ] = None,
    catalog: CatalogOption = None,
) -> None:
    """Every episode with its latest score, the worst first.

    Example: noeira-tui episodes list --flag jerky
    """
    with _reader(cli, catalog) as reader:
        found = reader.each_episode(flag=flag, min_score=min_score)
        if cli.output.json:
            print_list(map(episode_shapes.episode, found))
            return
        first = next(found, None)
        if first is None:
            cli.output.say("No such episodes.")
            return
        header = ("score", "episode", "frames", "time", "dataset", "task", "flags")
        print_table(cli.output, header, map(_told, chain((first,), found)), right=frozenset({0, 1, 2, 3}))


def _told(one: EpisodeInfo) -> tuple[str, ...]:
    return (
        "—" if one.overall_score is None else f"{one.overall_score:.2f}",
        "—" if one.episode_index is None else str(one.episode_index),
        f"{one.num_frames:,}",
        f"{one.duration_s:.1f} s",
        literal(one.source_uri.rstrip("/").rpartition("/")[2] or one.source_uri),
        literal(one.task or "—"),
        literal(", ".join(one.flags)),
    )


def stats(cli: Cli, catalog: CatalogOption = None) -> None:
    """The catalog at a glance: how many episodes, how they score, what they are flagged for.

    Example: noeira-tui episodes stats --catalog s3://bucket/episodes
    """
    with _reader(cli, catalog) as reader:
        found = reader.stats()
    if cli.output.json:
        cli.output.data(episode_shapes.stats(found))
        return
    cli.output.line(
        f"{found.episodes:,} episodes, {found.frames:,} frames, {show_duration(found.duration_s)}, "
        f"{found.sources:,} datasets, {found.tasks:,} tasks"
    )
    if found.mean_score is not None:
        cli.output.line(f"score {found.mean_score:.2f} on average, {found.min_score:.2f} to {found.max_score:.2f}")
    most = max((step.episodes for step in found.scores), default=0)
    for step in found.scores:
        if step.episodes:
            bar = "#" * max(1, round(_BAR_CELLS * step.episodes / most))
            cli.output.line(f"{step.low:>4.1f}–{step.high:<4.1f} {bar} {step.episodes:,}")
    for name, count in found.flags.items():
        cli.output.line(f"{paint('flag', '33', sys.stdout)}  {literal(name)}  {count:,}")


def query(
    cli: Cli,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="Over episodes, quality_scores, latest_scores, …")],
    catalog: CatalogOption = None,
) -> None:
    """SQL (DuckDB's) over episodes, quality_scores, latest_scores and scored_episodes.

    Example: noeira-tui episodes query "SELECT task, avg(overall_score) FROM scored_episodes GROUP BY task"
    """
    with _reader(cli, catalog) as reader:
        found = reader.ask(sql)
        if cli.output.json:
            print_list(episode_shapes.answer(found))
        elif found.columns:
            rows = (tuple("—" if value is None else literal(str(value)) for value in row) for row in found.rows)
            print_table(cli.output, tuple(literal(name) for name in found.columns), rows)


@contextmanager
def _reader(cli: Cli, catalog: str | None) -> Iterator[CatalogReader]:
    with needs_extra("episodes", "episodes"):
        from noeira_tui.episodes.query import CatalogReader

        reader = CatalogReader(catalog_place(catalog, cli.settings))
    with reader:
        yield reader
