"""A catalog as columns holds what its reader tells episode by episode."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noeira_tui.core.childenv import child_environment
from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken
from noeira_tui.episodes.browse import read_columns, read_columns_beside
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


def test_rows_are_found_by_their_ids_however_often_one_occurs(catalog: Path) -> None:
    one = read_columns(str(catalog))
    columns = replace(one, ids=np.tile(one.ids, 3))
    ids = [one.id_at(4), one.id_at(21), "no such id", ""]
    assert np.flatnonzero(columns.have(ids)).tolist() == [4, 21, 34, 51, 64, 81]
    assert not columns.have([]).any()
    assert columns.ids_at(np.array([64, 21])) == ids[:2]
    assert [columns.row_of(text) for text in ids] == [4, 21, None, None]


def test_another_process_reads_the_same(catalog: Path, tmp_path: Path) -> None:
    here, there = read_columns(str(catalog)), read_columns_beside(str(catalog))
    assert [there.episode(row) for row in range(30)] == [here.episode(row) for row in range(30)]
    with pytest.raises(NoCatalogError):
        read_columns_beside(str(tmp_path / "none"))
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        read_columns_beside(str(catalog), cancel=token)


def test_the_columns_need_none_of_the_libraries_that_read_them(catalog: Path) -> None:
    script = (
        "import sys; from noeira_tui.episodes.browse import read_columns_beside\n"
        "columns = read_columns_beside(sys.argv[1]); columns.episode(3); columns.have([columns.id_at(0)])\n"
        "print(len(columns), sorted({'pyarrow', 'duckdb', 'deltalake', 'pandas'} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(catalog)],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "30 []\n"


def test_a_read_can_be_stopped(catalog: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        read_columns(str(catalog), cancel=token)
