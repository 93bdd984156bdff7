"""The registry: everything the keyboard, the footer, the palette, the help and the docs say comes from it."""

from __future__ import annotations

import re
from pathlib import Path

from noeira_tui.tui.actions import ACTIONS, BY_ID, LISTS, Danger, Situation, bindings
from noeira_tui.tui.inspector_actions import INSPECTOR
from noeira_tui.tui.keydocs import keys_page
from noeira_tui.tui.modals.dialog import Dialog
from noeira_tui.tui.modals.unsent import UnsentDialog
from noeira_tui.tui.operations import Operations
from noeira_tui.tui.rows import Place
from noeira_tui.tui.setup_actions import SETUP
from tests.tui.driving import driving
from tests.tui.fake_box import FakeBox


def test_ids_and_keys_are_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)
    for place in Place:
        keys = [key for action in ACTIONS if place in action.places for key in action.keys]
        assert len(keys) == len(set(keys)), place


def test_every_binding_has_the_id_of_its_action() -> None:
    bound = bindings()
    assert {binding.id for binding in bound} == {
        action.id for action in ACTIONS if action.keys and Place.DIALOG not in action.places
    }
    setup = {action.id for action in SETUP}
    assert {binding.id for binding in (*Dialog.BINDINGS, *UnsentDialog.BINDINGS)} == {  # type: ignore[union-attr]
        action.id for action in ACTIONS if Place.DIALOG in action.places and action.id not in setup
    }


async def test_every_action_is_done_by_somebody() -> None:
    async with driving() as app:
        handlers = Operations(app.main, FakeBox()).handlers
        assert set(handlers) == {action.id for action in ACTIONS if Place.DIALOG not in action.places}


def test_an_action_that_does_not_work_everywhere_says_where() -> None:
    for action in ACTIONS:
        if Place.DIALOG not in action.places and action.places != LISTS:
            assert action.elsewhere.endswith("."), action.id


def test_read_only_leaves_only_what_harms_nothing() -> None:
    now = Situation(Place.CATALOG, marked=1, read_only=True)
    for action in ACTIONS:
        refused = action.why_not(now)
        if action.danger is not Danger.NONE:
            assert refused is not None
            assert "read-only" in refused


def test_the_page_of_keys_is_that_of_the_registry() -> None:
    page = Path(__file__).parents[2] / "docs/keys.md"
    made = keys_page()
    assert page.read_text("utf-8") == made, "python -m noeira_tui.tui.keydocs > docs/keys.md"
    for action in (*ACTIONS, *INSPECTOR):
        assert f"| `{action.id}` | {action.label} |" in made
    assert "| `p` | `pull` | pull | ▲ Fetch" in made


async def test_the_footer_shows_the_keys_of_the_focused_list() -> None:
    async with driving() as app:
        assert re.search(r"p pull .*u push .*space mark", app.keys_shown())
        await app.press("1")
        assert re.search(r"p pull .*u push .*w watch .*enter details", app.keys_shown())
        await app.press("3")
        assert re.search(r"p pull .*v verify", app.keys_shown())
        assert "u push" not in app.keys_shown()
        await app.press("4")
        assert "r retry" in app.keys_shown()
        for place in ("1", "2", "3", "4"):
            await app.press(place)
            assert app.keys_shown().rstrip().endswith("^p commands  ? help  q quit")


async def test_keys_can_be_remapped_by_id() -> None:
    async with driving() as app:
        app.app.set_keymap({"pull": "f5"})
        await app.highlight("dataset:hopper-medium-v2")
        await app.press("f5")
        await app.until(lambda: app.asked("pull") == [("pull", "hopper-medium-v2", False)])
