"""Which episodes a filter keeps: words, flags, numbers, each of them negated or not, all at once.

`jerky` keeps what has that flag, `pusht` what has the word in its dataset, task or robot, `score<5` and `frames>=100`
compare numbers, `ldlj<-25` any metric, `episode=17` a number; `rejected` and `marked` are what they say, and `!` before
a term leaves out what it would keep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.episodes.flags import METRICS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noeira_tui.episodes.browse import EpisodeColumns

    Mask = NDArray[np.bool_]

NUMBERS = ("score", "frames", "time", "episode", *METRICS)
"""What can be compared."""

REJECTED, MARKED = "rejected", "marked"
_WORDED = ("source_uri", "task", "robot", "source_format", "language_instruction", "flags")
_COMPARISON = re.compile(r"(!?)([a-z_]+)(<=|>=|<|>|=)(.*)")


@dataclass(frozen=True, eq=False)
class Terms:
    """What was typed, understood as far as it can be; `problem` says what of it cannot, and is left out."""

    tests: tuple[Callable[[EpisodeColumns, Mapping[str, Mask]], Mask], ...] = ()
    problem: str = ""


def parse_terms(needle: str) -> Terms:
    """The terms of a filter line."""
    tests: list[Callable[[EpisodeColumns, Mapping[str, Mask]], Mask]] = []
    problem = ""
    for word in needle.lower().replace("−", "-").split():
        found = _term(word)
        if isinstance(found, str):
            problem = problem or found
        else:
            tests.append(found)
    return Terms(tuple(tests), problem)


def _term(word: str) -> Callable[[EpisodeColumns, Mapping[str, Mask]], Mask] | str:
    compared = _COMPARISON.fullmatch(word)
    if compared is not None:
        return _comparison(*compared.groups())
    is_negated, rest = word.startswith("!"), word.removeprefix("!")
    if not rest:
        return "! leaves out what follows it, such as !jerky"

    def test(columns: EpisodeColumns, special: Mapping[str, Mask]) -> Mask:
        mask = special[rest] if rest in special else flagged(columns, rest)
        if mask is None:
            mask = _worded(columns, rest)
        return ~mask if is_negated else mask

    return test


def _comparison(
    negation: str, name: str, sign: str, text: str
) -> Callable[[EpisodeColumns, Mapping[str, Mask]], Mask] | str:
    if name not in NUMBERS:
        return f"there is no {name}: score, frames, time, episode, or a metric such as ldlj"
    try:
        than = float(text)
    except ValueError:
        return f"{name}{sign} needs a number, such as {name}{sign}5"

    def test(columns: EpisodeColumns, special: Mapping[str, Mask]) -> Mask:
        import numpy as np

        values = columns.numbers[name]
        with np.errstate(invalid="ignore"):
            mask = {
                "<": values < than,
                "<=": values <= than,
                ">": values > than,
                ">=": values >= than,
                # What is shown is rounded: equal as far as one can see.
                "=": np.abs(values - than) < 0.005,
            }[sign]
        # What has no number is neither the one nor the other.
        return ~mask & ~np.isnan(values) if negation else mask

    return test


def flagged(columns: EpisodeColumns, flag: str) -> Mask | None:
    """Who has a flag; None for a flag that nobody has and no list of flags knows."""
    import numpy as np

    has = np.array([flag in flags for flags in columns.flag_sets], bool)
    return None if not has.any() else has[columns.coded["flags"].codes]


def _worded(columns: EpisodeColumns, word: str) -> Mask:
    import numpy as np

    mask = np.zeros(len(columns), bool)
    for name in _WORDED:
        coded = columns.coded[name]
        has = np.array([word in (text or "").lower() for text in coded.names], bool)
        if has.any():
            mask |= has[coded.codes]
    return mask
