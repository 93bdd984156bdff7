"""`jobs`: long work on this box, whoever started it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from noeira_tui.catalog.wire import format_time
from noeira_tui.cli import shapes
from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.literal import literal
from noeira_tui.cli.livebar import describe
from noeira_tui.cli.output import print_line
from noeira_tui.cli.table import table
from noeira_tui.core.errors import JobError, NoeiraError
from noeira_tui.core.quantity import show_rate, show_size
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs import process
from noeira_tui.jobs.dataset_kinds import DatasetWatch
from noeira_tui.jobs.records import JobRecord, JobState, Request
from noeira_tui.jobs.store import JobStore

JobId = Annotated[int, typer.Argument(metavar="J", help="The job's number.")]
_FOLLOW_EVERY_S = 0.25
_PLAIN_EVERY_S = 5.0


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="jobs", help="Long work that outlives the terminal.")
    for name, function in (
        ("show", show),
        ("follow", follow),
        ("pause", pause),
        ("resume", resume),
        ("cancel", cancel),
        ("retry", retry),
    ):
        command(group, name)(function)
    command(group, "list")(list_)
    command(group, "prune")(prune)
    return group


def list_(cli: Cli) -> int:
    """All jobs, newest first.

    Example: noeira-tui jobs list --json
    """
    records = _store(cli).list()
    if cli.output.json:
        cli.output.data([shapes.job(record) for record in records])
        return 0
    if not records:
        cli.output.line("No jobs. `noeira-tui catalog pull ID --detach` starts one.")
        return 0
    rows = [
        (str(record.id), literal(record.spec.title), record.state.value, _how_far(record), _why(record))
        for record in records
    ]
    for line in table(("job", "what", "state", "", ""), rows, right=frozenset({0})):
        cli.output.line(line)
    return 0


def show(cli: Cli, job_id: JobId) -> int:
    """One job with its log.

    Example: noeira-tui jobs show 3
    """
    store = _store(cli)
    record = store.get(job_id)
    log = _log(store, job_id)
    if cli.output.json:
        cli.output.data(shapes.job_details(record, log))
        return 0
    cli.output.line(f"job {record.id}  {literal(record.spec.title)}  {record.state}  {_how_far(record)}")
    if record.failure is not None:
        cli.output.line(f"{literal(record.failure.title)}: {literal(record.failure.message)}")
        if record.failure.hint:
            cli.output.line(f"  {literal(record.failure.hint)}")
    for line in log.splitlines():
        cli.output.line(literal(line))
    return 0


def follow(cli: Cli, job_id: JobId) -> int:
    """Show a job until it ends; Ctrl-C stops the showing, not the job. The exit code is the job's.

    Example: noeira-tui jobs follow 3
    """
    store = _store(cli)
    record = store.get(job_id)
    said_at, last = float("-inf"), ""
    while record.is_live:
        now = time.monotonic()
        text = (
            json.dumps(shapes.job(record))
            if cli.output.json
            else describe(literal(record.spec.title), record.progress, live=False)
        )
        if text != last and (cli.output.json or now - said_at >= _PLAIN_EVERY_S):
            said_at, last = now, text
            _event(cli, "progress", record, text)
        time.sleep(_FOLLOW_EVERY_S)
        record = store.get(job_id)
    if cli.output.json:
        print_line(json.dumps(shapes.job(record)))
    else:
        cli.output.line(f"{literal(record.spec.title)}: {record.state}  {_how_far(record)}  {_why(record)}".rstrip())
    return 0 if record.state is JobState.DONE else 1


def pause(cli: Cli, job_id: JobId) -> int:
    """Let a job stand still; its slot goes to the next one.

    Example: noeira-tui jobs pause 3
    """
    return _tell(cli, _store(cli).ask(job_id, Request.PAUSE), "asked to pause")


def resume(cli: Cli, job_id: JobId) -> int:
    """Let a paused job go on.

    Example: noeira-tui jobs resume 3
    """
    return _tell(cli, _store(cli).ask(job_id, Request.NONE), "asked to go on")


def cancel(cli: Cli, job_id: JobId) -> int:
    """Stop a job: ask, wait, then kill. What was transferred is kept.

    Example: noeira-tui jobs cancel 3
    """
    record = process.cancel(_store(cli), job_id)
    return _tell(cli, record, record.state.value)


def retry(cli: Cli, job_id: JobId) -> int:
    """Start a failed, cancelled or interrupted job again; it goes on from what is on disk.

    Example: noeira-tui jobs retry 3
    """
    try:
        url: str | None = cli.settings.service_url
    except NoeiraError:
        url = None
    return _tell(cli, process.retry(_store(cli), job_id, url), "queued again")


def prune(cli: Cli) -> int:
    """Forget finished jobs and their logs.

    Example: noeira-tui jobs prune
    """
    ids = _store(cli).prune()
    if cli.output.json:
        cli.output.data({"pruned": list(ids)})
    else:
        cli.output.line(f"{len(ids)} finished jobs forgotten")
    return 0


def _store(cli: Cli) -> JobStore:
    return JobStore(StateDb(cli.settings.state_dir))


def _log(store: JobStore, job_id: int) -> str:
    try:
        return store.log_path(job_id).read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as err:
        raise JobError(f"The log of job {job_id} cannot be read: {err.strerror}.") from err


def _event(cli: Cli, event: str, record: JobRecord, text: str) -> None:
    if cli.output.json:
        print_line(json.dumps({"event": event, "at": format_time(datetime.now(UTC)), **shapes.job(record)}))
    else:
        cli.output.line(text)


def _tell(cli: Cli, record: JobRecord, what: str) -> int:
    if cli.output.json:
        cli.output.data(shapes.job(record))
    else:
        cli.output.line(f"job {record.id}  {literal(record.spec.title)}: {what}")
    return 0


def _how_far(record: JobRecord) -> str:
    now = record.progress
    if record.spec.kind == DatasetWatch.kind:
        # It has no end that could be far: what it did is told.
        did = [now.phase or f"{now.items_done} of {now.items_total or 0} episodes sent"]
        return literal(" · ".join(did + ([f"{show_size(now.bytes_done)} in all"] if now.bytes_done else [])))
    if now.bytes_total is None:
        return now.phase if record.is_live else ""
    text = f"{show_size(now.bytes_done)} of {show_size(now.bytes_total)}"
    return text + (f", {show_rate(now.rate)}" if record.state is JobState.RUNNING and now.rate else "")


def _why(record: JobRecord) -> str:
    if record.failure is None:
        return "its process ended without a word; retry goes on" if record.state is JobState.INTERRUPTED else ""
    return literal(f"{record.failure.title}: {record.failure.message}")
