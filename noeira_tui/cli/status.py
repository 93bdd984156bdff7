"""`status`: everything on this box at a glance."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from noeira_tui.assets.status import PackStatus
from noeira_tui.cli import shapes
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import CHECK_FAILED, Output, paint, state_text
from noeira_tui.cli.table import table
from noeira_tui.core.quantity import show_duration, show_size
from noeira_tui.core.states import FAILS_CHECK, trouble_rank
from noeira_tui.overview.picture import DatasetView, Overview, RecordingView

_SHOWN_REASONS = 12


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "status")(status)


def status(
    cli: Cli,
    check: Annotated[bool, typer.Option("--check", help="Exit code 3 for anything missing, stale or broken.")] = False,
    unsent: Annotated[bool, typer.Option("--unsent", help="Is it safe to destroy this box? 3 if not.")] = False,
) -> int:
    """Everything on this box: recordings, catalog datasets, packs, with state and bytes to fetch.

    Example: noeira-tui status --check || noeira-tui catalog pull walker-random-v1
    """
    from noeira_tui.overview.look import look

    view = look(cli.settings, settle=unsent)
    for warning in view.warnings:
        cli.output.say(f"warning: {literal(warning)}")
    if cli.output.json:
        cli.output.data(shapes.status(view))
    else:
        _print(cli.output, view, only_unsent=unsent)
    return _exit_code(view, check=check, unsent=unsent)


def _exit_code(view: Overview, *, check: bool, unsent: bool) -> int:
    if check and FAILS_CHECK & view.states:
        return CHECK_FAILED
    if unsent and (view.totals.unsent or any("still running" in reason for reason in view.unsafe_because)):
        return CHECK_FAILED
    if check and view.totals.unknown:
        return 1
    if unsent and not view.safe_to_destroy:
        return 1
    return 0


def _print(output: Output, view: Overview, *, only_unsent: bool) -> None:
    output.line(f"{paint(literal(view.box), '1', sys.stdout)}  {literal(str(view.root))}")
    output.line(_service_line(view))
    output.line()
    if not only_unsent:
        _print_items(output, view)
    for line in safety_lines(view):
        output.line(line)


def _print_items(output: Output, view: Overview) -> None:
    rows = [
        *(_recording_row(item) for item in sorted(view.recordings, key=lambda item: trouble_rank(item.state))),
        *(_dataset_row(item) for item in sorted(view.datasets, key=lambda item: trouble_rank(item.state))),
        *(_pack_row(item) for item in sorted(view.packs, key=lambda item: trouble_rank(item.state))),
    ]
    if not rows:
        output.line("Nothing here yet: no projects, no catalog datasets, no assets.kv.")
        output.line()
        return
    for line in table(("what", "size", "state", ""), rows, right=frozenset({1})):
        output.line(line)
    output.line()
    totals = view.totals
    words = [
        f"{count} {word}"
        for word, count in (
            ("missing", totals.missing),
            ("stale", totals.stale),
            ("partial", totals.partial),
            ("invalid", totals.invalid),
            ("unknown", totals.unknown),
        )
        if count
    ]
    fetch = f", {show_size(totals.bytes_to_fetch)} to fetch" if totals.bytes_to_fetch else ""
    output.line((", ".join(words) or "nothing missing") + fetch)


def _recording_row(item: RecordingView) -> tuple[str, str, str, str]:
    name = f"recording {literal(item.project)}/{literal(item.dataset)}"
    counts = [f"{item.episodes} episodes"] if item.episodes is not None else []
    counts += [f"{number} {word}" for number, word in ((item.ahead, "ahead"), (item.behind, "behind")) if number]
    counts += [f"{item.held_back} held back"] if item.held_back else []
    return name, show_size(item.size_bytes), state_text(item.state), ", ".join(counts)


def _dataset_row(item: DatasetView) -> tuple[str, str, str, str]:
    name = f"dataset   {literal(item.id)}"
    return name, show_size(item.size_bytes), state_text(item.state), literal(item.detail)


def _pack_row(item: PackStatus) -> tuple[str, str, str, str]:
    name = f"pack      {literal(item.pack)}@{literal(item.version)}"
    return name, show_size(item.size_bytes), state_text(item.state), literal(item.detail)


def _service_line(view: Overview) -> str:
    service = view.service
    if service.reachable:
        return f"service {literal(service.url or '')}  reachable, {service.latency_ms or 0:.0f} ms"
    where = f"service {literal(service.url)}  " if service.url else "no service  "
    age = ""
    if service.answer_at is not None:
        age = f" Shown is its last answer, {show_duration(view.taken_at - service.answer_at)} old."
    return paint(f"{where}{literal(service.error or 'not asked')}{age}", "33", sys.stdout)


def safety_lines(view: Overview) -> list[str]:
    """The answer to the question every rented box ends with."""
    if view.safe_to_destroy:
        return [paint("Safe to destroy: nothing here would be lost.", "32", sys.stdout)]
    unsent = view.totals.bytes_unsent
    amount = f": {show_size(unsent)} only here." if unsent else "."
    lines = [paint(f"NOT safe to destroy{amount}", "31;1", sys.stdout)]
    lines += [f"  {literal(reason)}" for reason in view.unsafe_because[:_SHOWN_REASONS]]
    more = len(view.unsafe_because) - _SHOWN_REASONS
    return [*lines, f"  … and {more} more"] if more > 0 else lines
