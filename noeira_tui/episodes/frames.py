"""One episode's proprioception: what is hashed and scored. No images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noeira_tui.core.errors import DatasetError

Numbers = NDArray[np.floating[Any]]
"""Numbers of any floating type."""


@dataclass(frozen=True, eq=False)
class EpisodeFrames:
    """T frames of one episode, in order.

    `state` is (T, Ds) and `action` (T, Da), in the type they are stored in: the metrics compute in float64, and the
    content hash takes float32. `timestamps` is (T,), in seconds. `fps` is what the dataset says. What a dataset does
    not have is None. Raises DatasetError when the arrays disagree about T, or have other numbers of axes.
    """

    state: Numbers | None
    action: Numbers | None
    timestamps: Numbers | None
    fps: float | None = None

    def __post_init__(self) -> None:
        lengths: dict[str, int] = {}
        for name, axes, values in (("state", 2, self.state), ("action", 2, self.action), ("time", 1, self.timestamps)):
            if values is None:
                continue
            if values.ndim != axes:
                raise DatasetError(f"The episode's {name} has the shape {values.shape}, not {axes} axes.")
            lengths[name] = len(values)
        if len(set(lengths.values())) > 1:
            raise DatasetError(f"The episode's columns differ in length: {_told(lengths)}.")

    @property
    def num_frames(self) -> int:
        """T; 0 when there is nothing at all."""
        given = (self.state, self.action, self.timestamps)
        return next((len(values) for values in given if values is not None), 0)


def _told(lengths: Mapping[str, int]) -> str:
    return ", ".join(f"{name} has {length} frames" for name, length in lengths.items())
