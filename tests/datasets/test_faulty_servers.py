"""Servers that break what a reader hopes for: no ranges, no HEAD, a web page for everything, busy, lying, refusing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from noeira_tui.core.errors import CancelledError, DatasetError, DatasetFileError, NetworkError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_build import write_v3
from tests.support.datasets_http import HTML, FileServer, serving
from tests.support.datasets_stores import S3Store


@pytest.fixture
def server(made: Path) -> Iterator[FileServer]:
    with serving(made) as running:
        yield running


def test_a_server_without_head_is_asked_for_one_byte(server: FileServer, made: Path) -> None:
    server.behaviour.head = False
    info = inspect(f"{server.url}/small", episodes=True, deep=True)
    assert info.problems == inspect(str(made / "small"), episodes=True, deep=True).problems
    assert ("GET", "/small/data/chunk-000/file-000.parquet", "bytes=0-0") in server.counted.log


def test_without_ranges_small_files_are_cut_from_whole_ones(server: FileServer) -> None:
    server.behaviour.ranges = False
    info = inspect(f"{server.url}/small", episodes=True)
    assert info.episodes is not None
    assert len(info.episodes) == 5


def test_without_ranges_a_large_video_is_refused_unread(server: FileServer, made: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(made / "small", root)
    video = root / "videos/observation.images.front/chunk-000/file-000.mp4"
    with video.open("ab") as stream:
        stream.truncate(200_000_000)
    with serving(tmp_path) as plain:
        plain.behaviour.ranges = False
        with Inspector(f"{plain.url}/root") as inspector:
            inspector.episodes()
            plain.counted.reset()
            with pytest.raises(DatasetFileError, match="no range requests") as caught:
                inspector.picture(0, "observation.images.front", 0.0)
            assert caught.value.code == "no_ranges"
            assert "200,000,000 bytes" in caught.value.message
        info = inspect(f"{plain.url}/root", deep=True)
        assert [problem.code for problem in info.problems if "front" in problem.file] == ["no_ranges"]


def test_a_web_page_for_everything_is_no_dataset(server: FileServer) -> None:
    server.behaviour.html_for_everything = True
    with pytest.raises(DatasetFileError, match="web page") as caught:
        inspect(f"{server.url}/small")
    assert caught.value.title == "Not a dataset"
    assert "console" in caught.value.hint
    with pytest.raises(DatasetFileError, match="web page"):
        inspect(f"{server.url}/z2c.zarr")
    with pytest.raises(DatasetFileError, match="web page"):
        inspect(f"{server.url}/rollouts.h5")


def test_a_console_for_an_endpoint_is_told_as_such(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behaviour.html_for_everything = True
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    with pytest.raises(DatasetFileError, match="web page"):
        inspect("s3://data/small")


def test_a_busy_server_is_asked_again(server: FileServer) -> None:
    server.behaviour.fail_first = 2
    assert inspect(f"{server.url}/small").num_episodes == 5
    assert server.counted.requests == 4


def test_another_part_than_asked_for_is_not_believed(server: FileServer) -> None:
    server.behaviour.wrong_range = True
    info = inspect(f"{server.url}/small", episodes=True)
    assert "no_ranges" in {problem.code for problem in info.problems}
    assert info.episodes is not None
    assert len(info.episodes) == 0


def test_nothing_there(server: FileServer) -> None:
    with pytest.raises(DatasetError, match="no dataset"):
        inspect(f"{server.url}/nowhere")


def test_refused(server: FileServer) -> None:
    server.behaviour.token = "secret"
    with pytest.raises(DatasetFileError, match="401") as caught:
        inspect(f"{server.url}/small?X-Amz-Signature=abcdef")
    assert caught.value.title == "No access"
    assert "abcdef" not in str(caught.value)


def test_no_server() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        inspect("http://127.0.0.1:9/x", cancel=token)


def test_a_closed_port_is_a_network_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noeira_tui.datasets.webclient.ATTEMPTS", 1)
    with pytest.raises(NetworkError):
        inspect("http://127.0.0.1:9/x")


def test_new_files_are_seen_at_once(s3: S3Store) -> None:
    assert s3.objects is not None
    with pytest.raises(DatasetError):
        inspect("s3://data/later")
    shutil.copytree(s3.objects / "data" / "small", s3.objects / "data" / "later")
    assert inspect("s3://data/later", episodes=True).num_episodes == 5
    shutil.rmtree(s3.objects / "data" / "later")


def test_a_wrong_secret_is_told_by_name(s3: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(DatasetFileError, match="AWS_ACCESS_KEY_ID") as caught:
        inspect("s3://data/small")
    assert caught.value.code == "denied"
    assert s3.endpoint in str(caught.value)
    assert "wrong" not in caught.value.message.replace("wrong region", "")


def test_no_keys_for_a_private_bucket(s3: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(DatasetFileError, match="not public, and there are no credentials") as caught:
        inspect("s3://data/small")
    assert "AWS_ACCESS_KEY_ID" in caught.value.hint


def test_no_such_bucket(s3: S3Store) -> None:
    with pytest.raises(DatasetError, match=r"nothing|bucket"):
        inspect("s3://not-there/small")


ERROR = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>'


class FaultyStore(FileServer):
    """Answers like an S3 store in trouble; `says` is status, code, message, more."""

    says = (403, "AccessDenied", "Access Denied", "")
    headers: ClassVar[dict[str, str]] = {}
    public = False

    def serve(self, handler: object, path: str, span: str) -> None:
        signed = handler.headers.get("Authorization") is not None  # type: ignore[attr-defined]
        if self.public and not signed:
            super().serve(handler, path.removeprefix("/data"), span)  # type: ignore[arg-type]
            return
        status, code, message, more = self.says
        self.reply(handler, status, ERROR.format(code=code, message=message, more=more).encode(), self.headers)  # type: ignore[arg-type]


@pytest.fixture
def store(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyStore]:
    with serving(made, FaultyStore) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
        monkeypatch.setenv("AWS_REGION", "eu-north-1")
        assert isinstance(running, FaultyStore)
        yield running


def test_a_public_bucket_with_keys_of_another_place_is_read_without_them(store: FaultyStore) -> None:
    store.public = True
    store.says = (403, "InvalidAccessKeyId", "The key does not exist", "")
    info = inspect("s3://data/small", episodes=True)
    assert (info.num_episodes, info.problems) == (5, ())


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (
            (400, "InvalidRegionName", "The region name 'eu-north-1' is not valid. Must be one of: auto", ""),
            "eu-north-1",
        ),
        ((400, "AuthorizationHeaderMalformed", "the region is wrong", "<Region>us-west-2</Region>"), "us-west-2"),
        ((301, "PermanentRedirect", "must be addressed elsewhere", "<Region>ap-south-1</Region>"), "ap-south-1"),
    ],
)
def test_a_wrong_region_is_named(store: FaultyStore, says: tuple[int, str, str, str], words: str) -> None:
    store.says = says
    with pytest.raises(DatasetFileError) as caught:
        inspect("s3://data/small")
    assert caught.value.title == "Wrong region"
    assert words in caught.value.message
    assert "AWS_REGION" in caught.value.message
    assert "AWS_REGION=" in caught.value.hint


def test_a_redirect_to_another_region_without_a_body_that_names_it(store: FaultyStore) -> None:
    """As AWS answers: 301, no Location to follow, the region in a header."""
    store.says = (301, "PermanentRedirect", "must be addressed elsewhere", "")
    store.headers = {"x-amz-bucket-region": "sa-east-1"}  # type: ignore[misc]  # of this server only
    with pytest.raises(DatasetFileError) as caught:
        inspect("s3://data/small")
    assert caught.value.title == "Wrong region"
    assert "sa-east-1" in caught.value.message
    assert "AWS_REGION=sa-east-1" in caught.value.hint
    assert not [path for _, path, _ in store.counted.log if "sa-east-1" in path]


def test_denied_names_keys_bucket_and_endpoint(store: FaultyStore) -> None:
    with pytest.raises(DatasetFileError, match="AccessDenied") as caught:
        inspect("s3://data/small")
    text = str(caught.value)
    assert "AWS_ACCESS_KEY_ID" in text
    assert "'data'" in text
    assert store.url in text
    assert "a-secret" not in text


class Secretive(FileServer):
    """Answers for what it does not have as for what nobody may see, or with a page."""

    says = (403, b"no")

    def serve(self, handler: BaseHTTPRequestHandler, path: str, span: str) -> None:
        if self.file_for(path) is None:
            self.reply(handler, *self.says)
        else:
            super().serve(handler, path, span)


class Chatty(Secretive):
    says = (200, HTML)


@pytest.mark.parametrize(("kind", "most"), [(Secretive, 40), (Chatty, 400)])
def test_tables_that_are_lacking_are_not_looked_for_without_end(
    tmp_path: Path, kind: type[Secretive], most: int
) -> None:
    info = write_v3(tmp_path / "made", episodes=4, frames=10) / "meta/info.json"
    info.write_text(json.dumps(json.loads(info.read_text("utf-8")) | {"total_episodes": 6}), "utf-8")
    with serving(tmp_path, kind) as server, Inspector(f"{server.url}/made") as inspector:
        assert len(inspector.episodes()) == 4
        assert server.counted.requests < most
        assert "meta/episodes/chunk-000/file-001.parquet" in {problem.file for problem in inspector.problems()}
