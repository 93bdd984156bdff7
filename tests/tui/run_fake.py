"""Runs the app on the fake box in a terminal of its own, for the tests that kill it. Not a test itself."""

from __future__ import annotations

import sys
import time

from noeira_tui.tui.app import run
from tests.tui.fake_box import FakeBox, sample_jobs


class HangingBox(FakeBox):
    """Its looks never end."""

    def look(self, *, ask_service: bool = True) -> object:  # type: ignore[override]
        time.sleep(3600)
        raise AssertionError


def main(mode: str) -> int:
    box = HangingBox() if mode == "hang" else FakeBox()
    box.set_jobs(*sample_jobs())
    if mode == "block":
        # The loop is stuck: nothing but the signal handler runs.
        box.on_look = lambda: None
        from noeira_tui.tui.screens.main import MainScreen

        MainScreen.on_looked = lambda self, message: time.sleep(3600)  # type: ignore[method-assign,assignment]
    if mode == "crash":
        from noeira_tui.tui.screens.main import MainScreen

        def crash(self: MainScreen, message: object) -> None:
            secret = "-".join(("never", "shown"))
            raise RuntimeError(f"on purpose, after {len(secret)} characters")

        MainScreen.on_looked = crash  # type: ignore[method-assign,assignment]
    return run(box)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
