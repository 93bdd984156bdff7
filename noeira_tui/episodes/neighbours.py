"""Whether alike states met alike actions: the actions of each frame's nearest neighbours in state space."""

from __future__ import annotations

import numpy as np

from noeira_tui.episodes.channels import Channels
from noeira_tui.episodes.nearest import NEIGHBOURS, nearest

_MOST = 1 << 20


def state_action_consistency(state: Channels, action: Channels) -> float | None:
    """Mean over frames and dimensions of the population variance of the actions of the 5 nearest other frames.

    Nearest by Euclidean distance in the raw state; of equally near ones the earlier frame. In squared units of the
    action; low is consistent. None for fewer than 7 frames, or when a distance overflows. After Sentinel (Lee 2024).
    """
    if state.length < NEIGHBOURS + 2:
        return None
    near = nearest(state.rows())
    if near is None:
        return None
    total = 0.0
    for block in action:
        chunk = max(_MOST // (NEIGHBOURS * len(block)), 1)
        for start in range(0, state.length, chunk):
            met = block.take(near[:, start : start + chunk], axis=1)
            met -= np.add.reduce(met, axis=1, keepdims=True) / NEIGHBOURS
            total += float(np.square(met, out=met).sum())
    return total / (NEIGHBOURS * action.length * action.width)
