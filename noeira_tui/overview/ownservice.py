"""The catalog service on this box: starting it so that it outlives the app, and saying how to stop it."""

from __future__ import annotations

import fcntl
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from noeira_tui.core.childenv import child_environment
from noeira_tui.core.dotenv import parse_dotenv, read_dotenv
from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.core.paths import absolute
from noeira_tui.core.settings import API_KEY, URL
from noeira_tui.overview.connecting import Connection

DATA_DIR = "NOEIRA_SERVICE_DATA_DIR"
_NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "jinja2", "nanio")
_READY_WITHIN_S = 60.0
_TITLE = "Service of this box"
USUAL_PORT = 8787


@dataclass(frozen=True)
class OwnService:
    """The running service: how to reach it, its process, and where everything of it is."""

    connection: Connection
    pid: int
    data_dir: Path
    log: Path
    was_running: bool

    @property
    def stop_command(self) -> str:
        return f"kill {self.pid}"

    @property
    def start_command(self) -> str:
        """What starts it again where its clients look for it."""
        port = urlsplit(self.connection.url).port
        return "noeira-tui serve" if port == USUAL_PORT else f"noeira-tui serve --port {port}"


def service_dir(environ: Mapping[str, str], cwd: Path) -> Path:
    """Folder of the service's data: NOEIRA_SERVICE_DATA_DIR, else the platform's data folder."""
    named = environ.get(DATA_DIR, "").strip()
    if named:
        return absolute(Path(named), cwd)
    from platformdirs import user_data_path

    return user_data_path("noeira-tui") / "service"


def missing_extra() -> str | None:
    """The command that installs what a service here needs; None when it is installed."""
    if all(find_spec(name) is not None for name in _NEEDED):
        return None
    return "pip install 'noeira-tui[server]'"


def running(data_dir: Path) -> OwnService | None:
    """The service that runs on a folder already; None when none does. Raises ConfigError for a damaged client.env."""
    pid = _holder(data_dir / "serve.lock")
    lines = data_dir / "client.env"
    if pid is None or not lines.is_file():
        return None
    found = read_dotenv(lines)
    if not found.get(URL) or not found.get(API_KEY):
        return None
    return OwnService(Connection(found[URL], found[API_KEY]), pid, data_dir, data_dir / "serve.log", was_running=True)


def start(data_dir: Path) -> OwnService:
    """Run the service on a folder in a process of its own session, on loopback; the one that runs already, if one does.

    It goes on when the app, the shell and the connection end. Raises ConfigError without the extra `server`,
    StateError, with its last words, when it does not come up.
    """
    if (missing := missing_extra()) is not None:
        raise ConfigError("The catalog service is not installed here.", title="Not installed", hint=missing)
    if (here := running(data_dir)) is not None:
        return here
    log = data_dir / "serve.log"
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Its own words only: the two lines with the key go to its stdout, which is read here.
        log.touch(0o600)
        with log.open("ab") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "noeira_tui", "serve", "--data-dir", str(data_dir), "--port", _port(data_dir)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                start_new_session=True,
                cwd="/",
                env=child_environment(),
            )
    except OSError as err:
        raise StateError(f"The service cannot be started on {data_dir}: {err.strerror or err}.", title=_TITLE) from err
    connection = _announced(process, log)
    return OwnService(connection, process.pid, data_dir, log, was_running=False)


def _port(data_dir: Path) -> str:
    """The port to ask for: the one it had (0 takes that again), else the usual one where it is free."""
    if (data_dir / "service.json").exists():
        return "0"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", USUAL_PORT))
        except OSError:
            return "0"
    return str(USUAL_PORT)


def _announced(process: subprocess.Popen[bytes], log: Path) -> Connection:
    """What the service prints when it is ready; it is ended when that does not come."""
    assert process.stdout is not None
    deadline = time.monotonic() + _READY_WITHIN_S
    text = b""
    with process.stdout as stream, selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while text.count(b"\n") < 2:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                process.kill()
                process.wait()
                raise StateError(
                    f"It gave no sign of life in {_READY_WITHIN_S:.0f} s.", title=_TITLE, hint=f"See {log}."
                )
            if selector.select(left_s):
                data = os.read(stream.fileno(), 4096)
                if not data:
                    words = " ".join(log.read_text(errors="replace").strip().splitlines()[-3:])
                    raise StateError(
                        f"It ended with exit code {process.wait()}: {words or 'it said nothing'}",
                        title=_TITLE,
                        hint=f"All it said is in {log}.",
                    )
                text += data
    found = parse_dotenv(text.decode(), "the service's output")
    return Connection(found[URL], found[API_KEY])


def _holder(lock: Path) -> int | None:
    """The process that holds a service's lock; None when nobody does."""
    try:
        with lock.open("rb") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                held = stream.read(32).decode("ascii", "replace").strip()
                return int(held) if held.isdigit() else None
            return None
    except OSError:
        return None
