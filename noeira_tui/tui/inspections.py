"""Opening the inspector: on what is highlighted, or on an address that is typed or pasted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from noeira_tui.overview.picture import DatasetView, RecordingView
from noeira_tui.tui import things
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.threads import is_over_ssh

if TYPE_CHECKING:
    from noeira_tui.tui.curation import Curation
    from noeira_tui.tui.screens.main import MainScreen

HINT = (
    "A folder or file, s3://bucket/dataset, https://, gs://, hf://datasets/o/r, noeira://datasets/ID or "
    "noeira://projects/P/D."
)


class Inspections:
    """The handlers of `inspect` and `inspect_uri`."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._typed = ""
        self.curation: Curation | None = None
        self.handlers: dict[str, Callable[[], None]] = {"inspect": self._inspect, "inspect_uri": self._ask}

    def _inspect(self) -> None:
        thing = things.thing_of(self._screen.current)
        if isinstance(thing, RecordingView | DatasetView):
            self.open(address_of(thing), thing.size_bytes)

    def _ask(self) -> None:
        from noeira_tui.tui.modals.ask import AskDialog

        def answered(text: str | None) -> None:
            if text is not None:
                self._typed = unquoted(text)
                self.open(self._typed, None)

        dialog = AskDialog(
            "Inspect a dataset anywhere",
            HINT,
            self._screen.board.glyphs,
            check=lambda text: None if unquoted(text) else "Type or paste an address or a path.",
            yes="look inside",
            value=self._typed,
            placeholder="s3://bucket/dataset",
        )
        self._screen.app.push_screen(dialog, answered)

    def open(self, uri: str, size_bytes: int | None, *, episode: int | None = None) -> None:
        """Open the inspector on an address, at an episode if one is named."""
        from noeira_tui.tui.inspecting import opener
        from noeira_tui.tui.screens.inspector import InspectorScreen

        self._screen.app.push_screen(
            InspectorScreen(
                uri,
                opener(uri, self._box.settings),
                self._screen.board.glyphs,
                size_bytes=size_bytes,
                over_ssh=is_over_ssh(),
                quality_of=None if self.curation is None else self.curation.quality_of,
                curation=self.curation,
                episode=episode,
            )
        )


def address_of(thing: RecordingView | DatasetView) -> str:
    """Where it can be read: the copy on this box where there is one, else its address on the service."""
    if isinstance(thing, RecordingView):
        if thing.here and thing.folder is not None:
            return str(thing.folder)
        return f"noeira://projects/{thing.project}/{thing.dataset}"
    if thing.path is not None and thing.local_bytes is not None:
        return str(thing.path)
    return f"noeira://datasets/{thing.id}"


def unquoted(text: str) -> str:
    """An address as somebody pasted it: without blanks around it, and without the quotes of a shell."""
    shown = text.strip()
    if len(shown) > 1 and shown[0] == shown[-1] and shown[0] in {"'", '"'}:
        return shown[1:-1]
    return shown
