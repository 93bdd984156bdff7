"""The signs the app draws with: one set for terminals with symbols, one for a C locale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from noeira_tui.core.states import LOOKS, State
from noeira_tui.tui.keys import shown_key


@dataclass(frozen=True)
class Glyphs:
    """Every sign that is not a letter. Each is one cell wide, but for `ellipsis` in the ASCII set;
    `sparks` grow in height. `own_keys` are the user's, by actions' ids, as people write them."""

    is_ascii: bool
    ellipsis: str
    dot: str
    bullet: str
    folded: str
    unfolded: str
    leaf: str
    mark: str
    down: str
    up: str
    again: str
    good: str
    bad: str
    warn: str
    bar: str
    bar_end: str
    track: str
    dash: str
    none: str
    sparks: str
    own_keys: Mapping[str, str] = field(default_factory=dict, hash=False)

    def key(self, action_id: str) -> str:
        """The first key of an action as people write it, the user's own where there is one: what a hint names."""
        return shown_key(action_id, self.own_keys)

    def state(self, state: State) -> str:
        """The symbol of a state."""
        look = LOOKS[state]
        return look.ascii if self.is_ascii else look.symbol


SYMBOLS = Glyphs(
    is_ascii=False,
    ellipsis="…",
    dot="·",
    bullet="●",
    folded="▸",
    unfolded="▾",
    leaf=" ",
    mark="┃",
    down="↓",
    up="↑",
    again="⟲",
    good="✓",
    bad="✗",
    warn="▲",
    bar="━",
    bar_end="╸",
    track="─",
    dash="–",
    none="—",
    sparks="▁▂▃▄▅▆▇",
)

ASCII = Glyphs(
    is_ascii=True,
    ellipsis="...",
    dot="-",
    bullet="*",
    folded="+",
    unfolded="-",
    leaf=" ",
    mark="|",
    down="v",
    up="^",
    again="@",
    good="=",
    bad="x",
    warn="!",
    bar="#",
    bar_end="#",
    track=".",
    dash="-",
    none="-",
    sparks="_.-=+*",
)


def glyphs_for(environ: Mapping[str, str]) -> Glyphs:
    """The set for a terminal: ASCII when a locale is named that is not UTF-8, and in a tmux started without one, and
    on the console of Linux, whose fonts lack most of the symbols.

    No locale at all is common in containers, whose terminals show symbols; so only tmux, which replaces them there,
    gets ASCII. Python itself sets `LC_CTYPE=C.UTF-8` in a C locale (PEP 538): it says nothing about the terminal.
    """
    if environ.get("TERM") == "linux":
        return ASCII
    ctype = environ.get("LC_CTYPE", "")
    if ctype == "C.UTF-8" and environ.get("LANG", "C") in {"", "C", "POSIX"}:
        ctype = ""
    named = environ.get("LC_ALL") or ctype or environ.get("LANG") or ""
    if not named:
        return ASCII if "TMUX" in environ else SYMBOLS
    return SYMBOLS if "utf" in named.lower().replace("-", "") else ASCII
