"""The folder a service keeps everything in, and who may use it: one running service at a time.

```
serve.lock     held by the running service; says its process
service.json   the port it had last time
client.env     the two lines a client pastes (owner only)
service.db     the database, unless another one is named
store.json     key pair and port of the embedded object store (owner only)
store.lock     held by the embedded store's process; store.pid says which
store.log      what the store complained about
objects/       the objects, as plain files
workers/       where several worker processes count together; made anew at every start
```
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from pathlib import Path

from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.errors import ConfigError, StateError
from noeira_tui.core.files import write_atomically
from noeira_tui.core.settings import API_KEY, URL

_log = logging.getLogger("noeira_tui.service")


class DataFolder:
    """The data folder of a service. Making one makes the folder; raises ConfigError when that or writing is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.client_env = self.path / "client.env"
        self._lock: int | None = None
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(self.path / ".writable", b"")
            (self.path / ".writable").unlink(missing_ok=True)
        except OSError as err:
            raise ConfigError(
                f"The data folder {self.path} cannot be written: {err.strerror or err}.",
                hint="Name a folder of yours with --data-dir.",
            ) from err

    def lock(self) -> None:
        """Take the folder for this process until `unlock`. Raises StateError when another service has it."""
        fd = os.open(self.path / "serve.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as err:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
            os.close(fd)
            raise StateError(
                f"Another service runs on {self.path}" + (f" (process {holder})." if holder else "."),
                title="Data folder in use",
                hint="Stop it first, or name another folder with --data-dir.",
            ) from err
        except OSError as err:
            os.close(fd)
            raise StateError(f"{self.path} cannot be locked: {err.strerror or err}.", title="Data folder") from err
        self._lock = fd
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as err:
            # It is held, which is what counts; a full disk only keeps it from saying by whom.
            _log.warning("%s says nothing: %s", self.path / "serve.lock", err)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remembered_port(self) -> int | None:
        """The port the service had last time, None on the first start."""
        port = self.read_json("service.json").get("port")
        return port if isinstance(port, int) and 0 < port < 65536 else None

    def remember_port(self, port: int) -> None:
        if self.remembered_port() != port:
            self.write_json("service.json", {"port": port})

    def client_key(self) -> str | None:
        """The API key in `client.env`, None when there is no such file or no key in it."""
        return read_dotenv(self.client_env).get(API_KEY) if self.client_env.exists() else None

    def write_client(self, url: str, api_key: str) -> tuple[str, str]:
        """Keep the two lines a client pastes, readable by the owner only; they are returned."""
        lines = (f"{URL}={url}", f"{API_KEY}={api_key}")
        data = "".join(f"{line}\n" for line in lines).encode()
        if not self.client_env.exists() or self.client_env.read_bytes() != data:
            self._write(self.client_env, data)
        return lines

    def read_json(self, name: str) -> dict[str, object]:
        """A small file of the folder; empty when it does not exist. Raises StateError for one that is damaged."""
        path = self.path / name
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as err:
            raise StateError(
                f"{path} cannot be read: {err}.", title="Data folder", hint="Restore it from a backup, or remove it."
            ) from err
        return data if isinstance(data, dict) else {}

    def write_json(self, name: str, data: dict[str, object]) -> None:
        """Replace a small file of the folder, readable by the owner only. Raises StateError."""
        try:
            self._write(self.path / name, json.dumps(data).encode())
        except OSError as err:
            raise StateError(f"{self.path / name} cannot be written: {err}.", title="Data folder") from err

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        write_atomically(path, data, mode=0o600)
