"""Places a dataset can be at, for tests that look at one dataset everywhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.objectstore import EmbeddedStore
from tests.support.datasets_http import Counted, CountingProxy
from tests.support.waiting import until

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Real datasets beside the repository; tests that need them are skipped where they are not."""


@dataclass(frozen=True)
class S3Store:
    """An S3 store behind a counting proxy; `direct` is behind the proxy. `environ` are the settings for reading."""

    endpoint: str
    direct: str
    access_key: str
    secret_key: str = field(repr=False)
    counted: Counted = field(repr=False)
    objects: Path | None = None

    @property
    def environ(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
        }

    def put_tree(self, folder: Path, bucket: str, prefix: str) -> None:
        """Upload every file below a folder."""
        import boto3
        from botocore.config import Config

        client = boto3.client(
            "s3",
            endpoint_url=self.direct,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
            config=Config(request_checksum_calculation="when_required", s3={"addressing_style": "path"}),
        )
        names = {one["Name"] for one in client.list_buckets()["Buckets"]}
        if bucket not in names:
            client.create_bucket(Bucket=bucket)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                client.put_object(Bucket=bucket, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())
        self.counted.reset()

    def link_tree(self, folder: Path, bucket: str, prefix: str) -> None:
        """Make every file below a folder an object, by copying it to where the embedded store keeps objects."""
        assert self.objects is not None
        shutil.copytree(folder, self.objects / bucket / prefix, dirs_exist_ok=True)
        self.counted.reset()


@contextmanager
def running_nanio(folder: Path) -> Iterator[S3Store]:
    """The embedded object store, alone."""
    store = EmbeddedStore(ServiceConfig(data_dir=folder, port=0), DataFolder(folder))
    store.start()
    try:
        with CountingProxy(store.endpoint) as proxy:
            keys = store.keys
            yield S3Store(proxy.url, store.endpoint, keys.access_key, keys.secret_key, proxy.counted, store.objects)
    finally:
        store.stop()


@contextmanager
def running_gcs(folder: Path) -> Iterator[str]:
    """A Google Cloud Storage emulator over a folder whose first level are the buckets; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = (
        "from gcp_storage_emulator.server import create_server as make\n"
        f"make('127.0.0.1', {port}, in_memory=True).run()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _answers(port), deadline_s=20, what="the emulator's start")
        address = f"http://127.0.0.1:{port}"
        _fill_gcs(address, folder)
        yield address
    finally:
        process.kill()
        process.wait(10)


def _fill_gcs(address: str, folder: Path) -> None:
    import httpx

    for bucket in folder.iterdir():
        httpx.post(f"{address}/storage/v1/b", json={"name": bucket.name}, params={"project": "p"}).raise_for_status()
        for path in bucket.rglob("*"):
            if path.is_file():
                name = str(path.relative_to(bucket))
                httpx.post(
                    f"{address}/upload/storage/v1/b/{bucket.name}/o",
                    params={"uploadType": "media", "name": name},
                    content=path.read_bytes(),
                    headers={"Content-Type": "application/octet-stream"},
                ).raise_for_status()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def writable_copy(folder: Path, into: Path) -> Path:
    """A copy whose files may be changed; the real datasets are read-only."""
    shutil.copytree(folder, into)
    for path in (into, *into.rglob("*")):
        os.chmod(path, 0o755 if path.is_dir() else 0o644)  # noqa: PTH101
    return into
