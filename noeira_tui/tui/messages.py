"""What the threads tell the app, as frozen facts. Only the app's own thread touches widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.tui.board import Shelved


class LookStarted(Message):
    """A look at the box began."""


class Looked(Message):
    """A look ended, its rows are made. `is_whole` is False for the first, fast one that asks nobody."""

    def __init__(self, shelved: Shelved, *, is_whole: bool) -> None:
        super().__init__()
        self.shelved = shelved
        self.is_whole = is_whole


class LookFailed(Message):
    """A look could not be made; what was known stays on screen."""

    def __init__(self, error: NoeiraError) -> None:
        super().__init__()
        self.error = error


class JobsRead(Message):
    """The jobs changed."""

    def __init__(self, jobs: tuple[JobRecord, ...]) -> None:
        super().__init__()
        self.jobs = jobs


class JobsFailed(Message):
    """The jobs could not be read."""

    def __init__(self, error: NoeiraError) -> None:
        super().__init__()
        self.error = error


class ErrandDone(Message):
    """Something the user asked for is done; `then` takes it up in the app's thread."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


class ErrandFailed(Message):
    """Something the user asked for failed. `otherwise` takes it up; without it the error is shown."""

    def __init__(self, error: NoeiraError, otherwise: Callable[[NoeiraError], None] | None = None) -> None:
        super().__init__()
        self.error = error
        self.otherwise = otherwise


class FilterLeft(Message):
    """The user is done with a filter line; `clear` when the filter goes too."""

    def __init__(self, *, clear: bool) -> None:
        super().__init__()
        self.clear = clear
