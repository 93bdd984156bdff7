"""How much there is to fetch is in sight where three panes are narrow."""

from __future__ import annotations

import pytest

from noeira_tui.core.states import State
from tests.tui.driving import driving
from tests.tui.fake_box import FakeBox, dataset, overview, sample_jobs


@pytest.mark.parametrize(("width", "unit"), [(100, "G"), (119, " GB"), (120, " GB"), (140, " GB")])
async def test_the_catalog_shows_sizes_in_three_panes(width: int, unit: str) -> None:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    async with driving(box, size=(width, 30)) as app:
        rows = [line for line in app.screen_text().splitlines() if "g1-walk-v2" in line and "68 %" in line]
        assert any(f"40.2{unit} ↓" in row for row in rows), rows
        row = next(line for line in app.screen_text().splitlines() if "libero@v1" in line)
        assert "189M " in row or "189 MB " in row


async def test_a_long_state_leaves_the_size_beside_a_name_of_sixteen() -> None:
    box = FakeBox(picture=overview(datasets=(dataset("hopper-medium-v2", State.UNVERIFIED, 611_000_000),)))
    async with driving(box, size=(100, 30)) as app:
        assert "hopper-medium-v2 611M" in app.screen_text()
        assert "unverified" in app.screen_text()


async def test_a_toast_is_not_cut_where_it_has_little_room() -> None:
    said = " ".join(f"word{index:02d}" for index in range(24))
    async with driving(size=(50, 30)) as app:
        app.main.tell(said)
        await app.until(lambda: all(word in app.screen_text() for word in said.split()))
