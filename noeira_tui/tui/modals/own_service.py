"""Starts the catalog service of this box and says what is running, where its data is, and how to stop it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.settings import Settings
from noeira_tui.overview.ownservice import OwnService
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.modals.dialog import Dialog, Scrolled
from noeira_tui.tui.text import Line, clean, short_path, wrap


class OwnServiceDialog(Dialog[Settings]):
    """Dismissed with the settings that name the service, once it runs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "leave", show=False)]

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__("Service of this box", glyphs)
        self.add_class("own-service")
        self._body = Scrolled()
        self._said: list[tuple[str, str]] = [(f"Starting it{glyphs.ellipsis} this takes a few seconds.", "accent")]
        self._settings: Settings | None = None

    def contents(self) -> Iterable[Widget]:
        yield self._body

    def keys(self) -> Line:
        return (("enter", "accent"), (" go on  ", "quiet"), (self.key("copy_dialog"), "accent"), (" copy", "quiet"))

    def fill(self) -> None:
        width = max(10, min(80, self.size.width * 96 // 100) - 6)
        self._body.painted.show([((part, look),) for text, look in self._said for part in wrap(text, width)])

    def started(self, service: OwnService, settings: Settings, way: str | None) -> None:
        """Say what runs now; `way` is why the settings do not name it, None when they do."""
        self._settings = settings
        glyphs = self.glyphs
        ran = "It was running already" if service.was_running else "It runs"
        self._said = [
            (f"{glyphs.good} {ran}, and goes on without this app: {service.connection.url}", "good"),
            ("", ""),
            (clean(f"data    {short_path(service.data_dir)}", glyphs), ""),
            (clean(f"log     {short_path(service.log)}", glyphs), ""),
            (f"stop    {service.stop_command}", ""),
            (f"start   {service.start_command}  (after a reboot), or {self.key('service')} here", ""),
            (clean(f"key     {short_path(service.data_dir / 'client.env')}", glyphs), ""),
            ("", ""),
            (clean(f"This box uses it now: {short_path(settings.config_file)}", glyphs), "quiet")
            if way is None
            else (clean(f"This box does not use it yet: {way}", glyphs), "attention"),
        ]
        self.copied = "\n".join(text for text, _ in self._said if text)
        self.fill()

    def failed(self, error: NoeiraError) -> None:
        """Say why it does not run."""
        glyphs = self.glyphs
        self._said = [(clean(f"{error.title}: {error.message}", glyphs), "trouble"), ("", "")]
        self._said.append((clean(error.hint, glyphs), "quiet"))
        self.copied = "\n".join(text for text, _ in self._said if text)
        self.fill()

    def action_leave(self) -> None:
        self.dismiss(self._settings)
