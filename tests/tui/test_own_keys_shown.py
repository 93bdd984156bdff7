"""With every key given to something else, no text on any screen names a key that was its own before."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from noeira_tui.core.errors import NoeiraError, UnreachableError
from noeira_tui.overview import connecting, ownservice
from noeira_tui.overview.picture import ServiceView
from noeira_tui.tui.action import Action, key_label
from noeira_tui.tui.actions import ACTIONS
from noeira_tui.tui.app import NoeiraApp, make_app
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.inspector_actions import INSPECTOR
from noeira_tui.tui.keymap import own_keys
from noeira_tui.tui.quality_actions import QUALITY
from noeira_tui.tui.rows import Place
from noeira_tui.tui.screens.inspector import InspectorScreen
from tests.tui.driving import Driver
from tests.tui.fake_box import FakeBox, frozen_clock, overview, sample_jobs
from tests.tui.fake_inspector import FakeInspector
from tests.tui.test_snapshots import offline, watched

EVERY = (*ACTIONS, *INSPECTOR, *QUALITY)
FIXED = frozenset({"enter", "tab", "shift+tab", "up", "down", "left", "right"})
"""What forms and lists of dialogs listen to, whatever an action's keys are."""


def _remapped() -> dict[str, tuple[str, ...]]:
    """Other keys for all: function keys, with ctrl for the main screen, alt for dialogs, shift and alt for pages."""
    given: dict[str, str] = {}
    counts: dict[str, int] = {}
    for action in EVERY:
        prefixes = _prefixes(action)
        at = counts[prefixes[0]] = counts.get(prefixes[0], 0) + 1
        given[action.id] = f"{prefixes[(at - 1) // 24]}f{(at - 1) % 24 + 1}"
    return own_keys(given, "here")


def _prefixes(action: Action) -> tuple[str, ...]:
    if action in INSPECTOR:
        return ("alt+", "alt+ctrl+")
    if action in QUALITY:
        return ("alt+shift+", "alt+ctrl+shift+")
    return ("shift+alt+super+",) if Place.DIALOG in action.places else ("ctrl+", "ctrl+shift+", "super+")


KEYS = _remapped()
DEFAULTS = {key_label(key) for action in EVERY for key in action.keys} - FIXED
WORDS = frozenset({"space", "home", "end"})
"""Keys that are words of the app's texts as well: looked for only where a key would stand."""
_NAMED = "|".join(
    re.escape(label) for label in sorted(DEFAULTS - WORDS, key=len, reverse=True) if len(label) > 1 or label in "[]?"
)
LONG = re.compile(rf"(?<![\w+^])(?:{_NAMED}|ctrl\+[a-z])(?![\w])")
PRESSED = re.compile(r"(?:[Pp]ress |kept for |of them with |reasons: )([A-Za-z0-9/]|space)(?= |\.|$|,)")
DOING = re.compile(r"(?<![\w.+×/-])([A-Za-z])(?= (?:[a-z]+s)\b(?! ago))")
NOT_KEYS = frozenset({"a", "s", "h", "d"})
"""Words and units: `a sparkline draws`, `4 s`; they follow a number or stand before a noun."""


def keys_of_before(text: str) -> set[str]:
    """The default keys that a text names."""
    found = {hit.group(0).strip() for hit in LONG.finditer(text)}
    found |= {hit.group(1) for hit in PRESSED.finditer(text)}
    found |= {hit.group(1) for hit in DOING.finditer(text)} - NOT_KEYS
    for action in EVERY:
        for key in action.keys:
            label = key_label(key)
            if label not in FIXED and re.search(rf"(?:^|\s){re.escape(label)} {re.escape(action.label)}(?:\s|$)", text):
                found.add(label)
    return found & DEFAULTS


def test_a_text_with_a_default_key_is_noticed() -> None:
    for text in (
        "R asks again",
        "  esc close  y copy",
        "press 3.",
        "kept for r.",
        " p pull ",
        "^s keeps it",
        "reasons: D",
    ):
        assert keys_of_before(text), text
    for text in (
        "4 files sent",
        "last sent 4 s ago",
        "^f3 pull",
        "1 of 3 files is gone",
        "^f9 free space",
        "with a project",
    ):
        assert not keys_of_before(text), text


@asynccontextmanager
async def remapped(box: FakeBox, size: tuple[int, int] = (140, 40)) -> AsyncIterator[Driver]:
    app = make_app(box, glyphs=SYMBOLS, clock=frozen_clock, keys=KEYS)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot, box)
        await driver.until(lambda: driver.main.board.overview and not driver.main.looking, "settled")
        yield driver


def key(action_id: str) -> str:
    return KEYS[action_id][0]


def check(driver: Driver) -> None:
    shown = driver.screen_text()
    named = {line.strip() for line in shown.splitlines() if keys_of_before(_without_figures(line))}
    assert not named, named
    assert not keys_of_before(driver.toasts()), driver.toasts()


def _without_figures(line: str) -> str:
    """Without what has single letters that are no keys: names of the sample's things, columns and borders."""
    return re.sub(r"[│╭╮╰╯─━▾▸]", " ", line)


async def still(pilot: Pilot[None]) -> None:
    for _ in range(4):
        await pilot.pause(0.02)


BOXES = {"busy": watched, "offline": offline, "alone": lambda: FakeBox(picture=overview(service=ServiceView(None))),
         "empty": lambda: FakeBox(picture=overview())}  # fmt: skip


@pytest.mark.parametrize("size", [(140, 40), (80, 24), (50, 24)], ids=str)
@pytest.mark.parametrize("box", BOXES)
async def test_the_main_screen_and_every_reason(box: str, size: tuple[int, int]) -> None:
    async with remapped(BOXES[box](), size) as driver:
        check(driver)
        for place in ("projects", "catalog", "packs", "jobs"):
            await driver.press(key(place))
            await still(driver.pilot)
            check(driver)
            for action in ACTIONS:
                now = driver.main.situation()
                reason = action.why_not(now)
                assert reason is None or not keys_of_before(reason), (action.id, reason)
        await driver.press(key("filter"))
        await driver.pilot.press("z", "z", "z", "enter")
        await still(driver.pilot)
        check(driver)


DIALOGS = {
    "help": (),
    "palette": (),
    "open": ("projects",),
    "unsent": (),
    "free": ("jobs",),
    "settings": (),
    "service": (),
    "inspect_uri": (),
    "jump": (),
}


@pytest.mark.parametrize("opens", DIALOGS)
async def test_every_dialog(opens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownservice, "missing_extra", lambda: None)
    box = watched()
    box.set_jobs(*sample_jobs())
    async with remapped(box, (200, 60)) as driver:
        await driver.press(*(key(action_id) for action_id in DIALOGS[opens]))
        before = driver.app.screen
        await driver.press(key(opens))
        await driver.until(lambda: driver.app.screen is not before, opens)
        await still(driver.pilot)
        if opens == "jump":
            # Its letters are no keys of actions.
            assert "esc stay" in driver.screen_text()
            return
        check(driver)


async def test_the_form_that_asks_for_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownservice, "missing_extra", lambda: None)

    def unreachable(_: object) -> connecting.Answer:
        raise UnreachableError("The catalog service at http://127.0.0.1:9 cannot be reached: nothing listens there.")

    monkeypatch.setattr(connecting, "ask", unreachable)
    async with remapped(FakeBox(picture=overview(service=ServiceView(None)))) as driver:
        await driver.press(key("service"))
        await driver.until(lambda: "Welcome" in driver.screen_text(), "the ways")
        await driver.press("enter")
        await driver.until(lambda: "keep both in" in driver.screen_text(), "the form")
        check(driver)
        for field, value in (("#url", "http://127.0.0.1:9"), ("#key", "nk_1_abc")):
            driver.app.screen.query_one(field).value = value  # type: ignore[attr-defined]
        await driver.press("tab", "enter")
        await driver.until(lambda: "keeps it all the same" in driver.screen_text(), "the answer")
        check(driver)
        await driver.press(key("close"))
        await driver.until(lambda: "keep both in" not in driver.screen_text(), "left by its new key")


async def test_an_error_and_the_words_that_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    async with remapped(FakeBox()) as driver:
        driver.main.show_error(NoeiraError("It failed.", hint="Do it otherwise."))
        await driver.until(lambda: "It failed." in driver.screen_text(), "the error")
        check(driver)
        await driver.press(key("close"))
        await driver.press("ctrl+c")
        await driver.until(lambda: "leaves the app" in driver.toasts(), "how to leave")
        check(driver)


@pytest.mark.parametrize("fails", ["", "summary", "series"])
async def test_the_inspector(fails: str) -> None:
    async with remapped(FakeBox(), (160, 50)) as driver:
        inspector = FakeInspector(frozenset(fails.split()))
        glyphs = driver.main.board.glyphs
        screen = InspectorScreen("s3://robots/so101/cube", lambda _: inspector, glyphs, size_bytes=464_000_000)  # type: ignore[arg-type,return-value]
        await driver.app.push_screen(screen)
        for section in ("summary", "features", "episodes", "tasks", "problems", "statistics", "lengths"):
            await driver.press(key(f"inspector_{section}"))
            await driver.until(lambda: not screen.reads.running, "read")
            await still(driver.pilot)
            check(driver)
            for action in INSPECTOR:
                reason = action.why_not(screen.situation())
                assert reason is None or not keys_of_before(reason), (action.id, reason)
        await driver.press(key("inspector_help"))
        await driver.until(lambda: driver.app.screen is not screen, "help")
        await still(driver.pilot)
        check(driver)


async def test_the_quality_screen_without_a_catalog(tmp_path: Path) -> None:
    async with remapped(FakeBox()) as driver:
        await driver.press(key("quality"))
        await driver.until(lambda: "No episodes here yet" in driver.screen_text(), "the screen")
        check(driver)
        situation = driver.app.screen.situation()  # type: ignore[attr-defined]
        for action in QUALITY:
            reason = action.why_not(situation)
            assert reason is None or not keys_of_before(reason), (action.id, reason)
        for opens in ("quality_help", "quality_palette"):
            await driver.press(key(opens))
            await driver.until(lambda: not hasattr(driver.app.screen, "rows"), opens)
            await still(driver.pilot)
            check(driver)
            await driver.press(key("close"))
            await driver.until(lambda: hasattr(driver.app.screen, "rows"), "back")


def test_every_key_is_another() -> None:
    given = {own for keys in KEYS.values() for own in keys}
    assert not given & {plain for action in EVERY for plain in action.keys}
    assert isinstance(make_app(FakeBox(), keys=KEYS), NoeiraApp)
