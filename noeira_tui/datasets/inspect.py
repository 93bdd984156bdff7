"""Looking at a dataset: one call that gives its `DatasetInfo`, for the command line, the app and scripts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.facts import DatasetInfo
from noeira_tui.datasets.registry import open_dataset
from noeira_tui.datasets.source import Resolvers, open_source


def inspect(
    uri: str,
    *,
    episodes: bool = False,
    deep: bool = False,
    resolvers: Resolvers | None = None,
    cancel: CancelToken | None = None,
    say: Callable[[str], None] | None = None,
) -> DatasetInfo:
    """What a dataset is, read from its metadata by ranges, wherever it is.

    With `episodes` the episode tables are read too and the files they name looked for; with `deep` also the rows each
    episode has and the frames each mp4 has. `say` hears, before it happens, of a format that must be downloaded whole.

    Raises DatasetError (DatasetFileError for one file) when it cannot be read, NetworkError, ConfigError,
    CancelledError. What is merely wrong with it is in `problems`.
    """
    began = time.monotonic()
    source = open_source(uri, cancel=cancel, resolvers=resolvers, say=say)
    try:
        inner, reader = open_dataset(source)
        info = reader.summary(inner)
        table = reader.episodes(inner) if episodes or deep else None
        if deep:
            reader.deepen(inner)
        return replace(
            info,
            problems=reader.problems,
            episodes=table if episodes else None,
            cost=source.cost,
            streamed=inner.streamed,
            elapsed_s=time.monotonic() - began,
        )
    finally:
        source.close()
