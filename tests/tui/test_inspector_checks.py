"""The deep check by `V`: what it finds, and how far it is while one waits for it."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.facts import Problem
from noeira_tui.datasets.store import Cost
from noeira_tui.tui.screens.inspector import InspectorScreen
from tests.support.datasets_build import write_v3
from tests.tui.driving import driving
from tests.tui.fake_inspector import FakeInspector
from tests.tui.inspecting import inspecting


async def test_a_deep_check_by_a_key(tmp_path: Path) -> None:
    write_v3(tmp_path / "small")
    shutil.copytree(tmp_path / "small", tmp_path / "cut")
    (tmp_path / "cut/videos/observation.images.front/chunk-000/file-000.mp4").unlink()
    async with inspecting(tmp_path / "cut") as looking:
        await looking.press("5", "V")
        await looking.until(lambda: looking.screen.checked)
        assert "missing_file" in looking.text
        assert "videos/observation.images.front/chunk-000/file-000.mp4" in looking.text
        await looking.press("V")
        assert "looked at already" in looking.driver.toasts()
        await looking.press("y")
        assert "missing_file" in looking.driver.app.clipboard


@dataclass
class Checking(FakeInspector):
    """Its deep check lasts until it is let go."""

    go: threading.Event = field(default_factory=threading.Event)

    def deepen(self, cancel: CancelToken | None = None) -> tuple[Problem, ...]:
        self.go.wait(30)
        return super().deepen(cancel)


async def test_it_says_how_far_it_is() -> None:
    inspector = Checking()
    async with driving() as app:
        screen = InspectorScreen("s3://robots/so101", lambda _: inspector, app.main.board.glyphs)  # type: ignore[arg-type,return-value]
        await app.app.push_screen(screen)
        await app.until(lambda: screen.info is not None and not screen.reads.running, "read")
        await app.press("V")
        await app.until(lambda: "comparing rows and videos" in app.screen_text(), "begun")
        assert "%" not in app.text("#status"), "nobody knows yet how much there is"
        for done, told in ((0, "0 % · 0 of 120 files"), (34, "28 % · 34 of 120 files"), (120, "100 % · 120 of")):
            inspector.cost = Cost(48_213, 7, done, 120)
            await app.until(lambda told=told: told in app.text("#status"), told)
        inspector.go.set()
        await app.until(lambda: screen.checked, "done")
        await app.until(lambda: "%" not in app.text("#status"), "its end")
