"""`Page`: a screen over the main one, with a registry of actions of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.screen import Screen

from noeira_tui.tui.messages import ErrandDone, ErrandFailed
from noeira_tui.tui.telling import Telling
from noeira_tui.tui.threads import Errands
from noeira_tui.tui.widgets.key_bar import KeyBar

if TYPE_CHECKING:
    from noeira_tui.tui.action import Action, Situation
    from noeira_tui.tui.glyphs import Glyphs


class Page(Screen[None]):
    """What pages have in common: keys do the actions of `ACTIONS` or say why not, threads run errands, toasts tell."""

    ACTIONS: ClassVar[tuple[Action, ...]] = ()

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self.glyphs = glyphs
        self.errands = Errands(self.post_message)
        self.telling = Telling(self, glyphs)

    @property
    @abstractmethod
    def handlers(self) -> Mapping[str, Callable[[], None]]:
        """What each action does, by its id."""

    @abstractmethod
    def situation(self) -> Situation:
        """What decides which actions can be used now."""

    def on_errand_done(self, message: ErrandDone) -> None:
        self.telling.unless_replaced(message.then)

    def on_errand_failed(self, message: ErrandFailed) -> None:
        if message.otherwise is not None:
            message.otherwise(message.error)
        else:
            self.telling.show_error(message.error)

    def tell(self, text: str, *, severity: str = "information") -> None:
        """A toast. Its text is literal."""
        self.telling.tell(text, severity=severity)

    @on(KeyBar.Clicked)
    def _key_clicked(self, message: KeyBar.Clicked) -> None:
        self.act(message.action_id)

    def action_act(self, action_id: str) -> None:
        """What a key does."""
        self.act(action_id)

    def act(self, action_id: str) -> None:
        """Do an action of this screen, or say why not."""
        action = next(action for action in self.ACTIONS if action.id == action_id)
        reason = action.why_not(self.situation())
        if reason is not None:
            self.tell(reason, severity="warning")
        else:
            self.telling.unless_replaced(self.handlers[action_id])

    def open_palette(self) -> None:
        """Find any action of this screen by its name."""
        from noeira_tui.tui.modals.palette import PaletteDialog

        def chosen(action_id: str | None) -> None:
            if action_id is not None:
                self.act(action_id)

        self.app.push_screen(PaletteDialog(self.situation(), self.glyphs, self.ACTIONS), chosen)

    def open_help(self) -> None:
        """The keys that work here."""
        from noeira_tui.tui.modals.help import HelpDialog

        self.app.push_screen(HelpDialog(self.situation(), self.glyphs, self.ACTIONS))
