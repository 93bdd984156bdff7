"""Where episodes are scored: in this process, in processes of this box, or on a Dask cluster.

All three are `concurrent.futures` executors: the ingest does not know which it was given.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from noeira_tui.core.errors import ConfigError, UnreachableError

READING_THREADS = 4
"""Parts of a remote dataset that are read at the same time in this process, so that nobody waits for the network."""
_MOST_PROCESSES = 8
"""Processes that are started without being asked for; a box that trains has other work for its cores."""
CANNOT_START = (BrokenExecutor, RuntimeError, EOFError, OSError)
"""What an executor raises for a task that it has no process for."""
_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
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


def cores() -> int:
    """How many processes can compute at the same time here, 8 at most; 1 where a process may not have others."""
    if multiprocessing.current_process().daemon:
        return 1
    try:
        multiprocessing.get_context().Lock()
    except (ImportError, OSError):
        # No shared memory, as in some containers.
        return 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST_PROCESSES)


@contextmanager
def engine_for(
    workers: int | None,
    scheduler: str | None,
    *,
    threads: int = READING_THREADS,
    at_once: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[Engine]:
    """The engine of a call: the cluster at `scheduler`, else `workers` processes, else `threads` of this process.

    Processes are started `at_once`, else with the first task. `say` hears of a cluster that has no workers yet.

    Raises ConfigError, and UnreachableError when the cluster does not answer.
    """
    if scheduler is not None:
        with _cluster(scheduler, workers, say) as engine:
            yield engine
    elif workers is not None and workers > 1:
        with _processes(workers, at_once) as engine:
            yield engine
    else:
        pool = ThreadPoolExecutor(threads, "ingest")
        try:
            yield Engine(pool, threads, is_here=True)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _processes(workers: int, at_once: bool) -> Iterator[Engine]:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        # The libraries are imported once, in the server that the workers are forked from.
        context.set_forkserver_preload(["noeira_tui.episodes.preload"])
    before = set(multiprocessing.active_children())
    kept = {name: os.environ.get(name) for name in _BLAS}
    # A process scores an episode on one core; the cores are for the other processes.
    os.environ.update({name: "1" for name in _BLAS if not kept[name]})

    def pool() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)

    if "forkserver" in methods:
        _start_server()
    engine = Engine(pool(), workers, again=pool)
    if at_once:
        # Starting one waits until it is up: meanwhile the caller imports what it needs itself.
        threading.Thread(target=_start, args=(engine.executor, workers), daemon=True, name="workers-start").start()
    try:
        yield engine
    except BaseException:
        engine.executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
        engine.executor.shutdown(wait=True, cancel_futures=True)


def _start_server() -> None:
    """Start what the workers are forked from. A Ctrl-C in the terminal is this process's to hear, and none of theirs:
    a signal that is blocked here stays so in them."""
    # Starting this one takes the block off again.
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(pool: Executor, workers: int) -> None:
    """Have a pool start its processes. Where that fails, the first task tells."""
    with suppress(*CANNOT_START):
        for _ in range(workers):
            pool.submit(int)


def _end_with_parent() -> None:
    """A worker does not outlive the ingest, however that ends: nobody would read what it gives."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


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
