"""A catalog as columns holds what its reader tells episode by episode."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.browse import read_columns
from noeira_tui.episodes.query import CatalogReader
from noeira_tui.episodes.tables import NoCatalogError, make_catalog, open_catalog
from tests.support.catalog_build import JUMP, SOURCES, write_catalog


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalog(tmp_path_factory.mktemp("catalog") / "episodes", 30)


def test_every_episode_is_the_one_that_the_reader_tells(catalog: Path) -> None:
    columns = read_columns(str(catalog))
    with CatalogReader(str(catalog)) as reader:
        told = {one.episode_id: one for one in reader.episodes()}
    assert len(columns) == len(told) == 30
    for row in range(30):
        episode = columns.episode(row)
        assert episode == told[episode.episode_id]
    assert any(JUMP in columns.episode(row).reasons.values() for row in range(30))


def test_they_stand_by_dataset_and_number(catalog: Path) -> None:
    columns = read_columns(str(catalog))
    order = [(columns.sources.at(row), columns.index_at(row)) for row in range(len(columns))]
    assert order == sorted(order)  # type: ignore[type-var]  # both are there


def test_questions_about_text_are_answered(catalog: Path) -> None:
    with CatalogReader(str(catalog)) as reader:
        assert len(reader.episodes(source_uri=SOURCES[1])) == 15
        assert reader.query(f"SELECT count(*) FROM scored_episodes WHERE source_uri = '{SOURCES[0]}'").rows == ((15,),)
    known = open_catalog(str(catalog)).known("noeira-1")
    assert (len(known.registered), len(known.scored)) == (30, 29)
    assert not len(open_catalog(str(catalog)).known("a scorer that nobody has").scored)


def test_what_has_no_score_is_there_too(catalog: Path) -> None:
    columns = read_columns(str(catalog))
    without = [row for row in range(30) if columns.number_at("score", row) is None]
    assert len(without) == 1
    assert columns.flags_at(without[0]) == ()
    assert columns.episode(without[0]).overall_score is None


def test_an_empty_catalog_and_none(tmp_path: Path) -> None:
    make_catalog(str(tmp_path / "empty"), lambda text: None, CancelToken())
    assert len(read_columns(str(tmp_path / "empty"))) == 0
    with pytest.raises(NoCatalogError):
        read_columns(str(tmp_path / "none"))


def test_a_read_can_be_stopped(catalog: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        read_columns(str(catalog), cancel=token)
