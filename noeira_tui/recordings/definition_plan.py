"""What a push or a pull of a project's definition files would do, file by file: one plan for dry run and work.

Three digests decide: here, on the service, and when both were last equal. Nothing is written or asked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from noeira_tui.catalog.definitions import DefinitionList
from noeira_tui.catalog.wire import FileRow
from noeira_tui.core.errors import DestinationError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.recordings.definition_bases import BaseDigests, is_digest
from noeira_tui.recordings.definition_files import (
    PLACES,
    LocalDefinition,
    destination,
    is_definition_path,
    too_large,
)
from noeira_tui.recordings.projects import DEFINITION
from noeira_tui.transfer.facts import FileStamp


class Direction(StrEnum):
    PUSH = "push"
    PULL = "pull"


class Move(StrEnum):
    """What happens to one file. `LEFT` differs, but the other direction is the one that would move it."""

    TRANSFER = "transfer"
    UNCHANGED = "unchanged"
    LEFT = "left"
    CONFLICT = "conflict"
    FAIL = "fail"


@dataclass(frozen=True)
class Step:
    """One file of a plan with its three digests, None where there is no such file or no remembered sync.

    `size_bytes` are what a transfer moves; `stamp` is the file here as it was compared; `reason` says why it fails.
    """

    path: str
    move: Move
    here: str | None = None
    there: str | None = None
    base: str | None = None
    size_bytes: int = 0
    stamp: FileStamp | None = None
    download: PresignedUrl | None = None
    reason: str = ""


@dataclass(frozen=True)
class DefinitionPlan:
    """A push or a pull before it is done.

    `creates` says that the project does not exist yet where the files go. `description` is what a push tells the
    service of the project, None for nothing new. `makes_definition`: neither side has a `project.kv`, so a pull writes
    a minimal one.
    """

    direction: Direction
    project: str
    folder: Path
    steps: tuple[Step, ...]
    creates: bool = False
    description: str | None = None
    makes_definition: bool = False
    warnings: tuple[str, ...] = ()

    def steps_that(self, move: Move) -> tuple[Step, ...]:
        """The steps of one kind."""
        return tuple(step for step in self.steps if step.move is move)


def decide(direction: Direction, here: str | None, there: str | None, base: str | None, *, force: bool = False) -> Move:
    """What moves, from three digests. A conflict moves nothing unless forced; nothing is ever deleted."""
    if here == there:
        return Move.UNCHANGED
    pull = direction is Direction.PULL
    if here is None or (there is not None and here == base):
        return Move.TRANSFER if pull else Move.LEFT
    if there is None or there == base:
        return Move.LEFT if pull else Move.TRANSFER
    return Move.TRANSFER if force else Move.CONFLICT


def push_steps(
    local: Iterable[LocalDefinition], listing: DefinitionList | None, bases: BaseDigests, *, force: bool
) -> tuple[Step, ...]:
    """The steps of a push. Files that only the service has are left; `listing` is None for a project it lacks."""
    there = {row.path: row for row in listing.files} if listing is not None else {}
    return tuple(_push_step(file, there.get(file.path), bases.get(file.path), force) for file in local)


def pull_steps(
    local: Iterable[LocalDefinition], listing: DefinitionList, bases: BaseDigests, folder: Path, *, force: bool
) -> tuple[Step, ...]:
    """The steps of a pull, sorted by path with `project.kv` last: a folder is a project once all of it is there.

    Every path of the service is checked: what is no definition file, or would be written through a link, fails.
    """
    here = {file.path: file for file in local}
    times = Counter(row.path for row in listing.files)
    steps = []
    for row in {row.path: row for row in listing.files}.values():
        if not is_definition_path(row.path):
            step = _failed(row, None, f"the service may not write it: definition files are {PLACES}")
        elif times[row.path] > 1:
            step = _failed(row, None, "the service lists it more than once")
        else:
            file = here.get(row.path) or LocalDefinition(row.path)
            step = _pull_step(file, row, bases.get(row.path), force)
            if step.move is Move.TRANSFER:
                step = _checked(step, row, folder, listing.max_file_bytes)
        steps.append(step)
    return tuple(sorted(steps, key=lambda step: (step.path == DEFINITION, step.path)))


def _push_step(file: LocalDefinition, row: FileRow | None, base: str | None, force: bool) -> Step:
    there = row.sha256 if row is not None else None
    if file.problem is not None:
        return Step(file.path, Move.FAIL, there=there, base=base, reason=file.problem)
    if row is not None and not is_digest(there):
        return _failed(row, base, "the service gives no digest for it")
    move = decide(Direction.PUSH, file.sha256, there, base, force=force)
    return Step(file.path, move, file.sha256, there, base, file.size_bytes, file.stamp)


def _pull_step(file: LocalDefinition, row: FileRow, base: str | None, force: bool) -> Step:
    if file.problem is not None:
        return _failed(row, base, f"the file here cannot be compared: {file.problem}")
    if not is_digest(row.sha256):
        return _failed(row, base, "the service gives no digest for it")
    move = decide(Direction.PULL, file.sha256, row.sha256, base, force=force)
    return Step(file.path, move, file.sha256, row.sha256, base, row.size_bytes or 0, file.stamp, row.download)


def _checked(step: Step, row: FileRow, folder: Path, max_file_bytes: int) -> Step:
    """The step, or its failure when the file must not be fetched or written."""
    if row.size_bytes is None or row.download is None:
        return _failed(row, step.base, "the service gives no size or no address for it")
    if row.size_bytes > max_file_bytes:
        return _failed(row, step.base, too_large(row.size_bytes, max_file_bytes))
    try:
        destination(folder, row.path)
    except DestinationError as err:
        return _failed(row, step.base, err.message)
    return step


def _failed(row: FileRow, base: str | None, reason: str) -> Step:
    return Step(row.path, Move.FAIL, there=row.sha256, base=base, reason=reason)
