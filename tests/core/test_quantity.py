from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.quantity import parse_size, show_duration, show_rate, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20MB", 20_000_000),
        ("20mb/s", 20_000_000),
        (" 1.5 GiB ", 1_610_612_736),
        ("300k", 300_000),
        ("7", 7),
        ("7B", 7),
        ("2Ti", 2 * 1024**4),
        ("1.9", 1),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text, "NAME") == size


@pytest.mark.parametrize(
    "text", ["", "fast", "-1", "0", "0.0 GB", "0.5", "1e6", "20 Mbit", "1,5 GB", "MB", "9" * 400, "1 2"]
)
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="NAME"):
        parse_size(text, "NAME")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (None, "—"),
        (0, "0 B"),
        (999, "999 B"),
        (999.7, "1.0 kB"),
        (1000, "1.0 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (992_000_000, "992 MB"),
        (40_200_000_000, "40.2 GB"),
        (5 * 10**18, "5000 PB"),
    ],
)
def test_sizes_as_people_read_them(size: float | None, shown: str) -> None:
    assert show_size(size) == shown


@given(st.integers(0, 10**17))
def test_a_shown_size_is_near_and_short(size: int) -> None:
    shown = show_size(size)
    assert len(shown) <= 7
    number, unit = shown.split()
    factor = 1000 ** ["B", "kB", "MB", "GB", "TB", "PB"].index(unit)
    assert abs(float(number) * factor - size) <= 0.051 * factor + 0.006 * size


@given(st.integers(1, 10**16))
def test_a_shown_size_reads_back(size: int) -> None:
    shown = show_size(size)
    if "P" not in shown and float(shown.split()[0]) >= 1:
        assert abs(parse_size(shown, "x") - size) <= 0.06 * size


def test_a_rate() -> None:
    assert show_rate(212_000_000.4) == "212 MB/s"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "—"), (-3, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (62, "1:02"), (3599.7, "1:00:00"),
     (7509, "2:05:09"), (47.99 * 3600, "47:59:24"), (76 * 3600, "3 d 4 h")],
)  # fmt: skip
def test_durations(seconds: float | None, shown: str) -> None:
    assert show_duration(seconds) == shown
