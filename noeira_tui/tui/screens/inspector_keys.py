"""What each action of the inspector does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.tui.inspector_actions import Section

if TYPE_CHECKING:
    from noeira_tui.tui.app import NoeiraApp
    from noeira_tui.tui.screens.inspector import InspectorScreen

_FAR = 0.1


class InspectorKeys:
    """The handlers of the actions of `inspector_actions`."""

    def __init__(self, screen: InspectorScreen) -> None:
        self._screen = screen
        look = screen.look
        handlers: dict[str, Callable[[], None]] = {
            "zoom": partial(look.toggle, "zoomed"),
            "left": partial(look.column, -1),
            "right": partial(look.column, 1),
            "far_left": partial(look.step, -_FAR),
            "far_right": partial(look.step, _FAR),
            "one_left": partial(look.move, -1),
            "one_right": partial(look.move, 1),
            "dimension": partial(look.turn_dimension, 1),
            "dimension_back": partial(look.turn_dimension, -1),
            "dimensions": partial(look.turn_dimension, 0),
            "which": look.turn_which,
            "frame": partial(look.toggle, "frame"),
            "camera": partial(look.turn_camera, 1),
            "camera_back": partial(look.turn_camera, -1),
            "drawing": lambda: screen.tell(f"Drawn as {screen.view.frame.turn_drawing()}."),
            "about": partial(look.toggle, "about"),
            "mark": screen.judging.mark,
            "reject": screen.judging.reject,
            "undo": screen.judging.undo,
            "ingest": screen.judging.ingest,
            "go": self._go,
            "check": screen.check_deeply,
            "stop": self._stop,
            "again": screen.read_again,
            "copy": self._copy,
            "down": lambda: screen.list.move_by(1),
            "up": lambda: screen.list.move_by(-1),
            "top": lambda: screen.list.move_by(-(10**9)),
            "bottom": lambda: screen.list.move_by(10**9),
            "page_down": lambda: screen.list.move_by(screen.list.page()),
            "page_up": lambda: screen.list.move_by(-screen.list.page()),
            **{section.value: partial(screen.go_to, section) for section in Section},
            "next": partial(self._cycle, 1),
            "previous": partial(self._cycle, -1),
            "close": self._close,
            "palette": screen.open_palette,
            "help": screen.open_help,
            "quit": self._quit,
        }
        self.handlers = {f"inspector_{name}": handler for name, handler in handlers.items()}

    @property
    def _app(self) -> NoeiraApp:
        from noeira_tui.tui.app import NoeiraApp

        app = self._screen.app
        assert isinstance(app, NoeiraApp)
        return app

    def _cycle(self, step: int) -> None:
        order = list(Section)
        self._screen.go_to(order[(order.index(self._screen.section) + step) % len(order)])

    def _stop(self) -> None:
        self._screen.reads.stop()
        self._screen.paint()

    def _copy(self) -> None:
        text = self._screen.copied()
        self._screen.app.copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())
        self._screen.tell(f"Copied: {text}")

    def _close(self) -> None:
        screen = self._screen
        if not (screen.shows_episodes and (screen.look.back() or screen.judging.unmark())):
            screen.dismiss(None)

    def _go(self) -> None:
        from noeira_tui.tui.modals.ask import AskDialog

        screen, table = self._screen, self._screen.table
        if table is None:
            return

        def check(text: str) -> str | None:
            if not text.strip().isdecimal():
                return "Type the number of an episode, such as 17."
            return None if table.find(int(text)) else f"There is no episode {int(text)}."

        def answered(text: str | None) -> None:
            if text is not None:
                screen.go_to_episode(int(text))

        ends = [table.page(at, 1)[0].index for at in (0, len(table) - 1)]
        hint = f"From {ends[0]} to {ends[1]}."
        screen.app.push_screen(AskDialog("Go to episode", hint, screen.glyphs, check=check, yes="go"), answered)

    def _quit(self) -> None:
        self._app.main_screen.act("quit")
