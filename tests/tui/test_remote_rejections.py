"""Rejected episodes of datasets elsewhere are shown like those here; they are changed where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError, NetworkError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.settings import Settings
from noeira_tui.datasets.source import Resolvers
from noeira_tui.episodes.browse import read_columns
from noeira_tui.jobs.addresses import resolvers
from noeira_tui.recordings.rejected import edit_rejected
from noeira_tui.tui import quality_reading
from noeira_tui.tui.quality_reading import read_rejections, read_remote_rejections
from noeira_tui.tui.rejecting import rejected_of, why_not_rejectable
from tests.support.catalog_build import write_catalog
from tests.support.datasets_http import serving
from tests.support.episodes_build import takes, write_v3


@pytest.fixture
def opened() -> Resolvers:
    return resolvers(Settings.load(environ={}))


def test_those_elsewhere_are_read_by_one_request(tmp_path: Path, opened: Resolvers) -> None:
    folder = write_v3(tmp_path / "cube", takes(4, 40))
    plain = write_v3(tmp_path / "plain", takes(2, 40))
    edit_rejected(folder, reject=(1, 3))
    with serving(folder) as server, serving(plain) as other:
        sources = (str(folder), server.url, other.url)
        columns = read_columns(str(write_catalog(tmp_path / "c", 12, sources=sources, formats=("lerobot-v3",) * 3)))
        before = server.counted.requests
        assert read_remote_rejections(columns, opened, CancelToken()) == {server.url: frozenset({1, 3})}
        assert server.counted.requests == before + 1
        assert rejected_of(server.url) == {1, 3}
        assert rejected_of(other.url) == frozenset()
        (folder / "meta/rejected_episodes.json").write_text("{")
        assert read_remote_rejections(columns, opened, CancelToken()) == {}
        assert rejected_of(server.url) == frozenset()
        assert why_not_rejectable(server.url, "lerobot-v3") is not None
        stopped = CancelToken()
        stopped.cancel()
        with pytest.raises(CancelledError):
            read_remote_rejections(columns, opened, stopped)
    assert read_rejections(columns, CancelToken()) == {}


def test_a_place_that_does_not_answer_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Resolvers
) -> None:
    sources = ("https://a.example/x", "https://a.example/y", "https://b.example/z", "s3://data/store.zarr", "/here")
    formats = ("lerobot-v3", "lerobot-v3", "lerobot-v3", "zarr", "lerobot-v3")
    columns = read_columns(str(write_catalog(tmp_path, 10, sources=sources, formats=formats)))
    asked: list[str] = []

    def silent(uri: str, *_: object) -> frozenset[int]:
        asked.append(uri)
        raise NetworkError("No answer.")

    monkeypatch.setattr(quality_reading, "rejected_there", silent)
    assert read_remote_rejections(columns, opened, CancelToken()) == {}
    assert len(asked) == 2
    assert {uri.split("/")[2] for uri in asked} == {"a.example", "b.example"}
