"""The app: one factory for the command line and the tests, and the way to run it so that the terminal comes back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, NoColor

from noeira_tui.core.installed import PROGRAM
from noeira_tui.tui.action import key_label
from noeira_tui.tui.actions import key_of
from noeira_tui.tui.board import Board
from noeira_tui.tui.glyphs import Glyphs, glyphs_for
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.screens.main import LIST_BELOW, ROOMY_FROM, TABS_BELOW, WIDE_FROM, MainScreen
from noeira_tui.tui.screens.painter import SHORT_FROM, TALL_FROM
from noeira_tui.tui.styles import style_sheet
from noeira_tui.tui.terminal import draw_on_the_terminal, has_mouse, kept_terminal
from noeira_tui.tui.themes import DARK, LIGHT, look_variables
from noeira_tui.tui.threads import is_over_ssh

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.widget import Widget

Clock = Callable[[], float]
OwnKeys = Mapping[str, tuple[str, ...]]
"""The user's keys by the ids of actions."""


class NoeiraApp(App[None]):
    """Everything on this box at a glance. Build it with `make_app`."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [style_sheet("app.tcss"), style_sheet("main.tcss")]
    # Textual declares these with an odd type that a ClassVar cannot override.
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-list"),
        (LIST_BELOW, "-tabs"),
        (TABS_BELOW, "-panes"),
        (ROOMY_FROM, "-roomy"),
        (WIDE_FROM, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SHORT_FROM, "-short"), (TALL_FROM, "-tall")]  # noqa: RUF012
    TITLE = "noeira"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+c", "leave_hint", show=False),
    ]

    def __init__(
        self,
        box: BoxLike,
        *,
        read_only: bool,
        glyphs: Glyphs,
        clock: Clock,
        theme: str | None,
        asks_for_service: bool,
        keys: OwnKeys,
    ) -> None:
        super().__init__()
        self._box = box
        self.own_keys = keys
        if keys:
            self.set_keymap({action_id: ",".join(own) for action_id, own in keys.items()})
            glyphs = replace(glyphs, own_keys={action_id: key_label(own[0]) for action_id, own in keys.items()})
        self._board = Board(glyphs, clock)
        self._read_only = read_only
        self._over_ssh = is_over_ssh()
        self._typed_for: WeakKeyDictionary[events.Key, Widget | None] = WeakKeyDictionary()
        if self._over_ssh:
            self.animation_level = "none"
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self._unknown_theme = theme if theme is not None and theme not in self.available_themes else None
        self._begin_with(DARK.name if theme is None or self._unknown_theme else theme)
        self._asks_for_service = asks_for_service and not read_only

    def _begin_with(self, theme: str) -> None:
        """Have a theme from the start: its watcher would parse all style sheets again before the first paint."""
        if theme not in {DARK.name, LIGHT.name}:
            self.theme = theme  # one of Textual's may speak ANSI colours, which takes more
            return
        self.set_reactive(App.theme, theme)
        is_dark = self.current_theme.dark
        for name, has in (("-dark-mode", is_dark), ("-light-mode", not is_dark), (f"-theme-{theme}", True)):
            self.set_class(has, name, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def on_ready(self) -> None:
        if self._unknown_theme is not None:
            told = f"There is no theme {self._unknown_theme}. Choose one: {key_of(self, 'palette')}, theme."
            self.main_screen.tell(told, severity="warning")
        if self._asks_for_service:
            self.main_screen.act("service")

    def get_default_screen(self) -> MainScreen:
        return MainScreen(self._box, self._board, read_only=self._read_only, over_ssh=self._over_ssh)

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        self.theme_variables = {**variables, **look_variables(variables)}
        return self.theme_variables

    def _fatal_error(self) -> None:
        """Say where a fault of ours is, without the values of variables: keys may be among them."""
        from rich.segment import Segments
        from rich.text import Text
        from rich.traceback import Traceback

        self.bell()
        if PROGRAM.look():
            self._exit_renderables.append(Text(f"{PROGRAM.told()} Run noeira-tui again; jobs go on."))
            self._close_messages_no_wait()
            return
        lines = self.console.render(Traceback(width=None), self.console.options)
        self._exit_renderables.append(Segments(lines))
        self._close_messages_no_wait()

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        if driver.__name__ == "LinuxDriver":
            from noeira_tui.tui.wiping import WipingDriver

            return WipingDriver
        return driver

    def get_line_filters(self) -> list[LineFilter]:
        filters = list(super().get_line_filters())
        # NO_COLOR means none at all: Textual's own filter would still write shades of grey.
        return [*filters, _NO_COLOR] if self.no_color else filters

    async def on_event(self, event: events.Event) -> None:
        """Give a key that was typed before the keyboard moved to the widget it was meant for.

        Keys typed fast, or sent together by a slow link, are all handed to the widget that has the keyboard when they
        arrive. When the first one opens the filter, the others would come back as commands: `/quad` would quit.
        """
        if isinstance(event, events.Key):
            focused = self.focused
            if not event.is_forwarded:
                self._typed_for[event] = focused
            elif focused is not None and self._typed_for.get(event, focused) is not focused:
                self._typed_for[event] = focused
                focused._forward_event(event)
                return
        await super().on_event(event)

    def action_leave(self) -> None:
        self.main_screen.act("quit")

    def action_leave_hint(self) -> None:
        self.main_screen.tell(f"{key_of(self, 'quit')} leaves the app; jobs go on without it.")

    @property
    def main_screen(self) -> MainScreen:
        """The screen below all dialogs."""
        screen = self.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen


_NO_COLOR = NoColor()


def make_app(
    box: BoxLike,
    *,
    read_only: bool = False,
    glyphs: Glyphs | None = None,
    clock: Clock = time.time,
    theme: str | None = None,
    asks_for_service: bool = False,
    keys: OwnKeys | None = None,
) -> NoeiraApp:
    """The app on a box. `glyphs` are chosen by the locale, `clock` is the time of day unless a test brings another.

    `theme` is the one that was chosen before; with `asks_for_service` the app begins with how to get a service. `keys`
    are the user's own, see `noeira_tui.tui.keymap`.
    """
    return NoeiraApp(
        box,
        read_only=read_only,
        glyphs=glyphs or glyphs_for(os.environ),
        clock=clock,
        theme=theme,
        asks_for_service=asks_for_service,
        keys=keys or {},
    )


def run(
    box: BoxLike,
    *,
    read_only: bool = False,
    theme: str | None = None,
    asks_for_service: bool = False,
    keys: OwnKeys | None = None,
) -> int:
    """Run the app until it is left; returns the exit code: 0, 1 after a crash, 129 or 143 after SIGHUP or SIGTERM.

    However it ends, the terminal is put back. Whether there is a terminal at all is for the caller to check.
    """
    draw_on_the_terminal()
    app = make_app(box, read_only=read_only, theme=theme, asks_for_service=asks_for_service, keys=keys)
    code = 0

    def end(exit_code: int) -> None:
        nonlocal code
        code = exit_code
        loop = app._loop  # the signal comes between two byte codes of any function: only the loop may call the app
        if loop is not None:
            loop.call_soon_threadsafe(lambda: app.exit(return_code=exit_code))

    with kept_terminal(end) as keeper:
        app.run(mouse=has_mouse(os.environ))
        keeper.restored()
    box.close()
    return code or app.return_code or 0
