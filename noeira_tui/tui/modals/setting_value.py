"""Asks for a setting's new value, and says at once why one cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from noeira_tui.overview.configuring import ChangeableSetting
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog
from noeira_tui.tui.text import Line, clean, short_path, wrap
from noeira_tui.tui.widgets.painted import Painted

_WIDTH = 66


class SettingValueDialog(Dialog[str]):
    """Dismissed with a value that `refusal` has nothing against."""

    def __init__(
        self, setting: ChangeableSetting, refusal: Callable[[str], str | None], glyphs: Glyphs, *, config_file: str
    ) -> None:
        super().__init__(setting.setting.spec.file_key, glyphs)
        self.add_class("setting-value")
        self._setting = setting
        self._refusal = refusal
        self._config_file = clean(short_path(config_file), glyphs)
        spec = setting.setting.spec
        # A key that is there already is neither shown nor edited, only replaced.
        value = "" if spec.secret else (setting.in_file if setting.in_file is not None else setting.setting.value or "")
        hint = f"now {setting.setting.shown}: paste another" if spec.secret and setting.setting.value else spec.default
        self._field = Input(
            clean(value, glyphs), placeholder=clean(hint, glyphs), password=spec.secret, id="value", compact=True
        )
        self._what, self._note = Painted(classes="note"), Painted(classes="verdict")

    def contents(self) -> Iterable[Widget]:
        yield self._what
        yield self._field
        yield self._note

    def keys(self) -> Line:
        return (("enter", "accent"), (" save  ", "quiet"), (self.key("close"), "accent"), (" cancel", "quiet"))

    def fill(self) -> None:
        self._what.show([((part, "quiet"),) for part in wrap(self._setting.setting.spec.meaning, self._room)] + [()])
        self._judge()

    @property
    def _room(self) -> int:
        return max(10, min(_WIDTH, self.size.width * 96 // 100) - 6)

    @on(Input.Changed)
    def _changed(self) -> None:
        self._judge()

    def _judge(self) -> bool:
        reason = (
            self._refusal(self._field.value)
            if self._field.value.strip()
            else f"Type a value; {self.key('close')} leaves it as it is."
        )
        if reason is None:
            said, look = f"It is written to {self._config_file}", "faint"
        else:
            said, look = reason, "trouble" if self._field.value.strip() else "faint"
        lines: list[Line] = [((part, look),) for part in wrap(clean(said, self.glyphs), self._room)]
        self._note.show([*lines[:3], *[()] * (3 - len(lines))])
        return reason is None

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if self._judge():
            self.dismiss(self._field.value.strip())
