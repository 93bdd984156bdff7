"""What a push or a pull of a recording did, or would do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from noeira_tui.core.errors import TransferError
from noeira_tui.core.states import State


class Way(StrEnum):
    """Which way a recording goes."""

    PUSH = "push"
    PULL = "pull"


@dataclass(frozen=True)
class Held:
    """A file that waits, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Failure:
    """A file that did not move, and why."""

    path: str
    error: str


@dataclass(frozen=True)
class MirrorConflict:
    """A file that both sides changed: its digests here, there, and at the last sync; None for a side without it."""

    path: str
    here: str | None
    there: str | None
    base: str | None
    reason: str = ""


@dataclass(frozen=True)
class Mirrored:
    """The result of one push or pull.

    `moved` are the paths that were sent or received; `left` are files of which the other way would move something: on a
    push those that are newer on the service, on a pull those that were only changed here. `episodes` were recorded,
    `episodes_sent` of them can be read on the service; None where it is not known. `revision` is what readers get now.
    `repeat` tells that `info.json` changed meanwhile: the pass wants to be made again.
    """

    way: Way
    project: str
    dataset: str
    state: State
    moved: tuple[str, ...] = ()
    unchanged: int = 0
    held: tuple[Held, ...] = ()
    failed: tuple[Failure, ...] = ()
    conflicts: tuple[MirrorConflict, ...] = ()
    left: tuple[Held, ...] = ()
    bytes_transferred: int = 0
    requests: int = 0
    elapsed_s: float = 0.0
    episodes: int | None = None
    episodes_sent: int | None = None
    revision: int | None = None
    made_project: bool = False
    dry_run: bool = False
    repeat: bool = False
    problems: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing failed and nothing is in conflict; held-back files are no failure."""
        return not self.failed and not self.conflicts

    def checked(self) -> Mirrored:
        """Itself. Raises NotAllMovedError when files failed or are in conflict."""
        if self.is_clean:
            return self
        raise NotAllMovedError(self)


class NotAllMovedError(TransferError):
    """Some files failed or are in conflict; the rest moved. `outcome` tells of all of them."""

    def __init__(self, outcome: Mirrored) -> None:
        failed, conflicts = outcome.failed, outcome.conflicts
        counts = [f"{len(failed)} files failed ({failed[0].path}: {failed[0].error})"] if failed else []
        counts += [f"{len(conflicts)} files are in conflict ({conflicts[0].path})"] if conflicts else []
        super().__init__(
            f"{outcome.project}/{outcome.dataset}: {' and '.join(counts)}.",
            title="Not everything moved",
            hint="" if failed else "Compare both sides; --force takes the side the files come from.",
            retryable=bool(failed),
        )
        self.outcome = outcome
