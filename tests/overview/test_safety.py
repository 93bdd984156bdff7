from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobRecord, JobSpec, JobState
from noeira_tui.overview.picture import DatasetView, ProjectView, RecordingView, Totals
from noeira_tui.overview.safety import Doubts, count, is_unsent, unsafe_reasons

PROVEN = {State.CURRENT, State.STALE}
"""Contents that the service has, or had: it gave them to us."""
NOTHING_TO_LOSE = {State.PARTIAL, State.REMOTE, State.MISSING}
"""Something of it is elsewhere; what is here besides is told by its bytes."""


def dataset(state: State, *, here: bool = True, **facts: object) -> DatasetView:
    return DatasetView("x-v1", state, local_bytes=10 if here else None, **facts)  # type: ignore[arg-type]


def recording(state: State, *, here: bool = True, **facts: object) -> RecordingView:
    return RecordingView("p", "d", state, here=here, **facts)  # type: ignore[arg-type]


def reasons(*views: DatasetView | RecordingView, doubts: Doubts | None = None) -> tuple[str, ...]:
    recordings = tuple(view for view in views if isinstance(view, RecordingView))
    datasets = [view for view in views if isinstance(view, DatasetView)]
    return unsafe_reasons([ProjectView("p", True, True, recordings=recordings)], datasets, (), doubts or Doubts())


@pytest.mark.parametrize("state", State)
def test_only_what_is_proven_is_safe(state: State) -> None:
    harmless = state in PROVEN or state in NOTHING_TO_LOSE
    assert (reasons(dataset(state)) == ()) == harmless
    assert (reasons(recording(state)) == ()) == harmless


@pytest.mark.parametrize("state", State)
def test_what_is_not_here_cannot_be_lost(state: State) -> None:
    assert reasons(dataset(state, here=False), recording(state, here=False)) == ()


@pytest.mark.parametrize("state", [State.PARTIAL, State.STALE, State.CURRENT])
@pytest.mark.parametrize(
    "doubt", [{"unsent_bytes": 1}, {"unverified": 1}, {"unseen": ("videos/ is a link and is not entered",)}]
)
def test_one_file_in_doubt_is_enough(state: State, doubt: dict[str, object]) -> None:
    assert reasons(recording(state)) == ()
    assert len(reasons(recording(state, **doubt))) == 1


def test_a_push_that_runs_and_what_cannot_be_told() -> None:
    spec = JobSpec("catalog-push", "push x-v1", "x-v1", "{}", Path("/"), Path("/"))
    push = JobRecord(1, spec, JobState.QUEUED, ProgressSnapshot(), 0.0)
    assert unsafe_reasons([], [], [push]) == ("push x-v1 is still running",)
    assert unsafe_reasons([], [], (), Doubts(closed=(Path("/data/shut"),))) == ("/data/shut cannot be looked into",)
    assert len(unsafe_reasons([], [], (), Doubts(jobs="locked"))) == 1
    assert unsafe_reasons([], [], (), Doubts(not_asked=True)) == (), "an empty box has nothing to lose"
    assert len(reasons(dataset(State.CURRENT), doubts=Doubts(not_asked=True))) == 1


def test_an_edited_pack_would_be_lost_too() -> None:
    packs = [pack(state, 5) for state in State]
    assert unsafe_reasons([], [], (), packs=packs) == ("pack p@v1 has files that were changed here",)


def test_every_reason_is_told_once_each() -> None:
    told = reasons(dataset(State.LOCAL), dataset(State.CURRENT), recording(State.AHEAD), recording(State.RECORDING))
    assert told == ("p/d is ahead", "p/d is being recorded", "x-v1 is local")


def pack(state: State, size: int | None) -> PackStatus:
    return PackStatus("p", "v1", "https", Path("/m"), Path("/d"), size, None, state, "")


def test_totals() -> None:
    projects = [
        ProjectView("a", True, True, recordings=(
            recording(State.AHEAD, unsent_bytes=7, bytes_to_fetch=100),
            recording(State.PARTIAL, bytes_to_fetch=30, unsent_bytes=2),
            recording(State.RECORDING),
            recording(State.UNKNOWN),
        )),
    ]  # fmt: skip
    datasets = [
        dataset(State.STALE, size_bytes=50),
        dataset(State.MISSING, here=False, size_bytes=None),
        dataset(State.PARTIAL, here=False, size_bytes=50, partial_bytes=20),
        dataset(State.PARTIAL, here=False, size_bytes=50, partial_bytes=70),
        dataset(State.LOCAL, unsent_bytes=10),
        dataset(State.PENDING, unsent_bytes=10),
        dataset(State.REMOTE, here=False, size_bytes=1000),
        dataset(State.INVALID),
    ]
    packs = [pack(State.MISSING, 5), pack(State.MISSING, None), pack(State.INVALID, 9), pack(State.CURRENT, 9)]
    assert count(projects, datasets, packs) == Totals(
        missing=3,
        stale=1,
        partial=3,
        invalid=2,
        unknown=1,
        unsent=5,
        bytes_to_fetch=30 + 50 + 30 + 0 + 5,
        bytes_unsent=7 + 2 + 10 + 10,
    )


def test_what_is_certainly_unsent() -> None:
    assert {state for state in State if is_unsent(dataset(state))} == {
        State.LOCAL, State.AHEAD, State.MODIFIED, State.DIVERGED, State.RECORDING,
    }  # fmt: skip
    assert is_unsent(dataset(State.PENDING, unsent_bytes=1))
