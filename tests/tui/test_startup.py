"""Opening the app pays only for what the first paint needs."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "httpx", "pyarrow", "sqlite3", "fastapi", "typer", "tomllib",
    "noeira_tui.overview", "noeira_tui.jobs", "noeira_tui.assets", "noeira_tui.catalog", "noeira_tui.transfer",
)  # fmt: skip

FIRST_PAINT = """
import asyncio, sys
from noeira_tui.tui.app import make_app
from noeira_tui.tui.screens.main import MainScreen
MainScreen.call_after_refresh = lambda self, *args: True  # the watcher never starts: nothing but the first paint
app = make_app(None)
async def main():
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause()
        text = "".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "2 Catalog" in text, "not painted"
asyncio.run(main())
print(*sorted(sys.modules))
"""


def test_the_first_paint_imports_nothing_heavy() -> None:
    ran = subprocess.run([sys.executable, "-c", FIRST_PAINT], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    loaded = set(ran.stdout.split())
    assert "noeira_tui.tui.screens.main" in loaded
    assert [name for name in loaded if name in HEAVY] == []
