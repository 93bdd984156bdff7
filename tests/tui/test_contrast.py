"""In every theme that brings colours, words can be read on their ground and under the cursor."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from noeira_tui.tui.contrast import contrast, legible
from noeira_tui.tui.themes import DARK, LIGHT, look_variables

THEMES = [theme for name, theme in BUILTIN_THEMES.items() if not name.startswith(("ansi", "textual-ansi"))]


def test_contrast_is_what_the_standard_counts() -> None:
    white, black, grey = Color.parse("#ffffff"), Color.parse("#000000"), Color.parse("#777777")
    assert round(contrast(white, black), 2) == 21
    assert contrast(white, white) == 1
    assert round(contrast(grey, white), 2) == 4.48


def test_a_colour_that_can_be_read_stays() -> None:
    red, ground = Color.parse("#b3202e"), Color.parse("#ffffff")
    assert legible(red, ground, 4) == red
    pale = Color.parse("#ffa62b")
    assert contrast(pale, ground) < 4 <= contrast(legible(pale, ground, 4), ground)


@pytest.mark.parametrize("theme", [*THEMES, DARK, LIGHT], ids=lambda theme: theme.name)
def test_every_word_can_be_read(theme: Theme) -> None:
    variables = {**theme.to_color_system().generate(), **theme.variables}
    looks = {name: Color.parse(value.split(" ")[0]) for name, value in look_variables(variables).items()}
    ground = Color.parse(variables["background"])
    for name in ("good", "attention", "trouble", "accent", "live", "quiet"):
        assert contrast(looks[f"tone-{name}"], ground) >= 4, name
        assert contrast(looks[f"tone-{name}"], looks["cursor"]) >= 2.8, name
    assert contrast(looks["tone-faint"], ground) >= 3.5
    assert contrast(looks["tone-quiet"], ground) > contrast(looks["tone-faint"], ground)


@pytest.mark.parametrize("name", ["ansi-dark", "ansi-light"])
def test_a_terminals_own_colours_stay_its_own(name: str) -> None:
    looks = look_variables({**BUILTIN_THEMES[name].to_color_system().generate(), **BUILTIN_THEMES[name].variables})
    assert looks["tone-good"].startswith("ansi_")
