"""A catalog service for tests: the application on a thread of this process, the object store in its own process.

Without more it runs on SQLite and the embedded store; `database_url` and `outside` put it on other ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvicorn

from noeira_tui.service.app import make_app
from noeira_tui.service.config import ServiceConfig, StoreKeys
from noeira_tui.service.database import Database
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.heads import KEEP_ALIVE_S, http_protocol
from noeira_tui.service.keys import KeyStore, Scope
from noeira_tui.service.objectstore import EmbeddedStore
from noeira_tui.service.sockets import http_address, listen, port_of
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.stores import outside_store


@dataclass(frozen=True)
class RunningService:
    """Where a service is and how to use it. `key` is an admin key; `new_key` makes others."""

    url: str
    key: str = field(repr=False)
    store_endpoint: str
    bucket: str
    store_access_key: str
    store_secret_key: str = field(repr=False)
    data_dir: Path
    config: ServiceConfig
    keys: KeyStore = field(repr=False)
    database: Database = field(repr=False)
    store: ObjectStore = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def environ(self) -> dict[str, str]:
        """The two settings a client needs."""
        return {"NOEIRA_CLOUD_URL": self.url, "NOEIRA_CLOUD_API_KEY": self.key}

    def stored(self) -> dict[str, bytes]:
        """Everything in the bucket, asked of the store itself."""
        import boto3

        client = boto3.client(
            "s3",
            endpoint_url=self.store_endpoint,
            region_name=self.config.region,
            aws_access_key_id=self.store_access_key,
            aws_secret_access_key=self.store_secret_key,
        )
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
        found: dict[str, bytes] = {}
        for key in keys:
            try:
                found[key] = client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
            except client.exceptions.NoSuchKey:
                # Spare objects are removed by and by.
                continue
        return found

    def new_key(self, scope: str = Scope.WRITE, project: str | None = None, name: str = "test") -> str:
        return self.keys.create(name, scope, project)[1]


@dataclass(frozen=True)
class OutsideStore:
    """An S3 store that the service does not run itself."""

    endpoint: str
    keys: StoreKeys
    bucket: str = "tests"
    style: str = "path"


@contextmanager
def running_service(
    folder: Path, config: ServiceConfig | None = None, *, outside: OutsideStore | None = None
) -> Iterator[RunningService]:
    """A service on free loopback ports that keeps everything below `folder`, ready when the context is entered."""
    config = replace(config, data_dir=folder) if config is not None else ServiceConfig(data_dir=folder, port=0)
    if outside is not None:
        config = replace(config, s3_endpoint=outside.endpoint, s3_bucket=outside.bucket, s3_style=outside.style)
    with _store(config, DataFolder(folder), outside) as (store, store_keys):
        keys = KeyStore(config.resolved_database_url)
        database = Database(config.resolved_database_url)
        try:
            store.make_bucket()
            _, key = keys.create("tests", Scope.ADMIN)
            with _threaded(make_app(config, database, store), config) as url:
                yield RunningService(
                    url=url,
                    key=key,
                    store_endpoint=store.endpoint,
                    bucket=config.bucket,
                    store_access_key=store_keys.access_key,
                    store_secret_key=store_keys.secret_key,
                    data_dir=folder,
                    config=config,
                    keys=keys,
                    database=database,
                    store=store,
                )
        finally:
            keys.close()
            database.close()


@contextmanager
def _store(
    config: ServiceConfig, data: DataFolder, outside: OutsideStore | None
) -> Iterator[tuple[ObjectStore, StoreKeys]]:
    if outside is not None:
        environ = {"AWS_ACCESS_KEY_ID": outside.keys.access_key, "AWS_SECRET_ACCESS_KEY": outside.keys.secret_key}
        store = outside_store(config, environ)
        yield store, outside.keys
        store.close()
        return
    embedded = EmbeddedStore(config, data)
    embedded.start()
    own = embedded.client
    try:
        yield own, embedded.keys
    finally:
        embedded.stop()
        own.close()


@contextmanager
def _threaded(app: object, config: ServiceConfig) -> Iterator[str]:
    listening = listen(config.host, [config.port])
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=http_protocol(),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="service", daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while not server.started:
            assert thread.is_alive() and time.monotonic() < deadline, "the service did not start"
            time.sleep(0.005)
        yield http_address(config.host, port_of(listening))
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
