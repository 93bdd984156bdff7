"""Mirroring a recording down: fetch what is missing or newer, `info.json` last; nothing of the user's is lost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from noeira_tui.catalog.recordingfiles import RecordingFiles
from noeira_tui.catalog.synced import SyncedFile
from noeira_tui.catalog.wire import FileRow, RecordingAnswer
from noeira_tui.core.errors import (
    CancelledError,
    NoeiraError,
    RefusedError,
    TransferError,
    UnreachableError,
)
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.redact import without_query
from noeira_tui.core.states import State
from noeira_tui.recordings.compare import FileComparison, FileState, RecordingState
from noeira_tui.recordings.definition_files import destination
from noeira_tui.recordings.layout import INFO, WRITER_STATS, belongs
from noeira_tui.recordings.mirror import Mirror, ready_rows
from noeira_tui.recordings.outcome import Failure, Held, Mirrored, Way
from noeira_tui.recordings.read import LocalRecording
from noeira_tui.recordings.share import Share
from noeira_tui.recordings.tables import EPISODES
from noeira_tui.transfer.download import download
from noeira_tui.transfer.facts import FileStamp, Replace, Wanted

_DOWNLOADS = 6
_NOTED_AFTER_S = 0.5
_NAMED = ("videos/", "data/", EPISODES)


@dataclass(frozen=True)
class PullPlan:
    """What a pull would do: the service's answer, the recording here, the two compared, and paths it must not write."""

    answer: RecordingAnswer
    local: LocalRecording
    compared: RecordingState
    rejected: tuple[Failure, ...]
    fetches: tuple[FileComparison, ...]
    conflicts: tuple[FileComparison, ...]
    kept: tuple[FileComparison, ...]
    elapsed_s: float = 0.0


def plan_pull(mirror: Mirror, *, revision: int | None = None, force: bool = False) -> PullPlan:
    """Compare both sides; changes nothing anywhere.

    Raises RefusedError for a recording or a revision that the service does not have, ServiceError, CancelledError.
    """
    began = time.monotonic()
    mirror.work.progress.enter("comparing")
    answer = mirror.files.committed(revision)
    if answer is None:
        raise RefusedError(
            f"There is no recording {mirror.project}/{mirror.dataset} on {without_query(mirror.client.url)}.",
            status=404,
            title="No such recording",
            hint=f"`noeira-tui dataset list --project {mirror.project}` shows them. Nothing was made here.",
        )
    local, compared = mirror.compare(mirror.look(), answer, thorough=True)
    there = ready_rows(answer)
    fetches, conflicts, kept = [], [], []
    for file in compared.files:
        if file.path not in there or not belongs(file.path):
            continue
        if file.state in {FileState.MISSING, FileState.BEHIND} or (force and file.state is not FileState.CURRENT):
            fetches.append(file)
        elif file.state in {FileState.DIVERGED, FileState.UNVERIFIED} or _is_open(file, local):
            conflicts.append(file)
        elif file.state is not FileState.CURRENT:
            kept.append(file)
    return PullPlan(
        answer,
        local,
        compared,
        tuple(_rejected(answer)),
        tuple(fetches),
        tuple(conflicts),
        tuple(kept),
        time.monotonic() - began,
    )


def _is_open(file: FileComparison, local: LocalRecording) -> bool:
    """A file here that is not complete: the service's is another one, and whose work this is cannot be told."""
    return file.state is FileState.HELD and any(one.path == file.path for one in local.incomplete)


def _rejected(answer: RecordingAnswer) -> Iterable[Failure]:
    for row in answer.files:
        if not row.is_safe:
            yield Failure(row.path, "refused: the path breaks the protocol's rule and might lead out of the folder")
        elif not belongs(row.path):
            yield Failure(row.path, "refused: it does not belong to a recording (meta/, data/, videos/, README.md)")


def foretold(mirror: Mirror, plan: PullPlan) -> Mirrored:
    """The outcome of a dry run: what would be received."""
    return _outcome(mirror, plan, _Fetched(), plan.compared.state, dry_run=True)


def pull(mirror: Mirror, *, revision: int | None = None, force: bool = False) -> Mirrored:
    """Fetch what is missing or newer; what was changed here stays unless `force`. Raises as `plan_pull` does."""
    return run_pull(mirror, plan_pull(mirror, revision=revision, force=force))


def run_pull(mirror: Mirror, plan: PullPlan) -> Mirrored:
    """Do what a plan says. A file that fails stops no other, but `info.json` above it. Raises CancelledError."""
    began = time.monotonic()
    work = mirror.work
    rows = ready_rows(plan.answer)
    work.progress.expect(
        size_bytes=sum(rows[file.path].size_bytes or 0 for file in plan.fetches), items=len(plan.fetches)
    )
    mirror.note_equal(plan.local, plan.compared)
    fetched = _Fetched()
    urls = _FreshUrls(mirror.files, plan.answer)
    stages: tuple[list[FileComparison], ...] = ([], [], [])
    for file in plan.fetches:
        stages[2 if file.path == INFO else 1 if file.path.startswith("meta/") else 0].append(file)
    try:
        with ThreadPoolExecutor(_DOWNLOADS, thread_name_prefix="fetch") as pool:
            for number, stage in enumerate(stages):
                if number == 2 and stage and (why := _info_must_wait(plan, fetched)):
                    fetched.held.append(Held(INFO, why))
                    break
                _fetch_all(mirror, plan, stage, urls, fetched, pool)
    finally:
        fetched.note(mirror)
    state = _state_now(mirror, plan, fetched)
    return _outcome(mirror, plan, fetched, state, elapsed_s=plan.elapsed_s + time.monotonic() - began)


def _info_must_wait(plan: PullPlan, fetched: _Fetched) -> str | None:
    for failure in fetched.failed:
        return f"{failure.path} could not be fetched"
    for file in (*plan.conflicts, *plan.kept):
        if file.path.startswith(_NAMED):
            return f"{file.path} was changed here and stays"
    return None


@dataclass
class _Fetched:
    received: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    bytes_transferred: int = 0
    requests: int = 0
    unnoted: list[SyncedFile] = field(default_factory=list)
    copies: list[tuple[str, FileStamp]] = field(default_factory=list)
    noted_at: float = field(default_factory=time.monotonic)
    lock: Lock = field(default_factory=Lock)
    noting: Lock = field(default_factory=Lock)

    def note(self, mirror: Mirror) -> None:
        """Write down what was received, for many files at once, as each time waits for the disk. What a kill keeps from
        being noted is hashed next time."""
        with self.noting:
            with self.lock:
                files, self.unnoted = self.unnoted, []
                copies, self.copies = self.copies, []
            mirror.synced.synced(files)
            for path, stamp in copies:
                mirror.synced.copied(path, stamp)
            self.noted_at = time.monotonic()


def _fetch_all(
    mirror: Mirror,
    plan: PullPlan,
    files: Sequence[FileComparison],
    urls: _FreshUrls,
    fetched: _Fetched,
    pool: ThreadPoolExecutor,
) -> None:
    stamps = {file.path: file.stamp for file in plan.local.files}

    def fetch(file: FileComparison) -> None:
        stamp = stamps.get(file.path)
        replace = Replace() if stamp is None else Replace(FileStamp(*stamp))
        try:
            mirror.work.cancel.check()
            _fetch(mirror, urls, file.path, replace, fetched)
        except CancelledError:
            raise
        except NoeiraError as err:
            with fetched.lock:
                fetched.failed.append(Failure(file.path, f"{err.title}: {err.message}"))
            if isinstance(err, UnreachableError):
                raise
        mirror.work.progress.item_done()

    futures = [pool.submit(fetch, file) for file in files]
    try:
        for future in futures:
            future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _fetch(mirror: Mirror, urls: _FreshUrls, path: str, replace: Replace, fetched: _Fetched) -> None:
    dest = destination(mirror.folder, path)
    source = urls.of(path)
    done = download(
        source,
        dest,
        Wanted(source.sha256, source.size_bytes),
        replace=replace,
        progress=Share(mirror.work.progress),
        cancel=mirror.work.cancel,
        context=mirror.work.context,
    )
    stamp = FileStamp.of(dest.stat())
    with fetched.lock:
        fetched.received.append(path)
        fetched.bytes_transferred += done.bytes_transferred
        fetched.requests += done.requests
        fetched.unnoted.append(SyncedFile(path, done.sha256, stamp))
        if path in WRITER_STATS:
            fetched.copies.append((path, stamp))
    if time.monotonic() - fetched.noted_at > _NOTED_AFTER_S:
        fetched.note(mirror)


class _FreshUrls:
    """Download URLs of the files of one answer; when they expire, one request brings fresh ones for all."""

    def __init__(self, files: RecordingFiles, answer: RecordingAnswer) -> None:
        self._files = files
        self._revision = answer.revision
        self._lock = Lock()
        self._rows = ready_rows(answer)
        self.generation = 0

    def of(self, path: str) -> _FileUrl:
        return _FileUrl(self, path, self._rows[path])

    def renewed(self, path: str, generation: int) -> tuple[FileRow | None, int]:
        """The row with a fresh URL; asks the service unless another file has since `generation`."""
        with self._lock:
            if generation == self.generation:
                answer = self._files.committed(self._revision)
                self._rows = ready_rows(answer)
                self.generation += 1
            return self._rows.get(path), self.generation


class _FileUrl:
    def __init__(self, urls: _FreshUrls, path: str, row: FileRow) -> None:
        self._urls = urls
        self._path = path
        self._row = row
        self._generation = urls.generation
        self.sha256 = row.sha256 or ""
        self.size_bytes = row.size_bytes

    def current(self) -> PresignedUrl:
        if self._row.download is None:
            raise TransferError(f"The service gave no URL for {self._path}.")
        return self._row.download

    def refresh(self) -> PresignedUrl:
        row, self._generation = self._urls.renewed(self._path, self._generation)
        if row is None or row.sha256 != self.sha256:
            raise TransferError(
                f"{self._path} was replaced on the service while it was fetched.",
                title="Recording changed",
                hint="Pull it again to get the new contents.",
                retryable=True,
            )
        self._row = row
        return self.current()


def _state_now(mirror: Mirror, plan: PullPlan, fetched: _Fetched) -> State:
    if not fetched.received:
        return plan.compared.state
    return mirror.compare(mirror.look(), plan.answer, thorough=True)[1].state


def _outcome(
    mirror: Mirror, plan: PullPlan, fetched: _Fetched, state: State, *, dry_run: bool = False, elapsed_s: float = 0.0
) -> Mirrored:
    return Mirrored(
        way=Way.PULL,
        project=mirror.project,
        dataset=mirror.dataset,
        state=state,
        moved=tuple(file.path for file in plan.fetches) if dry_run else tuple(fetched.received),
        unchanged=sum(file.state is FileState.CURRENT for file in plan.compared.files),
        held=tuple(fetched.held),
        failed=(*plan.rejected, *fetched.failed),
        conflicts=mirror.conflicts(plan.conflicts, plan.answer),
        left=tuple(Held(file.path, "changed here since the last sync") for file in plan.kept),
        bytes_transferred=fetched.bytes_transferred,
        requests=mirror.client.requests + fetched.requests,
        elapsed_s=elapsed_s or plan.elapsed_s,
        episodes=plan.answer.recording.n_episodes,
        revision=plan.answer.revision,
        dry_run=dry_run,
        problems=plan.local.problems,
    )
