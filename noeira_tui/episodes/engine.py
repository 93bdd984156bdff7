"""Where episodes are scored: in this process, in processes of this box, or on a Dask cluster.

All three are `concurrent.futures` executors: the ingest does not know which it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from noeira_tui.core.errors import ConfigError, UnreachableError
from noeira_tui.episodes.processes import ProcessPool, WithThisProcess, children_of_ours

READING_THREADS = 4
"""Parts of a remote dataset that are read at the same time in this process, so that nobody waits for the network."""
_RETRIES = 3
_CONNECT_S = 10.0
_UNKNOWN_SLOTS = 16


class Engine:
    """An executor, how many tasks it works on at once, and whether it shares this process's memory."""

    def __init__(
        self, executor: Executor, slots: int, *, is_here: bool = False, again: Callable[[], Executor] | None = None
    ) -> None:
        """`again` makes another executor when this one broke."""
        self.executor = executor
        self.slots = slots
        self.is_here = is_here
        self._again = again
        self._left = _RETRIES

    @classmethod
    def around(cls, executor: Executor) -> Engine:
        """An executor that somebody else made."""
        slots = getattr(executor, "_max_workers", None)
        is_here = isinstance(executor, ThreadPoolExecutor)
        return cls(executor, slots if isinstance(slots, int) else _UNKNOWN_SLOTS, is_here=is_here)

    def mend(self) -> bool:
        """Replace an executor that broke, as when one of its processes was killed; False when that is no use."""
        if self._again is None or not self._left:
            return False
        self._left -= 1
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._again()
        return True


@contextmanager
def engine_for(
    workers: int | None,
    scheduler: str | None,
    *,
    threads: int = READING_THREADS,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Engine]:
    """The engine of a call: the cluster at `scheduler`, else `workers` processes, else `threads` of this process.

    `say` hears of a cluster that has no workers yet.

    Raises ConfigError, and UnreachableError when the cluster does not answer.
    """
    if scheduler is not None:
        with _cluster(scheduler, workers, say) as engine:
            yield engine
    elif workers is not None and workers > 1:
        with _ending(lambda: ProcessPool(workers), workers) as engine:
            yield engine
    else:
        pool = ThreadPoolExecutor(threads, "ingest")
        try:
            yield Engine(pool, threads, is_here=True)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def whole_box(processes: int, *, at_once: bool) -> Iterator[Engine]:
    """The engine of two `processes` or more: this one and others, which are started `at_once`, else with the first
    task."""
    with _ending(lambda: WithThisProcess(processes - 1), processes) as engine:
        if at_once and isinstance(engine.executor, WithThisProcess):
            engine.executor.start()
        yield engine


@contextmanager
def _ending(make: Callable[[], Executor], slots: int) -> Iterator[Engine]:
    """An engine of processes, which end with it."""
    engine = Engine(make(), slots, again=make)
    try:
        with children_of_ours():
            try:
                yield engine
            except BaseException:
                engine.executor.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        engine.executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _cluster(address: str, workers: int | None, say: Callable[[str], None]) -> Iterator[Engine]:
    try:
        from distributed import Client
    except ModuleNotFoundError as err:
        raise ConfigError(
            f"--scheduler needs the package {err.name}, which is not installed.",
            title="Not installed",
            hint="pip install 'noeira-tui[cluster]'",
        ) from err
    try:
        client: Any = Client(address, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as err:
        raise UnreachableError(
            f"The Dask scheduler {address} does not answer: {err}.",
            title="No cluster",
            hint="It looks like tcp://10.0.0.5:8786; start one with `dask scheduler` and `dask worker`.",
        ) from err
    try:
        slots = workers or sum(client.nthreads().values())
        if not slots:
            # A cluster that grows with its work begins without any.
            say(f"the cluster has no workers yet; waiting for some (start them with `dask worker {address}`)")
            slots = _UNKNOWN_SLOTS
        # A task whose worker died is given to another one.
        yield Engine(client.get_executor(pure=False, retries=_RETRIES), slots)
    finally:
        client.close()
