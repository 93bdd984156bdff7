"""What became of a push or a pull of a project's definition files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.recordings.definition_plan import DefinitionPlan, Direction, Move


@dataclass(frozen=True)
class DefinitionConflict:
    """A file that both sides changed: its digests here, on the service, and when they were last equal."""

    path: str
    here: str | None
    there: str | None
    base: str | None


@dataclass(frozen=True)
class DefinitionFailure:
    """A file that did not move, and why."""

    path: str
    error: str


@dataclass(frozen=True)
class DefinitionOutcome:
    """What a push or a pull did; from `foretold`, what it would do. Paths are relative to the project's folder.

    `moved` were sent or received; `left` differ, but only the other direction would move them; `made` says that the
    project did not exist before where the files went, `made_definition` that it got a minimal `project.kv`.
    """

    project: str
    direction: Direction
    folder: Path
    moved: tuple[str, ...]
    unchanged: tuple[str, ...]
    left: tuple[str, ...]
    conflicts: tuple[DefinitionConflict, ...]
    failed: tuple[DefinitionFailure, ...]
    bytes_transferred: int = 0
    elapsed_s: float = 0.0
    made: bool = False
    made_definition: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing conflicts and nothing failed."""
        return not self.conflicts and not self.failed


@dataclass
class Tally:
    """What one run has done so far; only the run itself writes it."""

    moved: list[str] = field(default_factory=list)
    conflicts: list[DefinitionConflict] = field(default_factory=list)
    failed: list[DefinitionFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    bytes_transferred: int = 0
    made_definition: bool = False


def foretold(plan: DefinitionPlan) -> DefinitionOutcome:
    """What `plan` would do if nothing failed on the way: the answer of a dry run."""
    expected = Tally(
        moved=[step.path for step in plan.steps_that(Move.TRANSFER)], made_definition=plan.makes_definition
    )
    return outcome_of(plan, expected, 0.0)


def outcome_of(plan: DefinitionPlan, tally: Tally, elapsed_s: float) -> DefinitionOutcome:
    """The outcome of a plan: what it did not touch, and what the run noted."""
    return DefinitionOutcome(
        project=plan.project,
        direction=plan.direction,
        folder=plan.folder,
        moved=tuple(tally.moved),
        unchanged=tuple(step.path for step in plan.steps_that(Move.UNCHANGED)),
        left=tuple(step.path for step in plan.steps_that(Move.LEFT)),
        conflicts=(
            *(
                DefinitionConflict(step.path, step.here, step.there, step.base)
                for step in plan.steps_that(Move.CONFLICT)
            ),
            *tally.conflicts,
        ),
        failed=(
            *(DefinitionFailure(step.path, step.reason) for step in plan.steps_that(Move.FAIL)),
            *tally.failed,
        ),
        bytes_transferred=tally.bytes_transferred,
        elapsed_s=elapsed_s,
        made=plan.creates,
        made_definition=tally.made_definition,
        warnings=(*plan.warnings, *tally.warnings),
    )
