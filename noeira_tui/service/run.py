"""Running the service, its worker processes and its object store, until a signal says stop."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Callable

from noeira_tui.service.app import make_app
from noeira_tui.service.config import ServiceConfig, ServiceReady
from noeira_tui.service.database import Database
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.keys import KeyCheck, KeyStore, Scope
from noeira_tui.service.limits import Limits
from noeira_tui.service.logs import configure
from noeira_tui.service.metrics import Metrics
from noeira_tui.service.objectstore import EmbeddedStore
from noeira_tui.service.serving import Server, Stop, keep_alive, keep_swept, run_loop
from noeira_tui.service.sockets import http_address, listen, port_of
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.stores import running_store
from noeira_tui.service.sweeper import Sweeper
from noeira_tui.service.worker import SHARED
from noeira_tui.service.workers import Worker


def serve(config: ServiceConfig, announce: Callable[[ServiceReady], None]) -> None:
    """Run until SIGINT or SIGTERM; `announce` is called once, when both the service and its store answer.

    Raises ConfigError for a port in use or a folder that cannot be written, StateError when another service has the
    folder, when its database was written by a newer version, or when one of its processes ends again and again.
    """
    configure(config.log_format)
    folder = DataFolder(config.data_dir)
    folder.lock()
    try:
        ports = [config.port] if config.port else [folder.remembered_port() or 0, 0]
        listening = listen(config.host, ports)
        try:
            _run(config, folder, listening, announce)
        finally:
            listening.close()
    finally:
        folder.unlock()


def _run(
    config: ServiceConfig, folder: DataFolder, listening: socket.socket, announce: Callable[[ServiceReady], None]
) -> None:
    port = port_of(listening)
    url = http_address("127.0.0.1" if config.listens_everywhere else config.host, port)
    with running_store(config, folder, os.environ) as (embedded, store):
        database = Database(config.resolved_database_url)
        try:
            database.create()
            ready = ServiceReady(
                url=url,
                client_env=folder.client_env,
                lines=folder.write_client(url, _client_key(config, folder, database)),
                store_endpoint=store.public_endpoint,
                bucket=store.bucket,
                store_access_key=store.access_key,
                store_secret=embedded.secret_file if embedded is not None else None,
            )
            folder.remember_port(port)
            runner = _Runner(config, folder, listening, database, store, embedded)
            run_loop(runner.run(lambda: announce(ready)))
        finally:
            database.close()


class _Runner:
    """A service whose parts are there: serves in this process, or watches over workers that do."""

    def __init__(
        self,
        config: ServiceConfig,
        folder: DataFolder,
        listening: socket.socket,
        database: Database,
        store: ObjectStore,
        embedded: EmbeddedStore | None,
    ) -> None:
        self._config = config
        self._folder = folder
        self._listening = listening
        self._database = database
        self._store = store
        self._embedded = embedded

    async def run(self, announce: Callable[[], None]) -> None:
        """Until a signal says stop. Raises StateError when a process ends again and again."""
        stop = Stop()
        stop.on_signals()
        alone = self._config.workers == 1
        metrics = Metrics() if alone else self._shared_metrics()
        sweeping = asyncio.create_task(keep_swept(Sweeper(self._config, self._database, self._store), metrics))
        watching = [asyncio.create_task(keep_alive(stop, self._embedded))] if self._embedded is not None else []
        try:
            if alone:
                app = make_app(self._config, self._database, self._store, metrics)
                await Server(app, self._config, announce).serve_until(stop, self._listening)
            else:
                await self._watch_workers(stop, announce)
        finally:
            stop.asked.set()
            # A sweep, or a reading, that goes on would keep this process.
            self._store.close()
            sweeping.cancel()
            for task in watching:
                await task

    async def _watch_workers(self, stop: Stop, announce: Callable[[], None]) -> None:
        workers = [
            Worker(self._config, self._folder, self._listening, slot) for slot in range(1, self._config.workers + 1)
        ]
        try:
            for worker in workers:
                worker.spawn()
            for worker in workers:
                await asyncio.to_thread(worker.wait_until_ready)
            announce()
            await asyncio.gather(*(keep_alive(stop, worker) for worker in workers))
        finally:
            for worker in workers:
                worker.ask_to_stop()
            for worker in workers:
                await asyncio.to_thread(worker.stop, at_once=stop.asked_twice.is_set())

    def _shared_metrics(self) -> Metrics:
        shared = self._folder.path / SHARED
        shutil.rmtree(shared, ignore_errors=True)
        shared.mkdir(mode=0o700)
        Limits.make_shared(shared)
        return Metrics(shared)


def _client_key(config: ServiceConfig, folder: DataFolder, database: Database) -> str:
    """The key in `client.env`; the first start makes it, and so does one on a database that does not know it."""
    known = folder.client_key()
    check = KeyCheck(database)
    try:
        if known and check.access(known, note=False) is not None:
            return known
    finally:
        check.close()
    keys = KeyStore(config.resolved_database_url)
    try:
        _, key = keys.create(f"first start on {socket.gethostname() or sys.platform}", Scope.ADMIN)
    finally:
        keys.close()
    return key
