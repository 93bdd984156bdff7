"""Figures as people read them."""

from __future__ import annotations

import pytest

from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import ASCII, SYMBOLS


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (None, "—"), (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_940, "99.9 kB"), (99_960, "100 kB"),
        (999_499, "999 kB"), (999_600, "1.0 MB"), (992_000_000, "992 MB"), (40_200_000_000, "40.2 GB"),
        (5 * 10**18, "5000 PB"),
    ],
)  # fmt: skip
def test_sizes_have_three_figures(size_bytes: int | None, shown: str) -> None:
    assert figures.size(size_bytes, SYMBOLS) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"), [(None, "—"), (0, "0B"), (4_100, "4.1k"), (992_000_000, "992M"), (40_200_000_000, "40.2G")]
)
def test_sizes_in_few_cells(size_bytes: int | None, shown: str) -> None:
    assert figures.brief_size(size_bytes, SYMBOLS) == shown


def test_a_unit_shared_is_written_once() -> None:
    assert figures.of_total(27_400_000_000, 40_200_000_000, SYMBOLS) == "27.4 / 40.2 GB"
    assert figures.of_total(500_000, 40_200_000_000, SYMBOLS) == "500 kB / 40.2 GB"
    assert figures.of_total(40_100_000, 0, SYMBOLS) == "40.1 MB"


@pytest.mark.parametrize(
    ("seconds", "left"), [(0, "0:00"), (62.4, "1:02"), (3600, "1:00:00"), (90_000, "1 d 1 h"), (-3, "0:00")]
)
def test_time_left(seconds: float, left: str) -> None:
    assert figures.clock(seconds) == left


@pytest.mark.parametrize(
    ("age", "shown"), [(0.5, "just now"), (4, "4 s ago"), (240, "4 min ago"), (7200, "2 h ago"), (864_000, "10 d ago")]
)
def test_ages(age: float, shown: str) -> None:
    assert figures.ago(1000, 1000 + age) == shown


def test_a_hundred_percent_means_all_of_it() -> None:
    assert figures.percent(0.9999).strip() == "99 %"
    assert figures.percent(1.0) == "100 %"


def test_digests_are_short_and_counts_agree() -> None:
    assert figures.digest("0123456789abcdef", SYMBOLS) == "01234567…"
    assert figures.digest(None, ASCII) == "-"
    assert figures.count(1, "file") == "1 file"
    assert figures.count(1200, "file") == "1,200 files"
