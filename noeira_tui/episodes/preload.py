"""What a scoring process needs, imported before it is forked."""

from __future__ import annotations

from noeira_tui.core.unwanted import refuse_unwanted

# A process of our own, which scores and nothing else.
refuse_unwanted()

import numpy.fft as fft  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import xxhash  # noqa: E402

from noeira_tui.datasets import registry  # noqa: E402
from noeira_tui.datasets.lerobot import proprio, reader, rows  # noqa: E402
from noeira_tui.episodes import checks, hashing, score, work  # noqa: E402

PRELOADED = (fft, pc, pq, xxhash, registry, proprio, reader, rows, checks, hashing, score, work)
