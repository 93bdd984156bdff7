"""The episodes of a catalog in the order and selection one looks at them: which rows, in which order, how they score.

Numbers of rows are those of the catalog's columns; everything is done on whole columns at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from noeira_tui.episodes.flags import FLAGS, METRICS
from noeira_tui.tui.quality_filter import MARKED, REJECTED, flagged, parse_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noeira_tui.episodes.browse import EpisodeColumns

SORTS: tuple[str, ...] = ("score", "frames", "time", "episode", *METRICS)
"""What episodes can be sorted by."""

_BEST_IS_HIGH = frozenset({"score", "ldlj", "sparc", "mean_entropy"})
_NATURAL = frozenset({"episode"})

BINS = 20
TOP_SCORE = 10.0


@dataclass(frozen=True)
class Sort:
    """By what, and which end comes first."""

    key: str = "score"
    descending: bool = False

    @classmethod
    def worst_first(cls, key: str) -> Sort:
        """The direction that shows trouble first: low scores, jerky movements, many dead frames; short episodes."""
        low_is_bad = key in _BEST_IS_HIGH or key in _NATURAL or key in {"frames", "time"}
        return cls(key, descending=not low_is_bad)


@dataclass(frozen=True)
class Wanted:
    """Which episodes are wanted, and in which order. `flag` is one of the list of flags, empty for all."""

    needle: str = ""
    flag: str = ""
    sort: Sort = field(default_factory=Sort)


@dataclass(frozen=True, eq=False)
class QualityTable:
    """The episodes of a catalog; `rejected` are the numbers of rejected ones by dataset, where that is
    known here."""

    columns: EpisodeColumns
    rejected: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def is_rejected(self) -> NDArray[np.bool_]:
        """Who is rejected, shape (N,)."""
        import numpy as np

        mask = np.zeros(len(self.columns), bool)
        for source, episodes in self.rejected.items():
            if episodes and source in self.columns.sources.names:
                of_source = self.columns.sources.codes == self.columns.sources.names.index(source)
                mask |= of_source & np.isin(self.columns.numbers["episode"], list(episodes))
        return mask

    @cached_property
    def flags(self) -> tuple[tuple[str, int], ...]:
        """Every flag that somebody has with how many have it, most first; rejected ones last."""
        import numpy as np

        counts = np.bincount(self.columns.coded["flags"].codes, minlength=len(self.columns.flag_sets))
        found: dict[str, int] = {}
        for flags, count in zip(self.columns.flag_sets, counts.tolist(), strict=True):
            for flag in flags:
                found[flag] = found.get(flag, 0) + count
        order = list(FLAGS)
        ranked = sorted(found.items(), key=lambda one: (-one[1], order.index(one[0]) if one[0] in FLAGS else 99))
        rejected = int(self.is_rejected.sum())
        return (*ranked, (REJECTED, rejected)) if rejected else tuple(ranked)

    @cached_property
    def flagged(self) -> int:
        """How many have any flag."""
        import numpy as np

        has = np.array([bool(flags) for flags in self.columns.flag_sets], bool)
        return int(has[self.columns.coded["flags"].codes].sum()) if len(self.columns) else 0

    def rows(self, wanted: Wanted, marked: frozenset[str] = frozenset()) -> tuple[NDArray[np.int64], str]:
        """The rows that are wanted, in their order; and what of the filter cannot be understood, in words."""
        import numpy as np

        terms = parse_terms(wanted.needle)
        mask = np.ones(len(self.columns), bool)
        special = {REJECTED: self.is_rejected}
        if MARKED in wanted.needle:
            special[MARKED] = self.columns.have(marked)
        for test in terms.tests:
            mask &= test(self.columns, special)
        if wanted.flag:
            has = special.get(wanted.flag) if wanted.flag == REJECTED else flagged(self.columns, wanted.flag)
            mask &= np.zeros(len(self.columns), bool) if has is None else has
        return self._ordered(np.flatnonzero(mask), wanted.sort), terms.problem

    def _ordered(self, rows: NDArray[np.int64], sort: Sort) -> NDArray[np.int64]:
        import numpy as np

        values = self.columns.numbers[sort.key][rows]
        # NaN comes last either way.
        found: NDArray[np.int64] = rows[np.argsort(-values if sort.descending else values, kind="stable")]
        return found

    def marked_rows(self, marked: frozenset[str]) -> NDArray[np.int64]:
        """The rows of some episodes."""
        import numpy as np

        return np.flatnonzero(self.columns.have(marked))

    def histogram(self, rows: NDArray[np.int64]) -> tuple[int, ...]:
        """How many of some rows score from 0 to 10, in BINS steps."""
        import numpy as np

        scores = self.columns.numbers["score"][rows]
        counts, _ = np.histogram(scores[~np.isnan(scores)], BINS, (0.0, TOP_SCORE))
        return tuple(int(count) for count in counts)

    def span(self, rows: NDArray[np.int64]) -> tuple[float, float, float] | None:
        """Mean, least and greatest score of some rows; None where none has a score."""
        import numpy as np

        scores = self.columns.numbers["score"][rows]
        scores = scores[~np.isnan(scores)]
        return (float(scores.mean()), float(scores.min()), float(scores.max())) if len(scores) else None

    @cached_property
    def medians(self) -> Mapping[str, float | None]:
        """The median of every metric over all episodes."""
        import numpy as np

        found: dict[str, float | None] = {}
        for name in METRICS:
            values = self.columns.numbers[name]
            known = values[~np.isnan(values)]
            found[name] = float(np.median(known)) if len(known) else None
        return found

    def place_of(self, episode_id: str, rows: NDArray[np.int64], near: int) -> int:
        """Where an episode is among some rows; `near` when it is not."""
        import numpy as np

        row = self.columns.row_of(episode_id)
        places = np.flatnonzero(rows == (-1 if row is None else row))
        return int(places[0]) if len(places) else max(0, min(near, len(rows) - 1))
