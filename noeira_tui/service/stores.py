"""The object store a service works with: its own, run beside it, or one outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.service.config import ServiceConfig, StoreKeys
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.folderstore import FolderStore
from noeira_tui.service.objectstore import EmbeddedStore
from noeira_tui.service.presign import Signer
from noeira_tui.service.sockets import http_address
from noeira_tui.service.store import ObjectStore
from noeira_tui.service.storeprobe import try_out
from noeira_tui.service.storerefusal import StoreError


@contextmanager
def running_store(
    config: ServiceConfig, folder: DataFolder, environ: Mapping[str, str]
) -> Iterator[tuple[EmbeddedStore | None, ObjectStore]]:
    """The store, with its bucket made; the embedded one runs until the context ends.

    Raises MissingSettingError without a key pair for an outside store, ConfigError when that one refuses or gives no
    answer, StateError when the embedded one does not come up.
    """
    if config.s3_endpoint is not None:
        store = outside_store(config, environ)
        try:
            try:
                store.make_bucket()
            except StoreError as err:
                raise ConfigError(err.message, title="Object store", hint=err.hint) from err
            try_out(store)
            yield None, store
        finally:
            store.close()
        return
    embedded = EmbeddedStore(config, folder)
    try:
        embedded.start()
        own = embedded.client
        own.make_bucket()
        yield embedded, own
        own.close()
    finally:
        embedded.stop()


def outside_store(config: ServiceConfig, environ: Mapping[str, str]) -> ObjectStore:
    """The client of the outside store that the configuration names. Raises MissingSettingError without its keys."""
    keys = StoreKeys.from_environ(environ)
    return ObjectStore(
        config.s3_endpoint or "",
        config.bucket,
        Signer(keys.access_key, keys.secret_key, config.region),
        config.public_endpoint,
        style=config.s3_style,
        hash_up_to_bytes=config.hash_up_to_bytes,
    )


def store_of_worker(
    config: ServiceConfig, folder: Path, notes: Mapping[str, object], environ: Mapping[str, str]
) -> ObjectStore:
    """The client of a worker process for a store that its parent runs or has checked; `notes` is `store.json`."""
    if config.s3_endpoint is not None:
        return outside_store(config, environ)
    access, secret, port = notes.get("access_key"), notes.get("secret_key"), notes.get("port")
    if not (isinstance(access, str) and isinstance(secret, str) and isinstance(port, int)):
        raise StateError(f"{folder / 'store.json'} tells no store.", title="Data folder")
    host = "127.0.0.1" if config.listens_everywhere else config.host
    signer = Signer(access, secret, config.region)
    return FolderStore(
        http_address(host, port),
        config.bucket,
        signer,
        folder / "objects",
        config.hash_up_to_bytes,
        config.public_endpoint,
    )
