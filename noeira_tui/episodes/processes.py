"""Processes of this box that score: forked from one that has imported all they need, and gone with the ingest, however
that ends."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

CANNOT_START = (BrokenExecutor, RuntimeError, EOFError, OSError)
"""What an executor raises for a task that it has no process for."""
_MOST = 8
"""Processes that are started without being asked for; a box that trains has other work for its cores."""
_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


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
    return min(allowed, _MOST)


class ProcessPool(ProcessPoolExecutor):
    """Processes that are started with the first tasks."""

    def __init__(self, workers: int) -> None:
        methods = multiprocessing.get_all_start_methods()
        self._has_server = "forkserver" in methods
        context = multiprocessing.get_context("forkserver" if self._has_server else "spawn")
        if self._has_server:
            # The libraries are imported once, in the server that the workers are forked from.
            context.set_forkserver_preload(["noeira_tui.episodes.preload"])
        super().__init__(workers, mp_context=context, initializer=_end_with_parent)

    def submit(self, work: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        if self._has_server:
            _start_server()
        return super().submit(work, *arguments, **named)


class WithThisProcess(Executor):
    """A pool, and a thread of this process that scores as well: nobody waits while processes are being started."""

    def __init__(self, others: int) -> None:
        self._pool = ProcessPool(others)
        self._others = others
        self._here = threading.local()
        self._places: queue.SimpleQueue[bool] = queue.SimpleQueue()
        for is_here in (True, *(False for _ in range(others))):
            self._places.put(is_here)
        self._threads = ThreadPoolExecutor(others + 1, "ingest", initializer=self._take_place)

    def start(self) -> None:
        """Start the processes now, not with the first task. Starting one waits until it is up: that is left to a
        thread."""
        threading.Thread(target=self._start, daemon=True, name="processes-start").start()

    def submit(self, work: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        return self._threads.submit(self._do, work, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait=False, cancel_futures=cancel_futures)
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:
            self._threads.shutdown(wait=True)

    def _take_place(self) -> None:
        self._here.is_it = self._places.get()

    def _start(self) -> None:
        # Where that fails, the first task tells.
        with suppress(*CANNOT_START):
            for _ in range(self._others):
                self._pool.submit(int)

    def _do(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        if self._here.is_it:
            return work(*arguments, **named)
        try:
            given = self._pool.submit(work, *arguments, **named)
        except CANNOT_START as err:
            raise BrokenExecutor(f"No process can be started: {err}.") from err
        return given.result()


@contextmanager
def children_of_ours() -> Iterator[None]:
    """Processes that are started meanwhile compute in one thread each, and are ended when this ends with an error."""
    before = set(multiprocessing.active_children())
    kept = {name: os.environ.get(name) for name in _BLAS}
    # A process scores an episode on one core; the cores are for the other processes.
    os.environ.update({name: "1" for name in _BLAS if not kept[name]})
    try:
        yield
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)


def _start_server() -> None:
    """Start what the workers are forked from, where it does not run yet. A Ctrl-C in the terminal is this process's to
    hear, and none of theirs: a signal that is blocked here stays so in them."""
    # Starting this one takes the block off again.
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """A worker does not outlive the ingest, however that ends: nobody would read what it gives."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()
