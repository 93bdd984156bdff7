"""Statistics of features, for one episode and for many, as LeRobot keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)


@dataclass(frozen=True)
class FeatureStats:
    """Statistics of one feature, each array of shape (dimensions,); `quantiles` in the order of QUANTILES.

    Pictures have one dimension a channel, scaled to 0..1.
    """

    min: Floats
    max: Floats
    mean: Floats
    std: Floats
    count: int
    quantiles: tuple[Floats, ...]

    def value(self, name: str) -> Floats | int:
        """The statistic called `name` in LeRobot's tables."""
        if name in QUANTILES:
            return self.quantiles[list(QUANTILES).index(name)]
        value: Floats | int = getattr(self, name)
        return value


def stats_of(values: NDArray[Any], count: int | None = None) -> FeatureStats:
    """Statistics over the first axis of `values`, shape (samples, dimensions); `count` where samples are no frames."""
    import numpy as np

    wide = values.astype(np.float64)
    return FeatureStats(
        min=wide.min(axis=0),
        max=wide.max(axis=0),
        mean=wide.mean(axis=0),
        std=wide.std(axis=0),
        count=len(wide) if count is None else count,
        quantiles=tuple(np.quantile(wide, list(QUANTILES.values()), axis=0)),
    )


def aggregate(parts: Sequence[FeatureStats]) -> FeatureStats:
    """Statistics of all episodes from those of each, weighted by count.

    The variance is that of the mixture: mean of variances plus variance of means. Quantiles are weighted means, an
    approximation that LeRobot's `aggregate_stats` makes too.
    """
    import numpy as np

    weights = np.array([part.count for part in parts], np.float64)
    means = np.stack([part.mean for part in parts])
    variances = np.stack([part.std for part in parts]) ** 2
    mean = np.average(means, axis=0, weights=weights)
    variance = np.average(variances + (means - mean) ** 2, axis=0, weights=weights)
    return FeatureStats(
        min=np.min([part.min for part in parts], axis=0),
        max=np.max([part.max for part in parts], axis=0),
        mean=mean,
        std=np.sqrt(variance),
        count=int(weights.sum()),
        quantiles=tuple(
            np.average([part.quantiles[number] for part in parts], axis=0, weights=weights)
            for number in range(len(QUANTILES))
        ),
    )
