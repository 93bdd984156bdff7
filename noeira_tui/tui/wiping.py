"""Leaves the screen empty where a terminal does not bring back what it showed before the app.

The console of Linux has no alternate screen, mosh keeps none, and GNU screen only when it is told to. Where there is
one it is wiped as well, which nobody sees.
"""

from __future__ import annotations

from textual.drivers.linux_driver import LinuxDriver

from noeira_tui.tui.terminal import WIPE


class WipingDriver(LinuxDriver):
    """Wipes what was drawn, else the shell would go on in the middle of it."""

    def stop_application_mode(self) -> None:
        self.write(WIPE)
        super().stop_application_mode()
