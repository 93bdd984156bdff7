"""What runs while a service runs: the web server, and watching over processes and the sweeper beside it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Protocol

import uvicorn
from fastapi import FastAPI
from sqlalchemy.exc import DBAPIError

from noeira_tui.core.errors import StateError
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.context import Context
from noeira_tui.service.heads import KEEP_ALIVE_S, http_protocol
from noeira_tui.service.metrics import Metrics
from noeira_tui.service.storerefusal import StoreError
from noeira_tui.service.sweeper import Sweeper

_log = logging.getLogger("noeira_tui.service")
_WATCH_EVERY_S = 0.25
_SWEEP_EVERY_S = 3600.0
_RESTARTS = 5
# Measured beside three clients that read long lists: the slowest hundredth of short answers takes 46 ms, not 175.
_SWITCH_INTERVAL_S = 0.0002
_RESTARTS_WITHIN_S = 60.0


class Stop:
    """Whether the service was asked to end. A second request does not wait for requests in flight."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.asked_twice = asyncio.Event()

    def ask(self) -> None:
        if self.asked.is_set():
            self.asked_twice.set()
        self.asked.set()

    def on_signals(self) -> None:
        """Be asked by SIGINT, SIGTERM and SIGHUP."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # `nohup` says that a hang-up is to be ignored.
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self.ask)


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, on uvloop where that is installed: it answers half as many requests a second again."""
    try:
        import uvloop
    except ModuleNotFoundError:
        factory = None
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


class Server(uvicorn.Server):
    """uvicorn with our own handling of signals, and a call when it listens."""

    def __init__(self, app: FastAPI, config: ServiceConfig, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=http_protocol(),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                forwarded_allow_ips=config.proxies,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=5,
                backlog=2048,
            )
        )
        self._started = started
        self._context: Context = app.state.context

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _settle_interpreter()
        if not self.should_exit:
            self._started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def serve_until(self, stop: Stop, listening: socket.socket) -> None:
        """Serve until asked to stop, and finish what is in flight unless asked twice."""
        obeying = asyncio.create_task(self._obey(stop))
        try:
            await self.serve([listening])
        finally:
            stop.asked.set()
            self._context.comparisons.close()
            obeying.cancel()

    async def _obey(self, stop: Stop) -> None:
        await stop.asked.wait()
        self._context.comparisons.close()
        self.should_exit = True
        await stop.asked_twice.wait()
        self.force_exit = True


def _settle_interpreter() -> None:
    """Keep one request's work from holding up all others.

    What was made at the start stays: looking through it for garbage stops everything for tens of milliseconds. And
    answers are sent by one thread, which must not wait 5 ms for each of those that build a long list.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


class Supervised(Protocol):
    """A process that is started again when it ends."""

    @property
    def title(self) -> str: ...

    @property
    def exit_code(self) -> int | None: ...

    def spawn(self) -> None: ...

    def wait_until_ready(self) -> None: ...


async def keep_alive(stop: Stop, process: Supervised) -> None:
    """Start a process again that ended unexpectedly; after too often, stop the service and raise StateError."""
    ended: list[float] = []
    while not stop.asked.is_set():
        await asyncio.sleep(_WATCH_EVERY_S)
        code = process.exit_code
        if code is None or stop.asked.is_set():
            continue
        moment = time.monotonic()
        ended = [*(at for at in ended if moment - at < _RESTARTS_WITHIN_S), moment]
        if len(ended) > _RESTARTS:
            stop.asked.set()
            raise StateError(
                f"The {process.title} ended {len(ended)} times within {_RESTARTS_WITHIN_S:.0f} s (last exit {code}).",
                title=process.title.capitalize(),
                hint="See store.log in the data folder, and the lines above.",
            )
        _log.warning("the %s ended (exit %s); starting it again", process.title, code)
        process.spawn()
        try:
            await asyncio.to_thread(process.wait_until_ready)
        except StateError as err:
            _log.error("%s", err)


async def keep_swept(sweeper: Sweeper, metrics: Metrics) -> None:
    """Sweep now and every hour."""
    while True:
        try:
            swept = await asyncio.to_thread(sweeper.sweep)
            for kind, number in (("contents", swept.blobs), ("uploads", swept.uploads), ("strays", swept.strays)):
                metrics.count("noeira_swept_total", number, kind=kind)
        except (StoreError, DBAPIError, OSError) as err:
            _log.warning("sweeping again later: %s", err)
        await asyncio.sleep(_SWEEP_EVERY_S)
