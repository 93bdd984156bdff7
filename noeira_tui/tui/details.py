"""What is known about one row, as labelled facts: a few on the main screen, all of them in the details dialog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.cells import cell_len

from noeira_tui.assets.compare import Trouble
from noeira_tui.assets.status import PackStatus
from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.states import LOOKS, State
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.packfacts import PackFacts
from noeira_tui.overview.picture import DatasetView, ProjectView, RecordingView
from noeira_tui.recordings.compare import FileState
from noeira_tui.tui import figures, job_rows
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.pace import KEPT, sparkline
from noeira_tui.tui.rows import Row
from noeira_tui.tui.text import Line, Piece, clean, cut, cut_middle, width_of


@dataclass(frozen=True)
class Fact:
    """One labelled fact. `brief` is shorter, for the main screen, None when it is not shown there."""

    label: str
    value: str
    look: str = ""
    brief: str | None = ""
    own_line: bool = False

    @property
    def shown_briefly(self) -> str | None:
        return self.value if self.brief == "" else self.brief


def facts_of(row: Row, now: float, glyphs: Glyphs, moving: JobRecord | None = None) -> tuple[Fact, ...]:
    """Everything known about a row, the most important first; texts are clean. `moving` is the job that moves it."""
    subject = row.subject
    if isinstance(subject, DatasetView):
        found = _dataset(subject, glyphs)
    elif isinstance(subject, RecordingView):
        found = _recording(subject, now, glyphs)
    elif isinstance(subject, ProjectView):
        found = _project(subject, glyphs)
    elif isinstance(subject, PackStatus):
        found = _pack(subject, now, glyphs)
    elif isinstance(subject, JobRecord):
        found = _job(subject, row, now, glyphs)
    else:
        found = []
    if moving is not None and not isinstance(subject, JobRecord):
        # The state is that before the transfer: `missing` beside a bar at 68 % would be a riddle.
        found = [_transfer(row, moving, glyphs), *(fact for fact in found if fact.label != "state")]
    return tuple(found)


def _transfer(row: Row, job: JobRecord, glyphs: Glyphs) -> Fact:
    """What a job does to a thing just now."""
    progress = job.progress
    moved = (
        [] if progress.bytes_total is None else [figures.of_total(progress.bytes_done, progress.bytes_total, glyphs)]
    )
    phase = [] if not progress.phase or moved else [clean(progress.phase, glyphs)]
    told = f" {glyphs.dot} ".join([*moved, *phase, *([row.note] if row.note and moved else [])])
    verb = job.spec.kind.rpartition("-")[2]
    return Fact("state", f"{row.symbol} {verb} {row.word}" + (f": {told}" if told else ""), "live", own_line=True)


def copyable(row: Row) -> tuple[str, str] | None:
    """What `y` copies of a row, and what that is: its digest where it has one, else its path or name."""
    subject = row.subject
    if isinstance(subject, DatasetView | PackStatus) and subject.sha256:
        return subject.sha256, "sha256"
    if isinstance(subject, DatasetView):
        return (str(subject.path), "path") if subject.path else (subject.id, "id")
    if isinstance(subject, PackStatus):
        return str(subject.dest), "path"
    if isinstance(subject, RecordingView):
        return (str(subject.folder), "path") if subject.folder else (f"{subject.project}/{subject.dataset}", "name")
    if isinstance(subject, ProjectView):
        return subject.project, "name"
    if isinstance(subject, JobRecord):
        failure = subject.failure
        return (
            (f"{failure.title}: {failure.message} {failure.hint}".strip(), "error")
            if failure
            else (str(subject.id), "id")
        )
    return None


def _state(state: State, detail: str, last: State | None, glyphs: Glyphs) -> Fact:
    look = LOOKS[state]
    why = clean(detail, glyphs) or look.meaning
    was = f" (last known: {last.value})" if last is not None and last is not state else ""
    return Fact("state", f"{glyphs.state(state)} {state.value}{was}: {why}", look.tone.value, own_line=True)


def _dataset(view: DatasetView, glyphs: Glyphs) -> list[Fact]:
    facts = [_state(view.state, view.detail, view.last_state, glyphs)]
    if view.sha256:
        facts.append(Fact("sha256", clean(view.sha256, glyphs), brief=figures.digest(clean(view.sha256), glyphs)))
    facts.append(_size("size", view.size_bytes, glyphs))
    if view.local_bytes is not None and view.local_bytes != view.size_bytes:
        facts.append(_size("here", view.local_bytes, glyphs))
    if view.partial_bytes:
        facts.append(_size("fetched so far", view.partial_bytes, glyphs))
    for number, label in ((view.n_episodes, "episodes"), (view.n_rows, "rows")):
        if number is not None:
            facts.append(Fact(label, f"{number:,}"))
    if view.env_id:
        facts.append(Fact("env", clean(view.env_id, glyphs)))
    recipe = _recipe(view, glyphs)
    if recipe:
        facts.append(Fact("recipe", recipe))
    if view.newer_version:
        facts.append(Fact("newer", clean(view.newer_version, glyphs), "accent"))
    if view.wanted_by:
        facts.append(Fact("wanted by", clean(", ".join(view.wanted_by), glyphs)))
    if view.unsent_bytes:
        facts.append(Fact("not sent", figures.size(view.unsent_bytes, glyphs), "attention"))
    if view.path is not None:
        facts.append(Fact("path", clean(view.path, glyphs), own_line=True))
    if view.columns:
        facts.append(Fact("columns", clean(view.columns, glyphs), brief=None))
    if view.filename:
        facts.append(Fact("filename", clean(view.filename, glyphs), brief=None))
    if view.created_at:
        facts.append(Fact("created", clean(view.created_at, glyphs), brief=clean(view.created_at, glyphs)[:10]))
    return facts


def _recipe(view: DatasetView, glyphs: Glyphs) -> str:
    """What a dataset can be regenerated from."""
    parts = []
    if view.seed is not None:
        parts.append(f"seed {view.seed}")
    if view.source_commit:
        parts.append(f"@ {clean(view.source_commit, glyphs)[:12]}")
    return " ".join(parts)


def _size(label: str, size_bytes: int | None, glyphs: Glyphs) -> Fact:
    short = figures.size(size_bytes, glyphs)
    return Fact(label, short if size_bytes is None else f"{short} ({size_bytes:,} bytes)", brief=short)


def _recording(view: RecordingView, now: float, glyphs: Glyphs) -> list[Fact]:
    facts = [_state(view.state, view.detail, view.last_state, glyphs)]
    facts += _episodes(view)
    if view.changed_at is not None and view.here:
        facts.append(Fact("last written", figures.ago(view.changed_at, now), "live" if _is_live(view) else ""))
    if view.frames is not None:
        facts.append(Fact("frames", f"{view.frames:,}"))
    if view.fps is not None:
        facts.append(Fact("fps", f"{view.fps:g}"))
    facts.append(_size("size", view.size_bytes, glyphs))
    facts.append(Fact("files", f"{view.files:,}"))
    # Of what is only on the service every file is behind: that goes without saying.
    for number, label, look in (
        (view.ahead, "to send", "attention"),
        (view.behind if view.here else 0, "newer or only there", "attention"),
        (view.held_back, "held back", "live"),
    ):
        if number:
            facts.append(Fact(label, figures.count(number, "file"), look))
    if view.bytes_to_fetch:
        facts.append(_size("to fetch", view.bytes_to_fetch, glyphs))
    if view.unsent_bytes:
        facts.append(Fact("not sent", figures.size(view.unsent_bytes, glyphs), "attention"))
    facts.append(Fact("where", _where(view.here, view.on_service)))
    if view.folder is not None:
        facts.append(Fact("path", clean(view.folder, glyphs), own_line=True))
    facts += [Fact("problem", clean(problem, glyphs), "trouble", own_line=True) for problem in view.problems]
    return facts + _files(view, glyphs)


def _is_live(view: RecordingView) -> bool:
    return view.state is State.RECORDING


def _episodes(view: RecordingView) -> list[Fact]:
    """Recorded, as `info.json` says; readable, as the tables do; sent, as the service's do."""
    if view.episodes is None:
        return []
    facts = [Fact("episodes", f"{view.episodes:,}")]
    if view.here and view.episodes_readable is not None and view.episodes_readable != view.episodes:
        facts.append(Fact("readable", f"{view.episodes_readable:,} of {view.episodes:,}", "attention"))
    if view.here and view.episodes_sent is not None:
        look = "good" if view.episodes_sent >= view.episodes else "attention"
        facts.append(Fact("sent", f"{view.episodes_sent:,} of {view.episodes:,} episodes", look))
    return facts


MAX_FILES = 300
"""Details list at most this many files: those that are not current come first."""

_FILE_LOOKS = {
    FileState.DIVERGED: "trouble",
    FileState.HELD: "live",
    FileState.AHEAD: "attention",
    FileState.BEHIND: "attention",
    FileState.MISSING: "attention",
    FileState.UNVERIFIED: "attention",
    FileState.CURRENT: "quiet",
}
"""In the order of display."""


def _files(view: RecordingView, glyphs: Glyphs) -> list[Fact]:
    """A recording file by file, with why each is held back or refused."""
    order = list(_FILE_LOOKS)
    files = sorted(view.comparison, key=lambda file: order.index(file.state))
    facts = []
    for file in files[:MAX_FILES]:
        why = f" {glyphs.dot} {clean(file.reason, glyphs)}" if file.reason else ""
        told = f"{clean(file.path, glyphs)} {glyphs.dot} {figures.size(file.size_bytes, glyphs)}{why}"
        word = "held back" if file.state is FileState.HELD else file.state.value
        facts.append(Fact(word, told, _FILE_LOOKS[file.state], brief=None, own_line=True))
    if len(files) > MAX_FILES:
        facts.append(Fact("more", f"{len(files) - MAX_FILES:,} files", "quiet", brief=None))
    return facts


def row_facts(faults: Mapping[str, str], glyphs: Glyphs) -> tuple[Fact, ...]:
    """Data files whose rows are not those of their episodes."""
    return tuple(
        Fact("wrong rows", f"{clean(path, glyphs)} {clean(fault, glyphs)}", "trouble", own_line=True)
        for path, fault in faults.items()
    )


def rows_not_read(error: NoeiraError, glyphs: Glyphs) -> Fact:
    """Why they could not be compared: nobody asked for it, so it is told where they would stand."""
    return Fact("rows", f"not compared: {clean(error.message, glyphs)}", "quiet", own_line=True)


def _where(here: bool, on_service: bool) -> str:
    if here and on_service:
        return "here and on the service"
    return "only here" if here else "only on the service" if on_service else "nowhere"


def _project(view: ProjectView, glyphs: Glyphs) -> list[Fact]:
    facts = []
    if view.problem:
        facts.append(Fact("problem", clean(view.problem, glyphs), "trouble", own_line=True))
    if view.description:
        facts.append(Fact("about", clean(view.description, glyphs), own_line=True))
    facts.append(Fact("recordings", f"{len(view.recordings):,}"))
    facts.append(Fact("where", _where(view.here, view.on_service)))
    if view.wants:
        facts.append(Fact("wants", clean(", ".join(view.wants), glyphs)))
    return facts


def _pack(pack: PackStatus, now: float, glyphs: Glyphs) -> list[Fact]:
    facts = [_state(pack.state, pack.detail, None, glyphs)]
    if pack.sha256:
        facts.append(Fact("sha256", clean(pack.sha256, glyphs), brief=figures.digest(clean(pack.sha256), glyphs)))
    facts.append(_size("archive", pack.size_bytes, glyphs))
    source = f"{clean(pack.provider, glyphs)} {clean(pack.locator, glyphs)}".rstrip()
    facts.append(Fact("from", source, own_line=True))
    if pack.is_cached and pack.state is not State.CURRENT:
        facts.append(Fact("cached", "a pull needs no network", "good"))
    facts.append(Fact("into", clean(pack.dest, glyphs), own_line=True))
    facts.append(Fact("declared in", clean(pack.manifest, glyphs), own_line=True))
    if pack.files is not None:
        version = clean(pack.installed_version or "", glyphs)
        when = "" if pack.installed_at is None else f", {figures.ago(pack.installed_at, now)}"
        facts.append(Fact("installed", f"{version} {glyphs.dot} {figures.count(pack.files, 'file')}{when}", brief=None))
    for problem in pack.problems[:MAX_FILES]:
        look = "attention" if problem.trouble is Trouble.TOUCHED else "trouble"
        facts.append(Fact(problem.trouble.value, clean(problem.path, glyphs), look, brief=None, own_line=True))
    if len(pack.problems) > MAX_FILES:
        facts.append(Fact("more", f"{len(pack.problems) - MAX_FILES:,} files", "quiet", brief=None))
    return facts


def pack_facts(found: PackFacts, glyphs: Glyphs) -> tuple[Fact, ...]:
    """What takes a moment to find out about a pack: its credential (never the token), and who shares its files."""
    facts: list[Fact] = []
    if found.credential is None:
        facts.append(
            Fact("credential", clean(found.note, glyphs) or "none needed", "trouble" if found.note else "quiet")
        )
    else:
        sent = "is sent" if found.token_sent else "is not sent"
        source = f" from {clean(found.credential_source, glyphs)}, {sent}" if found.credential_source else ", not set"
        look = "" if found.credential_source else "attention"
        facts.append(Fact("credential", f"{clean(found.credential, glyphs)}{source}", look))
        if found.note:
            facts.append(Fact("note", clean(found.note, glyphs), "attention"))
    if found.linked or found.copied:
        facts.append(Fact("files", f"{found.linked:,} linked with the cache, {found.copied:,} copied"))
    facts += [Fact("cached in", clean(path, glyphs)) for path in found.cached_in]
    facts += [Fact("shared with", clean(path, glyphs)) for path in found.shared_with]
    return tuple(facts)


def _job(job: JobRecord, row: Row, now: float, glyphs: Glyphs) -> list[Fact]:
    facts = [Fact("job", f"{job.id} {glyphs.dot} {clean(job.spec.title, glyphs)}")]
    facts.append(Fact("state", job.state.value, "trouble" if job.failure else ""))
    if job.failure is not None:
        failure = job.failure
        facts.append(Fact("why", clean(f"{failure.title}: {failure.message}", glyphs), "trouble", own_line=True))
        if failure.hint:
            facts.append(Fact("hint", clean(failure.hint, glyphs), own_line=True))
    progress = job.progress
    if progress.bytes_total is not None:
        facts.append(Fact("moved", figures.of_total(progress.bytes_done, progress.bytes_total, glyphs)))
    if job.state in ("queued", "paused") and row.note:
        facts.append(Fact("waits", row.note, "attention"))
    elif progress.phase and job.is_live:
        facts.append(Fact("doing", clean(progress.phase, glyphs)))
    facts += _speed(row, glyphs)
    if job.started_at is not None:
        end = job.finished_at if job.finished_at is not None else now
        facts.append(Fact("started", figures.ago(job.started_at, now)))
        facts.append(Fact("took" if job.finished_at else "running for", figures.clock(end - job.started_at)))
    if job_rows.attempts(job) > 1:
        facts.append(Fact("attempt", str(job_rows.attempts(job)), "attention"))
    if job.spec.service_url:
        facts.append(Fact("service", clean(job.spec.service_url, glyphs), brief=None))
    return facts


def _speed(row: Row, glyphs: Glyphs) -> list[Fact]:
    """How fast a running job is, and how that went over the last while."""
    moment = row.moment
    if moment is None or moment.rate <= 0:
        return []
    facts = [Fact("rate", figures.rate(moment.rate, glyphs), "accent", brief=None)]
    if moment.remaining_s is not None:
        facts.append(Fact("left", figures.clock(moment.remaining_s), brief=None))
    drawn = sparkline(moment.rates, KEPT, glyphs.sparks)
    if drawn:
        most = figures.rate(max(moment.rates), glyphs)
        facts.append(Fact("throughput", f"{drawn}  at most {most}", "accent", brief=None))
    return facts


def brief_lines(facts: Iterable[Fact], width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Facts in at most `height` lines: short ones side by side, long ones on lines of their own while there is room."""
    flowing: list[Line] = [()]
    whole: list[Line] = []
    for fact in facts:
        value = fact.shown_briefly
        if value is None:
            continue
        if fact.label in {"state", "why"} and fact.own_line:
            whole.append(((cut(value, width, glyphs), fact.look),))
            continue
        shorten = cut_middle if fact.own_line else cut
        piece: Line = (
            (f"{fact.label} ", "faint"),
            (shorten(value, max(8, width - cell_len(fact.label) - 1), glyphs), fact.look),
        )
        used = width_of(flowing[-1])
        if used and used + 3 + width_of(piece) > width:
            flowing.append(())
            used = 0
        gap: tuple[Piece, ...] = (("   ", ""),) if used else ()
        flowing[-1] = (*flowing[-1], *gap, *piece)
    return tuple([*whole, *(line for line in flowing if line)][:height])
