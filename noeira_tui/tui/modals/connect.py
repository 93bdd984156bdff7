"""Asks for a service's address and key, asks the service itself, and keeps both where the user wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from noeira_tui.core.errors import NoeiraError, RefusedError, UnreachableError
from noeira_tui.core.settings import API_KEY, URL, Settings
from noeira_tui.core.settingspecs import no_url
from noeira_tui.overview import connecting
from noeira_tui.overview.connecting import Answer, Connection
from noeira_tui.tui.actions import dialog_binding
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog
from noeira_tui.tui.text import Line, clean, short_path, wrap
from noeira_tui.tui.threads import Errands
from noeira_tui.tui.widgets.choice import Choice
from noeira_tui.tui.widgets.painted import Painted

_WIDTH = 76
_NOTE_LINES = 6


class Field(Input):
    """A field that hands pasted lines to the dialog: both lines that `serve` prints can be pasted at once."""

    class Pasted(Message):
        """Text with settings in it was pasted."""

        def __init__(self, url: str | None, key: str | None) -> None:
            super().__init__()
            self.url = url
            self.key = key

    def _on_paste(self, event: events.Paste) -> None:
        url, key = connecting.pasted(event.text)
        if url is not None or key is not None:
            event.stop()
            event.prevent_default()
            self.post_message(self.Pasted(url, key))


class ConnectDialog(Dialog[Settings]):
    """Dismissed with the settings after address and key were kept; they counted when they were."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [dialog_binding("keep_anyway", "keep_anyway")]

    def __init__(self, settings: Settings, errands: Errands, glyphs: Glyphs) -> None:
        super().__init__("Connect to a catalog service", glyphs)
        self.add_class("connect")
        self._settings = settings
        self._errands = errands
        key = settings.setting(API_KEY)
        self._url = Field(
            clean(settings.get(URL) or ""), placeholder="https://cloud.example.org", id="url", compact=True
        )
        shown = f"{key.shown} is kept already: paste another, or leave it" if key.value else f"nk_{glyphs.ellipsis}"
        self._key = Field(placeholder=clean(shown, glyphs), password=True, id="key", compact=True)
        self._places = connecting.places(settings)
        self._place = Choice([_told(path, settings) for path in self._places], glyphs, id="place")
        self._note = Painted(classes="verdict")
        self._asked: Connection | None = None
        self._may_keep: Connection | None = None
        self._done: Settings | None = None

    def on_mount(self) -> None:
        super().on_mount()
        # Where there is an address already, it is the key that is wrong or new.
        (self._key if self._url.value else self._url).focus()

    def contents(self) -> Iterable[Widget]:
        for name, widget in (("address", self._url), ("API key", self._key), ("keep both in", self._place)):
            label = Painted(classes="label")
            label.show([((name, "faint"),)])
            yield label
            yield widget
        yield self._note

    def keys(self) -> Line:
        return (
            ("enter", "accent"), (" check and keep  ", "quiet"), ("tab", "accent"), (" next field  ", "quiet"),
            (self.key("close"), "accent"), (" cancel", "quiet"),
        )  # fmt: skip

    def fill(self) -> None:
        if not self._note.text.strip():
            self._say((("Paste the two lines that `noeira-tui serve` prints into either field, or type.", "faint"),))

    def _say(self, said: Iterable[tuple[str, str]]) -> None:
        width = max(10, min(_WIDTH, self.size.width * 96 // 100) - 6)
        lines: list[Line] = [
            ((part, look),) for text, look in said for part in wrap(clean(text, self.glyphs), width) if text
        ]
        self._note.show([*lines[:_NOTE_LINES], *[()] * (_NOTE_LINES - len(lines))])

    @on(Field.Pasted)
    def _pasted(self, message: Field.Pasted) -> None:
        self._url.value = message.url if message.url is not None else self._url.value
        self._key.value = message.key if message.key is not None else self._key.value
        (self._key if not self._key.value else self._place).focus()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._may_keep = None

    def _sort_out(self) -> None:
        """Put whole lines that were typed, or pasted by a terminal that does not tell, where they belong."""
        for field in (self._url, self._key):
            url, key = connecting.pasted(field.value)
            if url is not None or key is not None:
                field.value = ""
                self._url.value = self._url.value if url is None else url
                self._key.value = self._key.value if key is None else key

    def on_paste(self, event: events.Paste) -> None:
        """The lines can be pasted wherever the keyboard is."""
        url, key = connecting.pasted(event.text)
        if url is not None or key is not None:
            self.post_message(Field.Pasted(url, key))

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter" and self._place.has_focus:
            event.stop()
            self._sort_out()
            self._check()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self._sort_out()
        has_key = self._key.value or self._settings.get(API_KEY) is not None
        if event.input is self._url and self._url.value.strip() and not has_key:
            self._key.focus()
        else:
            self._check()

    def _check(self) -> None:
        if self._done is not None:
            self.dismiss(self._done)
            return
        url = connecting.completed_url(self._url.value)
        key = self._key.value.strip() or self._settings.get(API_KEY) or ""
        problem = connecting.problem_with(url, key)
        if problem is not None:
            self._say(((problem, "trouble"),))
            (self._key if url and no_url(url) is None else self._url).focus()
            return
        connection = self._asked = Connection(url, key)
        self._say(((f"Asking {url} {self.glyphs.ellipsis}", "accent"),))
        self._errands.run(
            lambda: connecting.ask(connection),
            self._if_meant(connection, lambda answer: self._keep(connection, answer)),
            self._if_meant(connection, self._refused),
        )

    def _if_meant(self, connection: Connection, then: Callable[..., None]) -> Callable[..., None]:
        """An answer counts only while nobody asked for something else, or left."""

        def taken(answer: object) -> None:
            if self.is_attached and self._asked is connection:
                then(answer)

        return taken

    def _refused(self, error: NoeiraError) -> None:
        keeps = isinstance(error, UnreachableError)
        self._may_keep = self._asked if keeps else None
        # The hint of a refused key is for one that is kept somewhere already.
        hint = "Paste the whole key again." if isinstance(error, RefusedError) else error.hint
        told = error.message if keeps else f"{error.title}: {error.message}"
        if isinstance(error, RefusedError) and error.server_text:
            told = f"{error.title}: the service answers {error.status}, {error.server_text.rstrip('.')}."
        said = [(told, "trouble"), (hint, "quiet")]
        self._say([*said, (f"{self.key('keep_anyway')} keeps it all the same.", "attention")] if keeps else said)

    def action_keep_anyway(self) -> None:
        if self._may_keep is not None:
            self._keep(self._may_keep, None)

    def _keep(self, connection: Connection, answer: Answer | None) -> None:
        place = self._places[self._place.chosen]
        self._errands.run(
            lambda: connecting.keep(self._settings, connection, place),
            lambda settings: self._kept(settings, connection, answer),
            self._if_meant(connection, self._refused),
        )

    def _kept(self, settings: Settings, connection: Connection, answer: Answer | None) -> None:
        if not self.is_attached:
            return
        way = connecting.stands_in_the_way(settings, connection)
        if way is None:
            self.app.notify(_welcome(connection, answer), markup=False)
            self.dismiss(settings)
            return
        self._done = settings
        self._say(((f"Kept, but {way}", "attention"), ("Take it out there, then open the app again.", "quiet")))

    def action_leave(self) -> None:
        self.dismiss(self._done)


def _welcome(connection: Connection, answer: Answer | None) -> str:
    if answer is None:
        return clean(f"Kept. {connection.url} gave no answer yet.")
    seen = (
        "its project" if answer.datasets is None else f"{answer.datasets} dataset{'' if answer.datasets == 1 else 's'}"
    )
    return clean(f"Connected to {answer.service}: {seen}.")


def _told(path: Path, settings: Settings) -> str:
    """A place to keep a key, in words."""
    what = "settings file, for every folder" if path == settings.config_file else "for this folder"
    return clean(f"{short_path(path)}  ({what})")
