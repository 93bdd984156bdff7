"""The app's end of a page: Textual's own driver, which ends with the server that started it."""

from __future__ import annotations

from textual import messages
from textual.drivers.web_driver import WebDriver


class PageDriver(WebDriver):
    """Ends the app when nobody can send it anything any more: its server was killed."""

    def run_input_thread(self) -> None:
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._app.post_message(messages.ExitApp())
