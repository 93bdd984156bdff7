"""The two themes of our own, and the colours of the looks for every theme."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

DARK = Theme(
    name="noeira-dark",
    primary="#5fb3d4",
    secondary="#7d9fc0",
    accent="#6fd3e8",
    success="#7fd18c",
    warning="#e9b861",
    error="#f0717a",
    foreground="#d5dbe3",
    background="#12161c",
    surface="#171c24",
    panel="#1f2630",
    dark=True,
    variables={
        "tone-live": "#d79bf0",
        "tone-quiet": "#98a4b1",
        "tone-faint": "#6d7987",
        "cursor": "#2a4152",
        "cursor-blurred": "#1d242e",
        "frame": "#34404d",
        "frame-focus": "#5fb3d4",
    },
)

LIGHT = Theme(
    name="noeira-light",
    primary="#0f6f96",
    secondary="#4a6b8a",
    accent="#00728a",
    success="#1f7a35",
    warning="#8a5a00",
    error="#b3202e",
    foreground="#1d242c",
    background="#f7f8f9",
    surface="#ffffff",
    panel="#e9edf0",
    dark=False,
    variables={
        "tone-live": "#8a2bb0",
        "tone-quiet": "#505c68",
        "tone-faint": "#697480",
        "cursor": "#cfe4ee",
        "cursor-blurred": "#eceff2",
        "frame": "#c3cbd3",
        "frame-focus": "#0f6f96",
    },
)

_FALLBACKS = {
    "tone-good": "success",
    "tone-attention": "warning",
    "tone-trouble": "error",
    "tone-accent": "accent",
    "tone-live": "accent",
    "tone-quiet": "foreground-darken-2",
    "tone-faint": "foreground-darken-3",
    "cursor": "primary-muted",
    "cursor-blurred": "panel",
    "frame": "surface-lighten-2",
    "frame-focus": "primary",
}


def look_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Style sheet variables for the looks: the theme's own where it has them, else made of colours every theme has."""
    found = {name: variables.get(name, variables.get(other, "#888888")) for name, other in _FALLBACKS.items()}
    if "tone-quiet" in variables:
        return found
    from noeira_tui.tui.contrast import legible_looks  # only for themes of others

    return legible_looks(found, *(variables.get(name, "#888888") for name in ("foreground", "background", "primary")))
