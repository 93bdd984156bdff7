"""The nearest frames are exactly those of the definition, in short and long episodes, with ties and without."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from noeira_tui.episodes import nearest as module
from noeira_tui.episodes.channels import Floats
from noeira_tui.episodes.nearest import nearest
from noeira_tui.episodes.twins import find_twins
from tests.episodes import plain_metrics as plain


def by_definition(states: Floats) -> list[list[int]]:
    """Every difference, squared and added up; a stable sort keeps the earlier of equals."""
    found = []
    for frame in range(len(states)):
        squares = ((states - states[frame]) ** 2).sum(axis=1)
        squares[frame] = np.inf
        found.append(sorted(np.argsort(squares, kind="stable")[:5].tolist()))
    return found


def ours(states: Floats) -> list[list[int]]:
    found = nearest(states)
    assert found is not None
    return np.sort(found, axis=0).T.tolist()


def made(kind: str, length: int, width: int) -> Floats:
    rng = np.random.default_rng(length + width)
    if kind == "walk":
        return rng.normal(size=(length, width)).cumsum(axis=0)
    if kind == "grid":
        return rng.integers(-6, 7, (length, width)) / 8.0
    if kind == "far from zero":
        return 1e6 + rng.integers(0, 50, (length, width)) / 1024.0
    if kind == "stands still":
        states = rng.normal(size=(length, width)).cumsum(axis=0)
        states[length // 4 : length // 2] = states[0]
        states[-3:] = states[1]
        return states
    if kind == "one outlier":
        states = rng.normal(size=(length, width)) * 1e-7
        states[length // 2] = 1e3
        return states
    if kind == "even ramp":
        return np.arange(length, dtype=float)[:, None] * np.ones(width)
    if kind == "next to nothing":
        return rng.normal(size=(length, width)) * 1e-160
    return rng.normal(size=(length, width))


KINDS = ["walk", "grid", "next to nothing", "far from zero", "stands still", "one outlier", "even ramp", "noise"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(7, 1), (60, 3), (300, 14)])
def test_short_episodes(kind: str, shape: tuple[int, int]) -> None:
    states = made(kind, *shape)
    assert ours(states) == by_definition(states)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1500, 2), (1300, 7)])
def test_episodes_that_are_cut_into_boxes(kind: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DENSE", 300)
    states = made(kind, *shape)
    assert ours(states) == by_definition(states)


def test_the_reference_itself_is_the_plain_definition() -> None:
    for kind in KINDS:
        states = made(kind, 40, 2)
        assert by_definition(states) == [sorted(frames) for frames in plain.nearest(states.tolist())]


def test_of_equally_near_frames_the_earlier_ones() -> None:
    # Frame 6 is as far from 0, 1, 2, 3, 4 and 5 as from each other one: the corners of two squares and their middle.
    corners = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0), (0, 1), (0, 0), (-1, 0)]
    found = nearest(np.array(corners, float))
    assert found is not None
    assert sorted(found[:, 6]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("length", [7, 40, 3000])
def test_a_state_that_never_changes(length: int) -> None:
    found = nearest(np.full((length, 4), 0.1))
    assert found is not None
    assert [sorted(found[:, frame].tolist()) for frame in (0, 2, 5, 6)] == [
        [1, 2, 3, 4, 5], [0, 1, 3, 4, 5], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]
    ]  # fmt: skip


def test_minus_zero_is_zero() -> None:
    states = np.zeros((12, 1))
    states[::2] = -0.0
    assert len(find_twins(states, 5).answered) == 12


def test_states_with_one_key_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noeira_tui.episodes.twins._keys", lambda states: np.zeros(len(states), np.uint64))
    states = made("stands still", 80, 3)
    assert ours(states) == by_definition(states)


def test_a_distance_that_overflows_is_no_answer() -> None:
    states = np.ones((10, 2))
    states[3] = 1e200
    with np.errstate(over="ignore"):
        assert nearest(states) is None


def test_far_boxes_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[float] = []
    meet = module._Query.meet

    def counted(self: module._Query, ring: module.Indices) -> None:
        met.append(len(ring) / len(self._boxes.rows))
        meet(self, ring)

    monkeypatch.setattr(module._Query, "meet", counted)
    states = made("walk", 20_000, 3)
    tracemalloc.start()
    nearest(states)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(met) > 100
    assert sum(met) < 0.1 * 20_000 / 128
    assert peak < 20e6
