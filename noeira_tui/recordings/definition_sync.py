"""`DefinitionSync`: push and pull the files that define a project, by compare-and-swap on their digests."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.definitions import DEFAULT_MAX_FILE_BYTES, DefinitionFiles
from noeira_tui.core.errors import ConfigError, DatasetError, DestinationError, NoeiraError, RefusedError
from noeira_tui.core.files import write_atomically
from noeira_tui.core.paths import SEGMENT_RULE, is_segment
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.redact import without_query
from noeira_tui.recordings.definition_bases import BaseDigests
from noeira_tui.recordings.definition_files import scan_definitions
from noeira_tui.recordings.definition_moves import Mover
from noeira_tui.recordings.definition_outcome import DefinitionOutcome, outcome_of
from noeira_tui.recordings.definition_plan import DefinitionPlan, Direction, Move, pull_steps, push_steps
from noeira_tui.recordings.projects import DEFINITION, parse_project
from noeira_tui.transfer.facts import ALONE, TransferContext

_MAX_DESCRIPTION = 4096


class DefinitionSync:
    """The definition files of one project, here and on one service.

    ```python
    sync = DefinitionSync(client, projects_dir, "so101-tower")
    outcome = sync.run(sync.plan(Direction.PUSH))
    ```
    """

    def __init__(
        self,
        client: CatalogClient,
        projects_dir: Path,
        project: str,
        *,
        force: bool = False,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
        context: TransferContext = ALONE,
    ) -> None:
        """With `force` a conflict is decided for the side the files come from. Raises ConfigError for a name that no
        project can have."""
        if not is_segment(project):
            raise ConfigError(f"{project!r} cannot be a project's name.", hint=f"A name is {SEGMENT_RULE}.")
        self._client = client
        self._project = project
        self._folder = projects_dir / project
        self._files = DefinitionFiles(client, project)
        self._force = force
        self._progress = progress or Progress()
        self._cancel = cancel or CancelToken()
        self._context = context

    def plan(self, direction: Direction) -> DefinitionPlan:
        """Compare both sides; changes nothing anywhere.

        Raises DatasetError (a push of a project that is not here, a pull of one that neither side has, a folder that
        cannot be listed), RefusedError (a pull of a project that only this box has; a service without these routes),
        ServiceError, CancelledError.
        """
        self._progress.enter("comparing")
        return self._plan_push() if direction is Direction.PUSH else self._plan_pull()

    def run(self, plan: DefinitionPlan) -> DefinitionOutcome:
        """Do what a plan says. What fails or conflicts is in the outcome; everything else goes on.

        Raises CancelledError, and ServiceError when the project cannot be made there. What moved before is remembered.
        """
        began = time.monotonic()
        if plan.direction is Direction.PUSH and (plan.creates or plan.description is not None):
            plan = self._tell_project(plan)
        mover = Mover(self._files, self._folder, progress=self._progress, cancel=self._cancel, context=self._context)
        mover.remember({step.path: step.there for step in plan.steps_that(Move.UNCHANGED) if step.there is not None})
        mover.move_all(plan.direction, plan.steps_that(Move.TRANSFER))
        if plan.makes_definition and not mover.tally.failed:
            # Nobody wrote it: remembered as if it had been synced, it gives way when the service gets a real one.
            mover.remember({DEFINITION: _write_minimal(self._folder / DEFINITION, plan.description)})
            mover.tally.made_definition = True
        return outcome_of(plan, mover.tally, time.monotonic() - began)

    # -- planning

    def _plan_push(self) -> DefinitionPlan:
        definition = self._folder / DEFINITION
        if not definition.is_file():
            raise DatasetError(
                f"There is no project {self._project!r} here: {definition} does not exist. Nothing was made anywhere.",
                title="No such project",
                hint=f"A project is a folder with a {DEFINITION}; check the name, or write one.",
            )
        listing = self._files.list()
        cap = DEFAULT_MAX_FILE_BYTES if listing is None else listing.max_file_bytes
        bases = BaseDigests(self._folder)
        local = scan_definitions(self._folder, cap, self._cancel)
        steps = push_steps(local, listing, bases, force=self._force)
        sends = any(step.path == DEFINITION and step.move is Move.TRANSFER for step in steps)
        told = _description(definition) if sends or listing is None else None
        return DefinitionPlan(
            Direction.PUSH,
            self._project,
            self._folder,
            steps,
            creates=listing is None,
            description=told if listing is None or told != listing.description else None,
            warnings=(bases.warning,) if bases.warning else (),
        )

    def _plan_pull(self) -> DefinitionPlan:
        is_here = (self._folder / DEFINITION).is_file()
        listing = self._files.list()
        if listing is None:
            raise self._nowhere(is_here)
        bases = BaseDigests(self._folder)
        local = scan_definitions(self._folder, listing.max_file_bytes, self._cancel)
        steps = pull_steps(local, listing, bases, self._folder, force=self._force)
        return DefinitionPlan(
            Direction.PULL,
            self._project,
            self._folder,
            steps,
            creates=not is_here,
            description=listing.description,
            makes_definition=not is_here and not any(step.path == DEFINITION for step in steps),
            warnings=(bases.warning,) if bases.warning else (),
        )

    def _nowhere(self, is_here: bool) -> NoeiraError:
        if is_here:
            return RefusedError(
                f"{without_query(self._client.url)} has no project {self._project!r}; it is only here.",
                status=404,
                title="Not on the service",
                hint=f"`noeira-tui project push {self._project}` makes it there.",
            )
        return DatasetError(
            f"There is no project {self._project!r}, here or on the service. Nothing was made.",
            title="No such project",
            hint="`noeira-tui project list` shows them.",
        )

    def _tell_project(self, plan: DefinitionPlan) -> DefinitionPlan:
        """Make the project on the service, or tell its new description. Only a project that exists there has a bound
        for its files, so a new one is planned again."""
        self._client.put_project(self._project, plan.description)
        return replace(self._plan_push(), creates=True) if plan.creates else plan


def _description(definition: Path) -> str | None:
    """The description in a `project.kv` as the wire can carry it; None without one."""
    try:
        text = parse_project(definition.read_bytes()).description
    except OSError as err:
        raise DatasetError(f"{definition} cannot be read: {err.strerror or err}.", title="Project") from err
    return None if text is None else _one_line(text)[:_MAX_DESCRIPTION]


def _write_minimal(definition: Path, description: str | None) -> str:
    """Write the `project.kv` that makes a folder a project; its digest. Raises DestinationError."""
    lines = ["# The service has no project.kv for this project."]
    if description:
        lines.append(f"description={_one_line(description)}")
    data = ("\n".join(lines) + "\n").encode()
    try:
        definition.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(definition, data)
    except OSError as err:
        raise DestinationError(f"{definition} cannot be written: {err.strerror or err}.") from err
    return hashlib.sha256(data).hexdigest()


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()
