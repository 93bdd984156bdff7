"""Ingest: every episode of some datasets registered and scored, without its videos.

Plan the parts, hash and score them on an executor, commit what is new. Running it again does nothing twice.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import AbstractContextManager, ExitStack

from noeira_tui.core.errors import CancelledError, NoeiraError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.datasets.source import Resolvers, scheme_of
from noeira_tui.episodes.commits import Commits
from noeira_tui.episodes.dataset import DatasetRun, Task, is_large, may_be_current, open_run
from noeira_tui.episodes.engine import READING_THREADS, Engine, engine_for, whole_box
from noeira_tui.episodes.facts import Ingested, IngestFailure
from noeira_tui.episodes.place import open_place, plain_address
from noeira_tui.episodes.processes import CANNOT_START, cores
from noeira_tui.episodes.tables import make_catalog
from noeira_tui.episodes.work import PartOutcome

_LOOK_EVERY_S = 0.2


def ingest(
    uris: Sequence[str],
    *,
    catalog: str,
    workers: int | None = None,
    scheduler: str | None = None,
    executor: Executor | None = None,
    is_alone: bool = False,
    resolvers: Resolvers | None = None,
    progress: Progress | None = None,
    cancel: CancelToken | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Ingested:
    """Register and score every episode of datasets at paths or addresses in the catalog at a folder or `s3://` address,
    which is made when there is none.

    The work is done by `executor`, else by the Dask cluster at `scheduler`, else by `workers` processes, else in this
    process. Where this one `is_alone`, which is to say that it is there for the ingest only and its main module can be
    imported again, large datasets on this box are scored by a process for every core.

    Episodes that fail are in `failures`, and the others go on. Stopping it at any time leaves whole batches, and doing
    it again goes on from there.

    Raises ConfigError, DatasetError and NetworkError for the catalog, and CancelledError.
    """
    work = _Ingest(progress or Progress(), cancel or CancelToken(), resolvers, say)
    uris = tuple(dict.fromkeys(map(plain_address, uris)))
    with ExitStack() as stack:
        if executor is not None:
            engine = Engine.around(executor)
        else:
            engine = stack.enter_context(_engine(uris, catalog, workers, scheduler, is_alone, say))
        return work.run(uris, catalog, engine)


def _engine(
    uris: Sequence[str],
    catalog: str,
    workers: int | None,
    scheduler: str | None,
    is_alone: bool,
    say: Callable[[str], None],
) -> AbstractContextManager[Engine]:
    """The engine for what nobody gave an executor for."""
    is_near = all(scheme_of(uri) in {None, "file"} for uri in uris)
    is_ours = is_alone and is_near and workers is None and scheduler is None
    if is_ours and (processes := cores()) > 1 and is_large(uris):
        return whole_box(processes, at_once=not may_be_current(uris, open_place(catalog)))
    # A disk needs no waiting for: more threads would only be in each other's way.
    return engine_for(workers, scheduler, threads=1 if is_near else READING_THREADS, say=say)


class _Ingest:
    """One call: datasets are opened one after the other, while parts of those before are still being scored."""

    def __init__(
        self, progress: Progress, cancel: CancelToken, resolvers: Resolvers | None, say: Callable[[str], None]
    ) -> None:
        self._progress = progress
        self._cancel = cancel
        self._resolvers = resolvers
        self._say = say
        self._failures: list[IngestFailure] = []
        self._bytes_read = self._requests = self._current = self._episodes_planned = 0
        self._waiting: dict[Future[PartOutcome], Task] = {}

    def run(self, uris: Sequence[str], catalog_uri: str, engine: Engine) -> Ingested:
        began = time.monotonic()
        self._cancel.check()
        catalog = make_catalog(catalog_uri, self._say, self._cancel)
        self._commits = Commits(catalog, secrets.token_hex(8), self._progress, self._cancel)
        self._engine = engine
        with ExitStack() as opened:
            for run in self._opened(uris, opened):
                for task in self._tasks(run):
                    self._submit(task)
                    while len(self._waiting) >= 2 * engine.slots:
                        self._collect()
                run.all_submitted = True
                self._commits.settle(run)
            while self._waiting:
                self._collect()
            self._commits.flush()
        done = self._commits
        failures = tuple(self._failures)
        return Ingested(
            ingested=done.ingested,
            skipped=done.skipped + self._current,
            failed=len(failures),
            frames=done.frames,
            bytes_read=self._bytes_read,
            requests=self._requests,
            elapsed_s=time.monotonic() - began,
            failures=failures,
        )

    def _opened(self, uris: Sequence[str], opened: ExitStack) -> Iterator[DatasetRun]:
        for uri in uris:
            self._cancel.check()
            self._progress.enter("looking")
            run = DatasetRun(uri)
            # Whatever comes of it, what it cost is counted and its connections are closed.
            opened.callback(self._closed, run)
            try:
                open_run(run, self._commits, self._cancel, self._resolvers, self._say, self._engine.slots)
            except CancelledError:
                raise
            except NoeiraError as err:
                self._fail(run, None, err.message)
                continue
            self._current += run.current
            self._episodes_planned += run.expected
            self._progress.expect(items=self._episodes_planned)
            self._progress.item_done(run.current + len(run.unread))
            for one in run.unread:
                self._fail(run, one.episode_index, one.error)
            self._progress.enter("scoring")
            yield run

    def _tasks(self, run: DatasetRun) -> Iterator[Task]:
        """A dataset's parts; where they are read here, what goes wrong with it is its own failure."""
        tasks = run.tasks(self._engine.is_here, self._engine.slots)
        while True:
            try:
                task = next(tasks, None)
            except CancelledError:
                raise
            except NoeiraError as err:
                self._fail(run, None, err.message)
                return
            if task is None:
                return
            yield task

    def _closed(self, run: DatasetRun) -> None:
        self._charge(run)
        run.close()

    def _charge(self, run: DatasetRun) -> None:
        """Count what the dataset's own source read since it was last looked at."""
        more = run.charge()
        self._bytes_read += more.bytes_read
        self._requests += more.requests
        self._progress.advance(more.bytes_read)

    def _submit(self, task: Task) -> None:
        try:
            future = self._engine.executor.submit(task.work, *task.arguments)
        except CANNOT_START:
            if self._engine.is_here:
                raise
            task.run.pending += 1
            self._again([task, *self._waiting.values()])
            return
        task.run.pending += 1
        self._waiting[future] = task

    def _collect(self) -> None:
        """Take in what is done, waiting for one part at least."""
        done: set[Future[PartOutcome]] = set()
        while not done:
            self._cancel.check()
            done, _ = wait(self._waiting, timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED)
        broken: list[Task] = []
        for future in done:
            task = self._waiting.pop(future)
            err = future.exception()
            if isinstance(err, BrokenExecutor):
                broken.append(task)
                continue
            task.run.pending -= 1
            if err is None:
                self._take(task.run, future.result())
            elif isinstance(err, CancelledError) or (self._engine.is_here and not isinstance(err, NoeiraError)):
                raise err
            else:
                self._fail(task.run, None, err.message if isinstance(err, NoeiraError) else f"A worker failed: {err!r}")
            self._commits.settle(task.run)
        if broken:
            self._again([*broken, *self._waiting.values()])

    def _again(self, tasks: Sequence[Task]) -> None:
        """A process died and took the pool with it: what it had not given is done by another pool."""
        # Who ends them all, this one and those that score, wants no other pool.
        self._cancel.check()
        self._waiting.clear()
        for task in tasks:
            task.run.pending -= 1
        if self._engine.mend():
            self._say("a scoring process died; its work is done again")
            for task in tasks:
                self._submit(task)
            return
        for task in tasks:
            self._fail(task.run, None, "The processes that score it die again and again; is there enough memory?")

    def _take(self, run: DatasetRun, outcome: PartOutcome) -> None:
        self._charge(run)
        self._bytes_read += outcome.cost.bytes_read
        self._requests += outcome.cost.requests
        self._progress.advance(outcome.cost.bytes_read)
        self._progress.item_done(len(outcome.episodes) + len(outcome.unread))
        for one in outcome.unread:
            self._fail(run, one.episode_index, one.error)
        if outcome.failure:
            self._fail(run, None, outcome.failure)
        self._commits.take(run, outcome.episodes)

    def _fail(self, run: DatasetRun, episode: int | None, error: str) -> None:
        run.has_failed = True
        self._failures.append(IngestFailure(run.uri, episode, error))
