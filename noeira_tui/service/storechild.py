"""The process of the embedded object store: nanio on a socket the service already listens on, for one folder.

It dies with the service in three ways: asked to (SIGTERM), by the kernel (Linux tells a child that its parent is gone),
and because its standard input, a pipe of the service's, comes to its end. It holds a lock on its folder, so that there
are never two. Run by `noeira_tui.service.objectstore`, with the key pair in the environment.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import socket
import sys
import threading
import time
from pathlib import Path

from noeira_tui.core.files import write_atomically
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.service.heads import KEEP_ALIVE_S, http_protocol
from noeira_tui.service.processes import die_with, to_notes

_log = logging.getLogger("noeira_tui.service")
READY = "ready"
LOCKED_EXIT = 75
_LOCK_PATIENCE_S = 8.0


def main() -> int:
    """Serve until the end; LOCKED_EXIT when another store holds the folder."""
    parser = argparse.ArgumentParser(prog="object store")
    parser.add_argument("--socket", type=int, required=True, help="number of an inherited listening socket")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where its lock and its number are kept")
    parser.add_argument("--parent", type=int, default=0, help="die when this process, our parent, does")
    options = parser.parse_args()

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if options.parent:
        die_with(options.parent)
    threading.Thread(target=_die_with_pipe, name="parent", daemon=True).start()
    lock = _locked(options.folder / "store.lock")
    if lock is None:
        return LOCKED_EXIT
    _remove_leftovers(options.data_dir)
    try:
        write_atomically(options.folder / "store.pid", json.dumps(to_notes(ProcessOwner.me())).encode(), mode=0o600)
    except OSError as err:
        # A full disk must not keep anyone from reading. The lock keeps a second store away all the same. Our standard
        # error is a file on that disk: a log survives that it cannot be written.
        _log.warning("store.pid cannot be written: %s", err)
    _serve(socket.socket(fileno=options.socket), options.data_dir)
    return 0


def _die_with_pipe() -> None:
    while os.read(0, 1):
        continue
    os._exit(0)


def _locked(path: Path) -> int | None:
    """Hold the folder's lock until this process ends; None when another store keeps it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(fd)
                return None
            time.sleep(0.05)


def _remove_leftovers(data_dir: Path) -> None:
    """Remove what a killed store had staged: never objects, and a staged note would block its key for ever."""
    for bucket in data_dir.iterdir() if data_dir.is_dir() else ():
        if bucket.name.startswith(".") or not bucket.is_dir():
            continue
        notes = bucket / ".nanio-meta"
        for staged in (*bucket.glob(".tmp.*"), *notes.glob(".tmp.*"), *notes.glob("*.json.tmp")):
            staged.unlink(missing_ok=True)


def _serve(listening: socket.socket, data_dir: Path) -> None:
    import uvicorn
    from starlette.middleware import Middleware

    os.environ["NANIO_DATA_DIR"] = str(data_dir)
    from nanio.app import build_app

    from noeira_tui.service.shelf import Shelf
    from noeira_tui.service.storeguard import StoreGuard
    from noeira_tui.service.storeranges import Ranges

    class Store(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            sys.stdout.write(f"{READY}\n")
            sys.stdout.flush()

    app = build_app()
    app.state.storage = Shelf(data_dir)
    # Behind the check of signatures.
    app.user_middleware.append(Middleware(Ranges, folder=data_dir))
    config = uvicorn.Config(
        StoreGuard(app),
        http=http_protocol(),
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=3,
    )
    Store(config).run(sockets=[listening])


if __name__ == "__main__":
    sys.exit(main())
