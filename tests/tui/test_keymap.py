"""The user's own keys, from the settings file to the footer."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.errors import ConfigError
from noeira_tui.jobs.records import JobState
from noeira_tui.tui.app import make_app
from noeira_tui.tui.glyphs import SYMBOLS
from noeira_tui.tui.keymap import own_keys, read_keys
from noeira_tui.tui.modals.help import HelpDialog
from tests.support.terminal import Terminal
from tests.tui.driving import Driver
from tests.tui.fake_box import FakeBox, frozen_clock


def test_keys_are_read_and_named_as_the_library_does(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('theme = "x"\n[keys]\npull = "f5"\ndown = ["down", "n"]\nhelp = "ctrl+H"\nfilter = "&"\n', "utf-8")
    assert own_keys(read_keys(file), "here") == {
        "pull": ("f5",), "down": ("down", "n"), "help": ("ctrl+h",), "filter": ("ampersand",),
    }  # fmt: skip
    assert read_keys(tmp_path / "none.toml") == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pul": "f5"}, "no action 'pul' for a key.\n  Did you mean pull"),
        ({"zzzz": "f5"}, "docs/keys.md has all of them"),
        ({"pull": "ctl+p"}, "'ctl+p' is no key"),
        ({"pull": "f25"}, "'f25' is no key"),
        ({"pull": ()}, "has no key"),
        ({"pull": "u"}, "u would be both pull (pull) and push (push)"),
        ({"pull": "?"}, "would be both"),
        ({"watch": "f5", "verify": "f6", "pull": "f5"}, "f5 would be both"),
    ],
)
def test_what_cannot_be_had_is_refused(given: dict[str, str | tuple[str, ...]], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        own_keys(given, "config.toml")
    assert said in f"{refused.value.message}\n  {refused.value.hint}"


def test_two_actions_may_change_places_and_lists_do_not_disturb_each_other() -> None:
    assert own_keys({"pull": "u", "push": "p"}, "here") == {"pull": ("u",), "push": ("p",)}
    # One works on recordings, the other on packs.
    assert own_keys({"watch": "f5", "verify": "f5"}, "here")["verify"] == ("f5",)


async def test_own_keys_work_and_are_shown_everywhere() -> None:
    box = FakeBox()
    keys = own_keys({"pull": "u", "push": "f6", "help": "f1", "pull_packs": "f7", "pause": "f8"}, "here")
    app = make_app(box, glyphs=SYMBOLS, clock=frozen_clock, keys=keys)
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        driver = Driver(app, pilot, box)
        await driver.until(lambda: driver.main.board.overview and not driver.main.looking, "settled")
        assert "u pulls and f6 pushes" in driver.screen_text() and "· f7 pulls" in driver.screen_text()
        await driver.highlight("dataset:hopper-medium-v2")
        assert "u pull" in driver.keys_shown()
        assert "f6 push" in driver.keys_shown()
        await driver.press("p")
        assert driver.asked("pull") == []
        await driver.press("u")
        await driver.until(lambda: driver.asked("pull") == [("pull", "hopper-medium-v2", False)])
        box.set_jobs(replace(box.rows[0], state=JobState.PAUSED))
        await driver.until(lambda: "paused · f8 goes on" in driver.screen_text())
        await driver.press("f1")
        await driver.until(lambda: isinstance(app.screen, HelpDialog))
        await driver.until(lambda: "f6           push" in driver.screen_text())


def test_wrong_keys_are_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "noeira-tui").mkdir()
    (tmp_path / "noeira-tui/config.toml").write_text('[keys]\npull = "u"\n', "utf-8")
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "NOEIRA_STATE": str(tmp_path / "state")}
    with Terminal([sys.executable, "-m", "noeira_tui"], cwd=tmp_path, env=env) as terminal:
        assert terminal.wait() == 2
        assert b"u would be both pull (pull) and push (push)" in terminal.output
    done = subprocess.run([sys.executable, "-m", "noeira_tui", "status"], cwd=tmp_path, env=env, capture_output=True)
    assert done.returncode == 0, "commands have no keys"
