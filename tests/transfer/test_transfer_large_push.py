"""(b) 4: a push over the limit of one PUT, with a small limit, against real stores that take uploads in parts."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import boto3
import pytest

from noeira_tui import RemoteCatalog
from noeira_tui.catalog.wire import RowStatus, ServiceFacts
from noeira_tui.core.errors import CancelledError, NoeiraError, StorageRefusedError, TransferError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import Settings
from noeira_tui.transfer.boxs3 import find_box_s3
from noeira_tui.transfer.facts import FileStamp, TransferContext
from noeira_tui.transfer.objectplace import ObjectPlace
from tests.support.service_fixture import RunningService

LIMIT = 6 << 20
SIZE = 20_000_000


@pytest.fixture(params=["service", "minio_service"], ids=["nanio", "minio"])
def store(request: pytest.FixtureRequest) -> RunningService:
    return request.getfixturevalue(request.param)


@pytest.fixture
def catalog(store: RunningService, root: Path, monkeypatch: pytest.MonkeyPatch) -> RemoteCatalog:
    for name, value in store.environ.items():
        monkeypatch.setenv(name, value)
    # Without keys the chain would end in asking the machine's provider.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return RemoteCatalog(Settings.load(root=root), context=TransferContext(single_put_limit_bytes=LIMIT))


@pytest.fixture
def file(root: Path) -> Path:
    path = root / "large set.h5"
    path.write_bytes(os.urandom(SIZE))
    return path


def give_keys(store: RunningService, monkeypatch: pytest.MonkeyPatch, secret: str | None = None) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", store.store_access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret or store.store_secret_key)


def name() -> str:
    return f"d{uuid4().hex[:10]}"


def unfinished(store: RunningService) -> list[str]:
    """Uploads in parts that the store still remembers."""
    client = boto3.client(
        "s3",
        endpoint_url=store.store_endpoint,
        region_name="us-east-1",
        aws_access_key_id=store.store_access_key,
        aws_secret_access_key=store.store_secret_key,
    )
    return [one["Key"] for one in client.list_multipart_uploads(Bucket=store.bucket).get("Uploads", [])]


def test_with_credentials(
    store: RunningService, catalog: RemoteCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it goes is known from the service alone: no endpoint and no region are set."""
    give_keys(store, monkeypatch)
    progress = Progress()
    done = catalog.push(file, name=name(), progress=progress)
    assert (done.sha256, done.size_bytes, done.bytes_transferred) == (
        hashlib.sha256(file.read_bytes()).hexdigest(),
        SIZE,
        SIZE,
    )
    assert progress.snapshot().bytes_done == SIZE
    assert catalog.describe(done.id).sha256 == done.sha256
    assert catalog.pull(done.id).read_bytes() == file.read_bytes()
    assert unfinished(store) == []
    assert catalog.push(file, name=done.id.removesuffix("-v1")).bytes_transferred == 0


@pytest.mark.parametrize("tool", ["aws", "rclone"])
def test_without_credentials_the_commands_work(
    store: RunningService, catalog: RemoteCatalog, file: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not read; what the error says, typed into a shell with keys, publishes it."""
    called = name()
    with monkeypatch.context() as patch:
        patch.setattr(catalog.hashes, "digest", None)
        with pytest.raises(TransferError) as caught:
            catalog.push(file, name=called)
    assert caught.value.title == "Too large for one PUT"
    assert f"{SIZE:,}" in caught.value.message and f"{LIMIT:,}" in caught.value.message
    aws, rclone, complete = re.findall(r"`([^`]+)`", caught.value.hint)
    [row] = [row for row in catalog.list() if row.name == called]
    assert row.status is RowStatus.PENDING
    assert aws.startswith(f"aws s3 cp '{file}' s3://{store.bucket}/")
    assert f" --endpoint-url {store.store_endpoint}" in aws
    give_keys(store, monkeypatch)
    if shutil.which(tool) is None or shutil.which("curl") is None:
        pytest.skip(f"no {tool} or no curl to try the commands with")
    for command in (aws if tool == "aws" else rclone, complete):
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
    assert catalog.describe(row.id).sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert catalog.pull(row.id).read_bytes() == file.read_bytes()


def test_service_that_takes_no_parts(catalog: RemoteCatalog, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said before anything is hashed or registered."""
    monkeypatch.setattr(catalog.client, "_facts", ServiceFacts())
    monkeypatch.setattr(catalog.hashes, "digest", None)
    before = catalog.list()
    with pytest.raises(TransferError, match="one PUT may carry") as caught:
        catalog.push(file, name=name())
    assert "Split it" in caught.value.hint
    assert catalog.list() == before


def test_without_credentials_what_is_there_is_not_sent(
    store: RunningService, catalog: RemoteCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(file, (1_000_000_000, 1_000_000_000))
    with monkeypatch.context() as patch:
        give_keys(store, patch)
        done = catalog.push(file, name=name())
        catalog.hashes.remember(file, done.sha256, FileStamp.of(file.stat()))
    again = catalog.push(file, name=done.id.removesuffix("-v1"))
    assert (again.bytes_transferred, again.sha256) == (0, done.sha256)


def test_wrong_credentials(
    store: RunningService, catalog: RemoteCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_keys(store, monkeypatch, secret="wrong-secret-key")
    with pytest.raises(StorageRefusedError) as caught:
        catalog.push(file, name=name())
    assert caught.value.status == 403
    assert "wrong-secret-key" not in f"{caught.value}{caught.value.__context__!r}"
    assert unfinished(store) == []


def test_endpoint_that_does_not_answer(
    store: RunningService, catalog: RemoteCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual variables go before what the service says."""
    give_keys(store, monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(TransferError, match=r"127\.0\.0\.1:9"):
        catalog.push(file, name=name())


def test_cancelled_half_way_leaves_no_parts(
    store: RunningService, catalog: RemoteCatalog, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_keys(store, monkeypatch)
    cancel, stopped = CancelToken(), threading.Event()

    class Limit:
        """Lets the first part go, and then none."""

        left = 9 << 20

        def take(self, size_bytes: int, cancel: CancelToken) -> None:
            self.left -= size_bytes
            while self.left < 0:
                stopped.set()
                cancel.sleep(0.02)

    catalog = RemoteCatalog(catalog.settings, context=TransferContext(limit=Limit(), single_put_limit_bytes=LIMIT))
    caught: list[NoeiraError] = []
    called = name()

    def run() -> None:
        try:
            catalog.push(file, name=called, cancel=cancel)
        except NoeiraError as err:
            caught.append(err)

    thread = threading.Thread(target=run)
    thread.start()
    assert stopped.wait(20)
    assert len(unfinished(store)) == 1
    began = time.monotonic()
    cancel.cancel()
    thread.join(20)
    assert time.monotonic() - began < 5
    assert [type(error) for error in caught] == [CancelledError]
    assert unfinished(store) == []
    assert [row.status for row in catalog.list() if row.name == called] == [RowStatus.PENDING]


def test_botocore_is_loaded_only_when_it_is_needed(root: Path) -> None:
    code = "import sys, noeira_tui.catalog.remote, noeira_tui.transfer.upload; print('botocore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


SIGNED = "X-Amz-Credential=AKID%2F20260101%2F{region}%2Fs3%2Faws4_request&X-Amz-Signature=s"


@pytest.mark.parametrize(
    ("url", "endpoint", "region"),
    [
        ("https://a.r2.cloudflarestorage.com/b/k/x.h5?" + SIGNED.format(region="auto"),
         "https://a.r2.cloudflarestorage.com", "auto"),
        ("http://127.0.0.1:9000/b/k/x.h5?" + SIGNED.format(region="us-east-1"), "http://127.0.0.1:9000", "us-east-1"),
        ("https://host/store/b/k/x.h5", "https://host/store", None),
        ("https://b.s3.example.org:444/k/x.h5", "https://s3.example.org:444", None),
        ("https://b.s3.eu-west-1.amazonaws.com/k/x.h5?" + SIGNED.format(region="eu-west-1"), None, "eu-west-1"),
        ("https://s3.eu-west-1.amazonaws.com/b/k/x.h5", None, None),
        ("https://cdn.example.org/elsewhere", None, None),
    ],
)  # fmt: skip
def test_place_behind_a_url(url: str, endpoint: str | None, region: str | None) -> None:
    assert ObjectPlace.behind(url, "b", "k/x.h5") == ObjectPlace("b", "k/x.h5", endpoint, region)


R2 = ObjectPlace("bucket", "k/x.h5", "https://a.r2.cloudflarestorage.com", "auto")
AMAZON = ObjectPlace("bucket", "k/x.h5", None, None)


@pytest.mark.parametrize(
    ("place", "environ", "url", "region"),
    [
        (R2, {}, "https://a.r2.cloudflarestorage.com/bucket/k/x.h5", "auto"),
        (R2, {"AWS_REGION": "weur"}, "https://a.r2.cloudflarestorage.com/bucket/k/x.h5", "weur"),
        (R2, {"AWS_DEFAULT_REGION": "enam"}, "https://a.r2.cloudflarestorage.com/bucket/k/x.h5", "enam"),
        (R2, {"AWS_ENDPOINT_URL": "http://inside:9000"}, "http://inside:9000/bucket/k/x.h5", "auto"),
        (R2, {"AWS_S3_ADDRESSING_STYLE": "virtual"}, "https://bucket.a.r2.cloudflarestorage.com/k/x.h5", "auto"),
        (AMAZON, {"AWS_REGION": "eu-west-1"}, "https://bucket.s3.eu-west-1.amazonaws.com/k/x.h5", "eu-west-1"),
    ],
)
def test_endpoint_region_and_style(
    place: ObjectPlace, environ: dict[str, str], url: str, region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual variables first, then what the service's own URL says."""
    for variable, value in {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s3cret", **environ}.items():
        monkeypatch.setenv(variable, value)
    box = find_box_s3()
    assert box is not None and box.found_by == "env"
    signed = urlsplit(box.at(place).part_url("upload", 3))
    query = parse_qs(signed.query)
    assert f"{signed.scheme}://{signed.netloc}{signed.path}" == url
    assert query["X-Amz-Credential"][0].split("/")[2] == region
    assert (query["partNumber"], query["uploadId"]) == (["3"], ["upload"])
    assert "s3cret" not in signed.query


def test_without_the_s3_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing to use it for it is not missed; with keys it is named."""
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    assert find_box_s3() is None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    with pytest.raises(TransferError, match="AWS_ACCESS_KEY_ID is set") as caught:
        find_box_s3()
    assert "botocore" in caught.value.hint
