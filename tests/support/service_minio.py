"""MinIO's S3 gateway over a folder (`juicefs gateway`), as an outside object store for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from noeira_tui.service.config import StoreKeys
from tests.support.service_process import ends_with_us, until

KEYS = StoreKeys("tests-access-key", "tests-secret-key")
DOMAIN = "s3.localhost"


class Minio:
    """One gateway on one loopback port, stopped and started again at will."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self._meta = f"sqlite3://{folder / 'meta.db'}"
        made = subprocess.run(
            [program, "format", "--storage", "file", "--bucket", f"{folder / 'blocks'}/", self._meta, "tests",
             "--trash-days", "0"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host_style_endpoint(self) -> str:
        """An address below which every bucket is a host name of its own; names under localhost are this machine."""
        return f"http://{DOMAIN}:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [self._program, "gateway", "--no-banner", "--multi-buckets", "--no-usage-report", "--no-bgjob",
             "--cache-dir", str(self._folder / "cache"), "--log", str(self._folder / "gateway.log"),
             "--domain", DOMAIN, "--backup-meta", "0", self._meta, f"127.0.0.1:{self.port}"],
            env={**os.environ, "MINIO_ROOT_USER": KEYS.access_key, "MINIO_ROOT_PASSWORD": KEYS.secret_key,
                 "HOME": str(self._folder)},
            stdout=subprocess.DEVNULL, stderr=(self._folder / "stderr.log").open("ab"), start_new_session=True,
            preexec_fn=ends_with_us,  # noqa: PLW1509  the child only asks its kernel
        )  # fmt: skip
        until(self._answers, "the object store answers", patience_s=60)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "stderr.log").read_text()
        try:
            return httpx.get(f"{self.endpoint}/minio/health/live", verify=False).status_code == 200
        except httpx.HTTPError:
            return False


def minio_program() -> str | None:
    """The gateway's program; None where it is not installed."""
    beside = Path(sys.executable).parent / "juicefs"
    return str(beside) if beside.exists() else shutil.which("juicefs")


@contextmanager
def running_minio() -> Iterator[Minio]:
    """A started gateway, gone with all its data at the end."""
    program = minio_program()
    assert program is not None, "see minio_program()"
    folder = Path(tempfile.mkdtemp(prefix="minio-"))
    server = Minio(program, folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
