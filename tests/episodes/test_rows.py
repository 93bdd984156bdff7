"""The rows of the tables: hashes as numbers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.episodes.rows import hash_numbers


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.data())
def test_hashes_are_the_numbers_they_write(numbers: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(numbers) - 1))
    ids = [f"{number:016x}" for number in numbers]
    for kind in (pa.string(), pa.large_string()):
        assert hash_numbers(pa.array(ids, kind)[start:]).tolist() == numbers[start:]


@pytest.mark.parametrize("ids", [["0123456789abcde"], ["0123456789abcdeg"], ["0123456789ABCDEF"], [None], ["é" * 8]])
def test_ids_of_another_kind_are_refused(ids: list[str | None]) -> None:
    with pytest.raises(ValueError, match="episode_id"):
        hash_numbers(pa.array(ids, pa.string()))
