"""A worker process of `serve --workers N`: the application on a socket that its parent listens on.

Its configuration comes as one line of JSON on standard input, a pipe that stays open as long as the parent lives: a
password in the database's address is in no command line and no environment. Run by `noeira_tui.service.workers`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
import threading
from pathlib import Path

from fastapi import FastAPI

from noeira_tui.core.errors import NoeiraError
from noeira_tui.service.app import make_app
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.database import Database
from noeira_tui.service.logs import configure
from noeira_tui.service.metrics import Metrics
from noeira_tui.service.processes import die_with
from noeira_tui.service.serving import Server, Stop, run_loop
from noeira_tui.service.stores import store_of_worker

READY = "ready"
SHARED = "workers"
"""The folder below the data folder where the processes of one service count together."""


def main() -> int:
    """Serve until asked to stop, or until the parent is gone."""
    parser = argparse.ArgumentParser(prog="worker")
    parser.add_argument("--socket", type=int, required=True, help="number of an inherited listening socket")
    parser.add_argument("--slot", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args()
    die_with(options.parent)
    told = json.loads(sys.stdin.readline())
    config = ServiceConfig(**{**told["config"], "data_dir": Path(told["config"]["data_dir"])})
    configure(config.log_format)
    database = Database(config.resolved_database_url)
    store = store_of_worker(config, config.data_dir, told["store"], os.environ)
    shared = config.data_dir / SHARED
    try:
        app = make_app(config, database, store, Metrics(shared, options.slot), shared)
        run_loop(_serve(config, app, socket.socket(fileno=options.socket)))
    except NoeiraError as err:
        sys.stderr.write(f"{err}\n")
        return err.exit_code
    finally:
        database.close()
        store.close()
    return 0


async def _serve(config: ServiceConfig, app: FastAPI, listening: socket.socket) -> None:
    stop = Stop()
    stop.on_signals()
    loop = asyncio.get_running_loop()

    def wait_for_parent() -> None:
        # The pipe's end is the parent's: it stops us by a signal, so this is its death.
        sys.stdin.read()
        loop.call_soon_threadsafe(stop.ask)

    threading.Thread(target=wait_for_parent, name="parent", daemon=True).start()

    def started() -> None:
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()

    await Server(app, config, started).serve_until(stop, listening)


if __name__ == "__main__":
    sys.exit(main())
