"""Which rows of a list a filter keeps: words, states, sizes, each of them negated or not, all at once.

`stale` keeps what is stale or is called so, `!current` leaves out what is current, `>1GB` and `<10MB` compare sizes;
terms are separated by spaces, and a row stays when every one holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.quantity import parse_size
from noeira_tui.core.states import State
from noeira_tui.tui.rows import Row

_COMPARISON = re.compile(r"([<>]=?|=)(.*)")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    ">": lambda size, than: size > than,
    ">=": lambda size, than: size >= than,
    "<": lambda size, than: size < than,
    "<=": lambda size, than: size <= than,
    # What is shown is rounded: equal as far as one can see.
    "=": lambda size, than: abs(size - than) <= than * 0.05,
}
_STATES = frozenset(
    {*(state.value for state in State), "queued", "running", "paused", "done", "failed", "cancelled", "interrupted"}
)

Term = Callable[[Row], bool]


@dataclass(frozen=True)
class Filter:
    """What was typed, as terms; `problem` says what of it cannot be understood, and is left out."""

    terms: tuple[Term, ...] = ()
    problem: str = ""

    def keeps(self, row: Row) -> bool:
        """Whether every term holds for a row."""
        return all(term(row) for term in self.terms)


@lru_cache(maxsize=64)
def parse_filter(needle: str) -> Filter:
    """What was typed, understood as far as it can be."""
    terms: list[Term] = []
    problem = ""
    for word in needle.lower().split():
        term = _term(word)
        if isinstance(term, str):
            problem = problem or term
        else:
            terms.append(term)
    return Filter(tuple(terms), problem)


def _term(word: str) -> Term | str:
    """One term, or what is wrong with it."""
    if word.startswith("!"):
        rest = word[1:]
        if not rest:
            return "! leaves out what follows it, such as !current"
        if rest in _STATES:
            # The state itself: a dataset called `current-reader` is not meant.
            return lambda row: rest not in row.states
        inner = _term(rest)
        return inner if isinstance(inner, str) else (lambda row: not inner(row))
    found = _COMPARISON.fullmatch(word)
    if found is None:
        return lambda row: word in row.haystack
    sign, text = found.groups()
    try:
        than = 0 if text in {"0", "0b"} else parse_size(text, "size")
    except ConfigError:
        return f"{sign} needs a size, such as {sign}1GB or {sign}10MB"
    compare = _COMPARE[sign]
    return lambda row: row.size_bytes is not None and compare(row.size_bytes, than)


def kept_rows(rows: tuple[Row, ...], needle: str) -> tuple[Row, ...]:
    """The rows that a filter keeps. A project stays with any of its recordings, by itself only when it shows none."""
    chosen = parse_filter(needle)
    if not chosen.terms:
        return rows
    kept: list[Row] = []
    parent: Row | None = None
    for index, row in enumerate(rows):
        if row.is_heading:
            continue
        if row.depth == 0:
            has_own = index + 1 < len(rows) and rows[index + 1].depth > 0
            parent = row if has_own else None
            if not has_own and chosen.keeps(row):
                kept.append(row)
        elif chosen.keeps(row):
            if parent is not None:
                kept.append(parent)
                parent = None
            kept.append(row)
    return tuple(kept)
