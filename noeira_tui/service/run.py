"""Running the service in this process and its object store beside it, until a signal says stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator

import uvicorn
from sqlalchemy.exc import DBAPIError

from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.service.app import make_app
from noeira_tui.service.config import ServiceConfig, ServiceReady, StoreKeys
from noeira_tui.service.database import Database
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.keys import KeyCheck, KeyStore, Scope
from noeira_tui.service.objectstore import EmbeddedStore
from noeira_tui.service.presign import Signer
from noeira_tui.service.sockets import http_address, listen, port_of
from noeira_tui.service.store import ObjectStore, StoreError
from noeira_tui.service.sweeper import Sweeper

_log = logging.getLogger("noeira_tui.service")
_WATCH_EVERY_S = 0.25
_SWEEP_EVERY_S = 3600.0
_RESTARTS = 5
_RESTARTS_WITHIN_S = 60.0


def serve(config: ServiceConfig, announce: Callable[[ServiceReady], None]) -> None:
    """Run until SIGINT or SIGTERM; `announce` is called once, when both the service and its store answer.

    Raises ConfigError for a port in use or a folder that cannot be written, StateError when another service has the
    folder, or when the object store ends again and again.
    """
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
    with _stores(config, folder) as (embedded, store):
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
            server = Server(make_app(config, database, store), lambda: announce(ready))
            asyncio.run(_serve(server, listening, embedded, Sweeper(config, database, store)))
        finally:
            database.close()


class Server(uvicorn.Server):
    """uvicorn with our own handling of signals, and a call when it listens."""

    def __init__(self, app: object, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,  # type: ignore[arg-type]  # uvicorn's own union of application types
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=5,
                backlog=2048,
            )
        )
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._started()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(server: Server, listening: socket.socket, embedded: EmbeddedStore | None, sweeper: Sweeper) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        # A second signal does not wait for requests in flight.
        server.force_exit = server.should_exit
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # `nohup` says that a hang-up is to be ignored.
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop)
    watching = asyncio.create_task(_keep_alive(server, embedded)) if embedded is not None else None
    sweeping = asyncio.create_task(_keep_swept(sweeper))
    try:
        await server.serve([listening])
    finally:
        server.should_exit = True
        sweeping.cancel()
        if watching is not None:
            await watching


async def _keep_swept(sweeper: Sweeper) -> None:
    while True:
        try:
            await asyncio.to_thread(sweeper.sweep)
        except (StoreError, DBAPIError, OSError) as err:
            _log.warning("sweeping again later: %s", err)
        await asyncio.sleep(_SWEEP_EVERY_S)


async def _keep_alive(server: Server, embedded: EmbeddedStore) -> None:
    """Start a store again that ended unexpectedly; after too often, stop the service and raise StateError."""
    ended: list[float] = []
    while not server.should_exit:
        await asyncio.sleep(_WATCH_EVERY_S)
        code = embedded.exit_code
        if code is None or server.should_exit:
            continue
        moment = time.monotonic()
        ended = [*(at for at in ended if moment - at < _RESTARTS_WITHIN_S), moment]
        if len(ended) > _RESTARTS:
            server.should_exit = True
            raise StateError(
                f"The object store ended {len(ended)} times within {_RESTARTS_WITHIN_S:.0f} s (last exit {code}).",
                title="Object store",
                hint="See store.log in the data folder.",
            )
        _log.warning("the object store ended (exit %s); starting it again", code)
        embedded.spawn()
        try:
            await asyncio.to_thread(embedded.wait_until_ready)
        except StateError as err:
            _log.error("%s", err)


@contextlib.contextmanager
def _stores(config: ServiceConfig, folder: DataFolder) -> Iterator[tuple[EmbeddedStore | None, ObjectStore]]:
    if config.s3_endpoint is not None:
        keys = StoreKeys.from_environ(os.environ)
        signer = Signer(keys.access_key, keys.secret_key, config.region)
        store = ObjectStore(config.s3_endpoint, config.bucket, signer, config.public_endpoint)
        try:
            store.make_bucket()
        except StoreError as err:
            raise ConfigError(err.message, title="Object store", hint=err.hint) from err
        yield None, store
        store.close()
        return
    embedded = EmbeddedStore(config, folder)
    try:
        embedded.start()
        store = embedded.client
        store.make_bucket()
        yield embedded, store
        store.close()
    finally:
        embedded.stop()


def _client_key(config: ServiceConfig, folder: DataFolder, database: Database) -> str:
    """The key in `client.env`; the first start makes it, and so does one on a database that does not know it."""
    known = folder.client_key()
    if known and KeyCheck(database).access(known) is not None:
        return known
    keys = KeyStore(config.resolved_database_url)
    try:
        _, key = keys.create(f"first start on {socket.gethostname() or sys.platform}", Scope.ADMIN)
    finally:
        keys.close()
    return key
