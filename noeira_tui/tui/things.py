"""What can be moved: recordings, datasets, asset packs; what each is called, and what the box says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.paths import is_segment
from noeira_tui.core.states import State
from noeira_tui.overview.picture import DatasetView, Overview, RecordingView
from noeira_tui.recordings.compare import FileComparison, FileState
from noeira_tui.tui import figures
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Row

Thing = RecordingView | DatasetView | PackStatus

CHANGED_HERE = frozenset({State.MODIFIED, State.DIVERGED})
"""A pull would overwrite what only this box has."""

_NAMED_FILES = 12
"""A question names at most this many files of one thing."""


@dataclass(frozen=True)
class Verdict:
    """What the box has against each action on a thing, None for nothing."""

    thing: Thing
    pull: str | None
    push: str | None
    watch: str | None
    verify: str | None
    free: str | None


def verdict(box: BoxLike, thing: Thing) -> Verdict:
    """Ask the box; it may take its time."""
    return Verdict(
        thing,
        pull_refusal(box, thing),
        push_refusal(box, thing),
        watch_refusal(box, thing),
        verify_refusal(box, thing),
        free_refusal(box, thing),
    )


def thing_of(row: Row | None) -> Thing | None:
    """The thing a row stands for; None for a project, a job or a heading."""
    subject = None if row is None else row.subject
    return subject if isinstance(subject, Thing) else None


def name_of(thing: Thing) -> str:
    """What a person calls it. Not clean."""
    if isinstance(thing, RecordingView):
        return f"{thing.project}/{thing.dataset}"
    return thing.id if isinstance(thing, DatasetView) else thing.title


def pull_refusal(box: BoxLike, thing: Thing) -> str | None:
    if isinstance(thing, RecordingView):
        return box.can_pull_recording(thing)
    return box.can_pull(thing) if isinstance(thing, DatasetView) else box.can_pull_pack(thing)


def push_refusal(box: BoxLike, thing: Thing) -> str | None:
    if isinstance(thing, RecordingView):
        return box.can_push_recording(thing)
    return box.can_push(thing) if isinstance(thing, DatasetView) else "An asset pack is only pulled."


def watch_refusal(box: BoxLike, thing: Thing) -> str | None:
    return box.can_watch(thing) if isinstance(thing, RecordingView) else "Only a recording is watched."


def verify_refusal(box: BoxLike, thing: Thing) -> str | None:
    return box.can_verify_pack(thing) if isinstance(thing, PackStatus) else "Only asset packs are verified here."


def free_refusal(box: BoxLike, thing: Thing) -> str | None:
    if isinstance(thing, PackStatus):
        return "Only the cache of packs can be freed; an installed pack stays as long as it is declared."
    return box.space.can_free(thing)


def pull_loses(thing: Thing) -> bool:
    """Whether a pull would overwrite something that only this box has, and so needs a yes."""
    if isinstance(thing, PackStatus):
        unrecorded = thing.state is State.UNVERIFIED and thing.installed_at is None
        return thing.state is State.MODIFIED or unrecorded
    if isinstance(thing, RecordingView) and thing.state is State.PARTIAL:
        return any(file.state is FileState.HELD and not file.is_new for file in thing.comparison)
    return thing.state in CHANGED_HERE


def lost_by_pull(thing: Thing) -> list[str]:
    """What a pull would overwrite, one line each, in words."""
    if isinstance(thing, DatasetView):
        return [f"{thing.id}: {thing.state.value}, {thing.path or 'its file'}"]
    if isinstance(thing, PackStatus):
        return [f"{thing.title}: {thing.detail or thing.state.value}", f"in {thing.dest}"]
    ours = {FileState.DIVERGED, FileState.AHEAD, FileState.HELD, FileState.UNVERIFIED}
    return _files_of(thing, [file for file in thing.comparison if file.state in ours and not file.is_new])


def lost_by_push(thing: RecordingView | DatasetView) -> list[str]:
    """What a push would replace on the service, one line each."""
    if isinstance(thing, DatasetView):
        return [thing.id]
    theirs = {FileState.DIVERGED, FileState.BEHIND}
    return _files_of(thing, [file for file in thing.comparison if file.state in theirs])


def _files_of(view: RecordingView, files: list[FileComparison]) -> list[str]:
    counted = f", {figures.count(len(files), 'file')}" if files else ""
    lines = [f"{view.project}/{view.dataset}: {view.state.value}{counted}"]
    lines += [f"  {file.path}" for file in files[:_NAMED_FILES]]
    return [*lines, f"  and {len(files) - _NAMED_FILES:,} more"] if len(files) > _NAMED_FILES else lines


def free_name(dataset: DatasetView, taken: Iterable[str]) -> tuple[str, str] | None:
    """A name and version for a file the catalog does not know: its own, and the first version nobody has.

    None when the catalog would refuse the file's name.
    """
    stem = "" if dataset.path is None else dataset.path.name.split(".")[0]
    known = set(taken)
    free = (f"v{number}" for number in range(1, 100) if f"{stem}-v{number}" not in known)
    version = next(free, None)
    return (stem, version) if is_segment(stem) and version is not None else None


def unsent_things(overview: Overview) -> tuple[RecordingView | DatasetView, ...]:
    """What would be lost with this box, recordings first."""
    from noeira_tui.overview.safety import is_unsent

    recordings = [view for view in overview.recordings if view.here and is_unsent(view)]
    return (*recordings, *(view for view in overview.datasets if view.local_bytes is not None and is_unsent(view)))
