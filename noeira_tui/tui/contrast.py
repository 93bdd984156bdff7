"""Colours of themes that know nothing of this app, moved until text in them can be read on their ground."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import BLACK, WHITE, Color

TONE = 4.0
QUIET = 4.5
FAINT = 3.6
"""Contrasts, as WCAG 2 counts them: of coloured words, of what explains, of what matters least."""

_STEPS = 12
_TONES = ("tone-good", "tone-attention", "tone-trouble", "tone-accent", "tone-live")


def contrast(one: Color, other: Color) -> float:
    """From 1 (equal) to 21 (black and white): WCAG 2.2, "contrast ratio"."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    """Relative luminance of sRGB: WCAG 2.2, "relative luminance"."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def legible(colour: Color, ground: Color, least: float) -> Color:
    """The colour, or the nearest to it towards white or black that has a contrast of `least` on the ground."""
    end = BLACK if contrast(BLACK, ground) > contrast(WHITE, ground) else WHITE
    shades = (colour.blend(end, step / _STEPS) for step in range(_STEPS))
    return next((shade for shade in shades if contrast(shade, ground) >= least), end)


def legible_looks(found: Mapping[str, str], foreground: str, background: str, primary: str) -> dict[str, str]:
    """The looks of a theme, such that each can be read; those of a terminal's own colours stay as they are."""
    ground, text, accent = Color.parse(background), Color.parse(foreground), Color.parse(primary)
    if any(colour.ansi is not None for colour in (ground, text, accent)):
        return dict(found)
    return {
        **found,
        **{name: legible(Color.parse(found[name]), ground, TONE).hex for name in _TONES},
        "tone-quiet": legible(text.blend(ground, 0.3), ground, QUIET).hex,
        "tone-faint": legible(text.blend(ground, 0.5), ground, FAINT).hex,
        # Little of it: words of every colour stand on it.
        "cursor": ground.blend(accent, 0.18).hex,
    }
