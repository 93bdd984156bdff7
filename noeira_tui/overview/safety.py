"""Is it safe to destroy this box? Nothing may be lost that only it has, and nothing unproven is called safe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.states import TO_FETCH, UNSENT, State
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.picture import DatasetView, ProjectView, RecordingView, Totals


def is_unsent(view: DatasetView | RecordingView) -> bool:
    """Whether it certainly has contents that only this box has."""
    return view.state in UNSENT or view.state is State.RECORDING or view.unsent_bytes > 0


def count(projects: Iterable[ProjectView], datasets: Sequence[DatasetView], packs: Sequence[PackStatus]) -> Totals:
    """The totals, but for the jobs."""
    recordings = [recording for project in projects for recording in project.recordings]
    views: list[DatasetView | RecordingView] = [*recordings, *datasets]
    states = [view.state for view in views] + [pack.state for pack in packs]
    return Totals(
        missing=states.count(State.MISSING),
        stale=states.count(State.STALE),
        partial=states.count(State.PARTIAL),
        invalid=states.count(State.INVALID),
        unknown=states.count(State.UNKNOWN),
        unsent=sum(is_unsent(view) for view in views),
        bytes_to_fetch=sum(view.bytes_to_fetch for view in views if view.state in TO_FETCH)
        + sum(pack.bytes_to_fetch for pack in packs),
        bytes_unsent=sum(view.unsent_bytes for view in views),
    )


@dataclass(frozen=True)
class Doubts:
    """What keeps the picture from being the whole and present truth.

    `not_asked` tells that the service's side is its last answer; `jobs` why the jobs could not be listed, or nothing.
    """

    not_asked: bool = False
    closed: tuple[Path, ...] = ()
    jobs: str = ""


def unsafe_reasons(
    projects: Iterable[ProjectView],
    datasets: Iterable[DatasetView],
    pushes: Sequence[JobRecord],
    doubts: Doubts = Doubts(),
    packs: Iterable[PackStatus] = (),
) -> tuple[str, ...]:
    """Why the box must not be destroyed, in words, one each; nothing when it may be."""
    recordings = [recording for project in projects for recording in project.recordings]
    datasets = list(datasets)
    told = [(f"{view.project}/{view.dataset}", _why(view, here=view.here)) for view in recordings]
    told += [(view.id, _why(view, here=view.local_bytes is not None)) for view in datasets]
    reasons = [f"{name} {why}" for name, why in told if why]
    reasons += [f"pack {pack.title} has files that were changed here" for pack in packs if pack.state is State.MODIFIED]
    reasons += [f"{push.spec.title} is still running" for push in pushes]
    reasons += [f"{folder} cannot be looked into" for folder in doubts.closed]
    if doubts.jobs:
        reasons.append(f"whether a push is running cannot be told: {doubts.jobs}")
    has_something = any(view.here for view in recordings) or any(view.local_bytes is not None for view in datasets)
    if doubts.not_asked and has_something:
        reasons.append("what is here was compared with the service's last answer only")
    return tuple(reasons)


def _why(view: DatasetView | RecordingView, *, here: bool) -> str:
    if not here:
        return ""
    words = {
        State.RECORDING: "is being recorded",
        State.UNKNOWN: "cannot be compared: the service could not be asked",
        State.UNVERIFIED: "was not verified since it changed",
        State.INVALID: "cannot be read",
        State.PENDING: "was never uploaded completely",
    }
    if view.state in words:
        return words[view.state]
    if view.state in UNSENT:
        return f"is {view.state}"
    if view.unsent_bytes > 0:
        return "has files that were not sent"
    if isinstance(view, RecordingView) and view.unverified:
        # A recording that lacks files, or has older ones, is called after those.
        return f"has {view.unverified} files that were not verified since they changed"
    if isinstance(view, RecordingView) and view.unseen:
        return f"was not seen whole: {view.unseen[0]}"
    return ""
