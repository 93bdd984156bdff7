"""Is everything set up? One check after the other, each with what was found and what to do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.stored import ask_for_first_byte
from noeira_tui.catalog.wire import DatasetRow, RowStatus
from noeira_tui.core.errors import NetworkError, NoeiraError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.quantity import show_size
from noeira_tui.core.redact import redact, without_query
from noeira_tui.core.settings import API_KEY, SPECS, URL, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.store import JobStore

_LOW_DISK_BYTES = 5 * 1000**3
_MAX_SKEW_S = 60.0
_FEW_WATCHES = 65_536


@dataclass(frozen=True)
class Check:
    """One check: what was found, and what to do when it is not well."""

    check: str
    ok: bool
    detail: str
    hint: str = ""


def examine(settings: Settings) -> Iterator[Check]:
    """Every check, one after the other; never raises."""
    yield from _settings(settings)
    yield from _service(settings)
    yield _state(settings)
    yield _disk(settings)
    yield _terminal()
    yield _file_events()


def _settings(settings: Settings) -> Iterator[Check]:
    yield Check("root", True, f"{settings.root}")
    yield Check(
        "projects", True, str(settings.projects_dir) + ("" if settings.projects_dir.is_dir() else " (not there)")
    )
    for spec in SPECS:
        setting = settings.setting(spec.name)
        needed = spec.name in {URL, API_KEY}
        if setting.value is None:
            looked = f"not set; looked in {', '.join(settings.places)}"
            hint = f"Put `{spec.name}=…` into .env; `noeira-tui serve` prints both lines." if needed else ""
            yield Check(spec.name, not needed, looked if needed else f"not set ({spec.meaning})", hint)
        else:
            yield Check(spec.name, True, f"{redact(setting.shown)}  from {setting.source}: {setting.place}")


def _service(settings: Settings) -> Iterator[Check]:
    if settings.get(URL) is None or settings.get(API_KEY) is None:
        yield Check("service", False, "not asked: it is not configured", f"Set {URL} and {API_KEY}.")
        return
    try:
        with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
            rows = client.list_datasets()
            facts = client.facts()
            name = f"{facts.service} {facts.version or ''}".strip() if facts.service else "a catalog service"
            yield Check(
                "service", True, f"{without_query(client.url)}: {name}, {len(rows)} datasets, the key is accepted"
            )
            yield _clock(client.clock_skew_s)
            yield _store(client, rows)
    except NoeiraError as err:
        yield Check("service", False, f"{err.title}: {err.message}", err.hint)


def _clock(skew_s: float | None) -> Check:
    if skew_s is None:
        return Check("clock", True, "the service does not tell its time")
    ahead = "ahead of" if skew_s > 0 else "behind"
    detail = f"the service's clock is {abs(skew_s):.0f} s {ahead} this box's"
    if abs(skew_s) > _MAX_SKEW_S:
        return Check("clock", False, detail, "Presigned URLs expire at the wrong moment: set the clock (NTP).")
    return Check("clock", True, detail)


def _store(client: CatalogClient, rows: tuple[DatasetRow, ...]) -> Check:
    ready = next((row for row in rows if row.status is RowStatus.READY and row.size_bytes), None)
    if ready is None:
        return Check("object store", True, "not asked: there is no ready dataset to ask for")
    return _ask_for_a_byte(client.get_dataset(ready.id).download, ready.id)


def _ask_for_a_byte(presigned: PresignedUrl, dataset_id: str) -> Check:
    try:
        answer = ask_for_first_byte(presigned, timeout_s=10.0)
    except NetworkError as err:
        hint = "The service's object store must be reachable from this box (see `serve --public-endpoint`)."
        return Check("object store", False, err.message.removesuffix("."), hint)
    where, status = answer.where, answer.status
    if status == 206:
        return Check("object store", True, f"{where.split('/', 3)[2]} gives {dataset_id}, with ranges")
    if status == 200:
        return Check("object store", True, f"{where.split('/', 3)[2]} gives {dataset_id}, without ranges: no resuming")
    return Check("object store", False, f"{where}: {status}", "Look at the store's log, and at both clocks.")


def _state(settings: Settings) -> Check:
    folder = settings.state_dir
    try:
        jobs = JobStore(StateDb(folder)).list()
    except NoeiraError as err:
        return Check("state folder", False, err.message, err.hint)
    live = sum(job.is_live for job in jobs)
    return Check("state folder", True, f"{folder}: {len(jobs)} jobs, {live} of them running")


def _disk(settings: Settings) -> Check:
    folder = next(path for path in (settings.data_dir, *settings.data_dir.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if not os.access(folder, os.W_OK):
        return Check("disk", False, f"{folder} cannot be written", "Choose another root with --root or NOEIRA_ROOT.")
    hint = "Free some space before pulling." if free < _LOW_DISK_BYTES else ""
    return Check("disk", free >= _LOW_DISK_BYTES, f"{show_size(free)} free at {folder}", hint)


def _terminal() -> Check:
    kind = os.environ.get("TERM", "")
    if not sys.stdout.isatty():
        return Check("terminal", True, f"none (TERM={kind or 'not set'}): commands work, the app needs one")
    size = os.get_terminal_size(sys.stdout.fileno())
    colours = "no colour" if os.environ.get("NO_COLOR") else os.environ.get("COLORTERM", "") or "basic colours"
    ok = kind not in {"", "dumb", "unknown"} and size.columns >= 40 and size.lines >= 10
    hint = "" if ok else "Set TERM (xterm-256color) and make the window at least 80x24."
    return Check("terminal", ok, f"{kind}, {size.columns}x{size.lines}, {colours}, {sys.stdout.encoding}", hint)


def _file_events() -> Check:
    watches = _inotify_limit("max_user_watches")
    if watches is None:
        return Check("file events", True, "no inotify here: a watch rescans")
    hint = "" if watches >= _FEW_WATCHES else "Raise fs.inotify.max_user_watches; until then a watch rescans."
    return Check("file events", watches >= _FEW_WATCHES, f"inotify allows {watches} watches", hint)


def _inotify_limit(name: str) -> int | None:
    try:
        return int(Path(f"/proc/sys/fs/inotify/{name}").read_text())
    except (OSError, ValueError):
        return None
