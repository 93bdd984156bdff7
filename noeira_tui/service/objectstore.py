"""The embedded object store: nanio in a process of its own, keeping objects as plain files below the data folder.

The service listens on the store's port itself and hands the socket to the store's process, so a store that is started
again keeps its port, and clients that connect meanwhile wait instead of being refused.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from noeira_tui.core.errors import StateError
from noeira_tui.service.config import ENVIRONMENT_PREFIX, ServiceConfig, StoreKeys
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.folderstore import FolderStore
from noeira_tui.service.presign import Signer
from noeira_tui.service.processes import end, first_line, from_notes
from noeira_tui.service.sockets import http_address, listen, port_of
from noeira_tui.service.storechild import LOCKED_EXIT, READY

_START_PATIENCE_S = 20.0
_LOG_BYTES = 1024**2


class EmbeddedStore:
    """The store's process and where to reach it.

    `start` it from a thread that lives as long as the store should: on Linux the kernel ends it with that thread's
    process, and elsewhere the end of a pipe does.
    """

    def __init__(self, config: ServiceConfig, folder: DataFolder) -> None:
        self._config = config
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._listening: socket.socket | None = None
        self.objects = folder.path / "objects"
        self.secret_file = folder.path / "store.json"
        self.keys = StoreKeys("", "")
        self.port = 0

    @property
    def endpoint(self) -> str:
        """Where the service reaches it, and clients too unless the service listens on every address."""
        return http_address("127.0.0.1" if self._config.listens_everywhere else self._config.host, self.port)

    @property
    def client(self) -> FolderStore:
        signer = Signer(self.keys.access_key, self.keys.secret_key, self._config.region)
        return FolderStore(
            self.endpoint,
            self._config.bucket,
            signer,
            self.objects,
            self._config.hash_up_to_bytes,
            self._config.public_endpoint,
        )

    def start(self) -> None:
        """End a store that outlived its service, take its port, and start.

        Raises StateError when the store does not come up, ConfigError when there is no port for it.
        """
        self._end_stale()
        notes = self._folder.read_json("store.json")
        access, secret, port = notes.get("access_key"), notes.get("secret_key"), notes.get("port")
        known = isinstance(access, str) and isinstance(secret, str) and access and secret
        self.keys = (
            StoreKeys(str(access), str(secret))
            if known
            else StoreKeys(f"noeira{secrets.token_hex(7)}", secrets.token_urlsafe(30))
        )
        self._listening = listen(self._config.host, self._ports(port), f"{ENVIRONMENT_PREFIX}STORE_PORT")
        self.port = port_of(self._listening)
        if not known or port != self.port:
            self._folder.write_json(
                "store.json",
                {"access_key": self.keys.access_key, "secret_key": self.keys.secret_key, "port": self.port},
            )
        self.objects.mkdir(mode=0o700, exist_ok=True)
        self.spawn()
        self.wait_until_ready()

    def _ports(self, before: object) -> list[int]:
        """The port that the settings name, else that of last time when it is free."""
        if self._config.store_port:
            return [self._config.store_port]
        return [before, 0] if isinstance(before, int) else [0]

    def spawn(self) -> None:
        """Start the process on the socket; `wait_until_ready` tells when it answers."""
        assert self._listening is not None, "start() makes the socket"
        self._close_pipes()
        command = [
            sys.executable, "-m", "noeira_tui.service.storechild",
            "--socket", str(self._listening.fileno()),
            "--data-dir", str(self.objects),
            "--folder", str(self._folder.path),
        ]  # fmt: skip
        if threading.current_thread() is threading.main_thread():
            # The kernel's signal is bound to the thread that started the child: only the main one lasts.
            command += ["--parent", str(os.getpid())]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("NANIO_", "AWS_"))}
        environment |= {"NANIO_ACCESS_KEY": self.keys.access_key, "NANIO_SECRET_KEY": self.keys.secret_key}
        with self._log() as log:
            # A session of its own: ctrl+C in the terminal is for the service, which stops the store after itself.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                pass_fds=[self._listening.fileno()],
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        """Wait for the process to answer. Raises StateError when it ends or says nothing for 20 s."""
        process = self._process
        assert process is not None, "spawn() comes first"
        said = first_line(process, _START_PATIENCE_S)
        if said == READY:
            return
        if said is None:
            process.kill()
            why = f"The object store did not answer within {_START_PATIENCE_S:.0f} s."
        else:
            why = self._why(process.wait())
        raise StateError(why, title="Object store", hint=f"See {self._folder.path / 'store.log'}.")

    @property
    def title(self) -> str:
        return "object store"

    @property
    def exit_code(self) -> int | None:
        """How its process ended; None while it runs."""
        return self._process.poll() if self._process is not None else None

    def stop(self) -> None:
        """Let requests in flight end for a moment, then end the process and let go of the port."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._close_pipes()
            self._process = None
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout) if self._process is not None else ():
            if pipe is not None:
                pipe.close()

    def _end_stale(self) -> None:
        former = from_notes(self._folder.read_json("store.pid"))
        if former is not None and not end(former):
            raise StateError(
                f"A former object store (process {former.pid}) still holds {self.objects} and cannot be ended.",
                title="Object store",
                hint=f"End process {former.pid}, then start again.",
            )

    def _log(self) -> IO[bytes]:
        path: Path = self._folder.path / "store.log"
        if path.exists() and path.stat().st_size > _LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def _why(self, code: int) -> str:
        if code == LOCKED_EXIT:
            return f"Another object store holds {self.objects}."
        return f"The object store ended at its start (exit {code})."
