"""What a scoring process needs, imported before it is forked."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import xxhash

from noeira_tui.datasets import registry
from noeira_tui.datasets.lerobot import rows
from noeira_tui.episodes import score, work

PRELOADED = (np, pq, xxhash, registry, rows, score, work)
