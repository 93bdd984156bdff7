"""What the actions of `setup_actions` do: settings, themes, the service. What reads or writes runs beside the app."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.core.settings import LOCAL_ONLY, THEME, URL, Settings
from noeira_tui.tui.ports import BoxLike

if TYPE_CHECKING:
    from noeira_tui.overview.configuring import ChangeableSetting
    from noeira_tui.tui.modals.settings import SettingsDialog
    from noeira_tui.tui.screens.main import MainScreen

_READ_ONLY = "This app was opened read-only."


class Setup:
    """The handlers, and how a change takes effect at once."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self.handlers: dict[str, Callable[[], None]] = {
            "settings": self._settings,
            "service": self._service,
            "themes": self._themes,
            "theme": self._other_theme,
        }

    def _use(self, settings: Settings) -> None:
        """Go on with these settings, and look at the box with them."""
        self._box.use(settings)
        self._screen.look_again()

    # Settings

    def _settings(self) -> None:
        from noeira_tui.overview import configuring
        from noeira_tui.tui.modals.settings import SettingsDialog

        screen = self._screen

        def read(found: tuple[ChangeableSetting, ...]) -> None:
            dialog = SettingsDialog(
                found,
                str(self._box.settings.config_file),
                screen.board.glyphs,
                edit=lambda one: self._edit(dialog, one),
                unset=lambda one: self._unset(dialog, one),
            )
            screen.app.push_screen(dialog)

        screen.errands.run(lambda: configuring.changeable(self._box.settings), read)

    def _edit(self, dialog: SettingsDialog, one: ChangeableSetting) -> None:
        from noeira_tui.core.settingspecs import is_on
        from noeira_tui.overview import configuring
        from noeira_tui.tui.modals.setting_value import SettingValueDialog

        if one.name == THEME:
            self._themes(dialog)
            return
        if self._screen.read_only:
            self._screen.tell(_READ_ONLY, severity="warning")
            return
        if one.name == LOCAL_ONLY:
            self._change(dialog, one.name, "no" if is_on(one.setting.value or "no") else "yes")
            return

        def given(value: str | None) -> None:
            if value is not None:
                self._change(dialog, one.name, value)

        settings = self._box.settings
        asks = SettingValueDialog(
            one,
            lambda text: configuring.refusal(settings, one.name, text),
            self._screen.board.glyphs,
            config_file=str(settings.config_file),
        )
        self._screen.app.push_screen(asks, given)

    def _unset(self, dialog: SettingsDialog, one: ChangeableSetting) -> None:
        if self._screen.read_only:
            self._screen.tell(_READ_ONLY, severity="warning")
        elif one.in_file is None:
            self._screen.tell(f"The settings file does not name {one.setting.spec.file_key}.", severity="warning")
        else:
            self._change(dialog, one.name, None)

    def _change(self, dialog: SettingsDialog | None, name: str, value: str | None) -> None:
        """Write one setting, use it, and show it."""
        from noeira_tui.overview import configuring

        def work() -> tuple[Settings, tuple[ChangeableSetting, ...]]:
            settings = configuring.change(self._box.settings, name, value)
            return settings, configuring.changeable(settings)

        def changed(result: tuple[Settings, tuple[ChangeableSetting, ...]]) -> None:
            settings, all_of_them = result
            if name == THEME:
                self._box.settings = settings
            else:
                self._use(settings)
            if dialog is not None and dialog.is_attached:
                dialog.take(all_of_them)
            now = next(one for one in all_of_them if one.name == name)
            if now.overruled:
                self._screen.tell(
                    f"{now.setting.spec.file_key} is written, but {now.setting.source.value} counts first: "
                    f"{now.setting.place}.",
                    severity="warning",
                )
            elif name == THEME and value is None:
                self._screen.app.theme = self._app_theme(settings)

        self._screen.errands.run(work, changed)

    # Colours

    def _app_theme(self, settings: Settings) -> str:
        from noeira_tui.tui.themes import DARK

        return settings.get(THEME) or DARK.name

    def _themes(self, settings_dialog: SettingsDialog | None = None) -> None:
        from noeira_tui.tui.modals.themes import ThemesDialog

        app = self._screen.app

        def chosen(name: str | None) -> None:
            if name is not None:
                self._change(settings_dialog, THEME, name)

        app.push_screen(ThemesDialog(app.available_themes, app.theme, self._screen.board.glyphs), chosen)

    def _other_theme(self) -> None:
        from noeira_tui.tui.themes import DARK, LIGHT

        app = self._screen.app
        app.theme = DARK.name if app.theme == LIGHT.name else LIGHT.name
        self._change(None, THEME, app.theme)

    # The service

    def _service(self) -> None:
        from noeira_tui.tui.modals.first_run import CONNECT, START, WITHOUT, FirstRunDialog

        settings = self._box.settings
        ways = {CONNECT: self._connect, START: self._start, WITHOUT: self._without}

        def look() -> tuple[str | None, Path]:
            # Imported beside the app: all of the jobs comes with it.
            from noeira_tui.overview import ownservice

            return ownservice.missing_extra(), ownservice.service_dir(os.environ, settings.cwd)

        def chosen(way: str | None) -> None:
            if way is not None:
                ways[way]()

        def show(found: tuple[str | None, Path]) -> None:
            missing, folder = found
            now = settings.setting(URL)
            told = f"{now.value} (from {now.source.value}, {now.place})" if now.value else ""
            dialog = FirstRunDialog(told, missing, str(folder), self._screen.board.glyphs)
            self._screen.app.push_screen(dialog, chosen)

        self._screen.errands.run(look, show)

    def _connect(self) -> None:
        from noeira_tui.tui.modals.connect import ConnectDialog

        dialog = ConnectDialog(self._box.settings, self._screen.errands, self._screen.board.glyphs)
        self._screen.app.push_screen(dialog, self._if_any)

    def _if_any(self, settings: Settings | None) -> None:
        if settings is not None:
            self._use(settings)

    def _start(self) -> None:
        from noeira_tui.overview import connecting, ownservice
        from noeira_tui.overview.ownservice import OwnService
        from noeira_tui.tui.modals.own_service import OwnServiceDialog

        settings = self._box.settings
        dialog = OwnServiceDialog(self._screen.board.glyphs)

        def work() -> tuple[OwnService, Settings, str | None]:
            service = ownservice.start(ownservice.service_dir(os.environ, settings.cwd))
            kept = connecting.keep(settings, service.connection, settings.config_file)
            return service, kept, connecting.stands_in_the_way(kept, service.connection)

        def started(result: tuple[OwnService, Settings, str | None]) -> None:
            self._use(result[1])
            if dialog.is_attached:
                dialog.started(*result)

        self._screen.app.push_screen(dialog)
        self._screen.errands.run(work, started, dialog.failed)

    def _without(self) -> None:
        from noeira_tui.overview import connecting

        def kept(settings: Settings) -> None:
            self._use(settings)
            self._screen.tell(
                f"This box alone. {self._screen.board.glyphs.key('service')} connects it to a service later."
            )

        self._screen.errands.run(lambda: connecting.go_without(self._box.settings), kept)
