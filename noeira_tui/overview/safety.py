"""Is it safe to destroy this box? Nothing may be lost that only it has, and nothing unproven is called safe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
        + sum(pack.size_bytes or 0 for pack in packs if pack.state in TO_FETCH),
        bytes_unsent=sum(view.unsent_bytes for view in views),
    )


def unsafe_reasons(
    projects: Iterable[ProjectView], datasets: Iterable[DatasetView], pushes: Sequence[JobRecord]
) -> tuple[str, ...]:
    """Why the box must not be destroyed, in words, one each; nothing when it may be."""
    reasons = []
    for project in projects:
        for recording in project.recordings:
            why = _why(recording, here=recording.here)
            if why:
                reasons.append(f"{recording.project}/{recording.dataset} {why}")
    for dataset in datasets:
        why = _why(dataset, here=dataset.local_bytes is not None)
        if why:
            reasons.append(f"{dataset.id} {why}")
    reasons += [f"{push.spec.title} is still running" for push in pushes]
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
    return "has files that were not sent" if view.unsent_bytes > 0 else ""
