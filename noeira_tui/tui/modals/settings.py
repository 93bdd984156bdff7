"""Every setting: its value, where that came from, what it is for, and what stands in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.widget import Widget

from noeira_tui.core.settings import Source
from noeira_tui.overview.configuring import ChangeableSetting
from noeira_tui.tui.actions import dialog_binding
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.list_dialog import ListDialog
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line, clean, cut_middle, fit, short_path, wrap
from noeira_tui.tui.widgets.painted import Painted
from noeira_tui.tui.widgets.row_list import RowList

_ABOUT_LINES = 6


class SettingsDialog(ListDialog[None]):
    """Shows settings; `edit` and `unset` are told which one the user means."""

    BINDINGS: ClassVar[list[BindingType]] = [
        dialog_binding("edit_setting", "choose"),
        dialog_binding("unset_setting", "unset"),
    ]

    def __init__(
        self,
        settings: tuple[ChangeableSetting, ...],
        config_file: str,
        glyphs: Glyphs,
        *,
        edit: Callable[[ChangeableSetting], None],
        unset: Callable[[ChangeableSetting], None],
    ) -> None:
        super().__init__("Settings", glyphs, list_id="settings-list")
        self.add_class("settings")
        self._settings = {one.name: one for one in settings}
        self._config_file = clean(short_path(config_file), glyphs)
        self._edit = edit
        self._unset = unset
        self._about = Painted(classes="about")

    def contents(self) -> Iterable[Widget]:
        yield self.rows_list
        yield self._about

    def keys(self) -> Line:
        named = {"edit_setting": " edit  ", "unset_setting": " take out  ", "copy_dialog": " copy  ", "close": " close"}
        return tuple(piece for key, does in named.items() for piece in ((self.key(key), "accent"), (does, "quiet")))

    def on_mount(self) -> None:
        super().on_mount()
        self.rows_list.styles.height = len(self._settings)
        self._show()
        self.rows_list.focus()

    def take(self, settings: tuple[ChangeableSetting, ...]) -> None:
        """Show these settings from now on."""
        self._settings = {one.name: one for one in settings}
        self._show()

    @property
    def current(self) -> ChangeableSetting | None:
        """The setting under the cursor."""
        row = self.rows_list.current
        return None if row is None else self._settings[row.key]

    def _show(self) -> None:
        # What a row shows is in it, so that the list can tell which rows changed.
        self.rows_list.show(
            tuple(
                Row(
                    key=one.name,
                    place=Place.DIALOG,
                    name=one.setting.spec.file_key,
                    subject=None,
                    note=clean(one.setting.shown, self.glyphs),
                    word=one.setting.source.value,
                )
                for one in self._settings.values()
            )
        )
        self.fill()

    def paint_row(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        one = self._settings[row.key]
        source = one.setting.source
        room = max(8, width - 16 - 14)
        if one.setting.value is None:
            value, look = fit(one.setting.spec.default or glyphs.none, room, glyphs), "faint"
        else:
            value, look = fit(cut_middle(row.note, room - 1, glyphs), room, glyphs), ""
        return ((f"{row.name:<16}", "strong"), (value, look), (source.value, _SOURCE_LOOKS.get(source, "quiet")))

    @on(RowList.Highlighted)
    def _moved(self, message: RowList.Highlighted) -> None:
        message.stop()
        self.fill()

    def fill(self) -> None:
        one = self.current
        if one is None:
            return
        glyphs, setting = self.glyphs, one.setting
        # What a secret is can be neither seen nor copied here.
        self.copied = "" if setting.spec.secret else (setting.value or "")
        said = [(f"{setting.spec.name} {glyphs.dot} {setting.spec.meaning}", "")]
        if setting.value is not None:
            where = "" if setting.place == setting.source.value else f", {clean(short_path(setting.place), glyphs)}"
            said.append((f"{clean(setting.shown, glyphs)}  from {setting.source.value}{where}", "quiet"))
        if one.overruled:
            place = clean(short_path(setting.place), glyphs)
            has = f"it says {clean(one.file_shown, glyphs)}" if one.in_file is not None else "it does not name this one"
            said.append((f"The {place} counts before the settings file; {has}.", "attention"))
        said.append((f"Changes are written to {self._config_file}", "faint"))
        width = max(10, self.size.width * 96 // 100 if self.size.width < 100 else 96) - 6
        lines: list[Line] = [((part, look),) for text, look in said for part in wrap(text, width)]
        self._about.show([*lines[:_ABOUT_LINES], *[()] * (_ABOUT_LINES - len(lines))])

    def action_choose(self) -> None:
        if self.current is not None:
            self._edit(self.current)

    def action_unset(self) -> None:
        if self.current is not None:
            self._unset(self.current)


_SOURCE_LOOKS = {
    Source.DEFAULT: "faint",
    Source.FILE: "good",
    Source.ENVIRONMENT: "attention",
    Source.FLAG: "attention",
}
