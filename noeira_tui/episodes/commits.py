"""What was scored, committed to the catalog in batches: new episodes only, each with its score before it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.episodes.memory import SourceMemory
from noeira_tui.episodes.rows import EpisodeRow, ScoreRow, now
from noeira_tui.episodes.tables import EpisodeCatalog
from noeira_tui.episodes.work import Measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noeira_tui.episodes.dataset import DatasetRun

BATCH_EPISODES = 2_000
"""Episodes that are committed together; fewer when they come slowly."""
_BATCH_AFTER_S = 10.0
_READING = 1
"""Raised when datasets are read in another way, so that they are read again."""


@dataclass(frozen=True)
class _New:
    run: DatasetRun
    measured: Measured


class Commits:
    """Collects measured episodes and commits those that the catalog lacks. Counts what became of them."""

    def __init__(self, catalog: EpisodeCatalog, batch_id: str, progress: Progress, cancel: CancelToken) -> None:
        from noeira_tui.episodes.score import SCORER_VERSION

        self._catalog = catalog
        self._batch_id = batch_id
        self._progress = progress
        self._cancel = cancel
        self._scorer = SCORER_VERSION
        self.known: NDArray[np.uint64] = catalog.known(SCORER_VERSION).settled
        self._new: dict[str, _New] = {}
        self._unsettled: dict[int, DatasetRun] = {}
        self._since = time.monotonic()
        self.ingested = self.skipped = self.frames = 0

    def memory_of(self, uri: str, host: str) -> SourceMemory:
        """What the catalog remembers of a dataset."""
        return SourceMemory(self._catalog.place, uri, host, f"{self._catalog.id}:{self._scorer}:{_READING}")

    def take(self, run: DatasetRun, episodes: Sequence[Measured]) -> None:
        """Add what a part gave; commits when there is enough of it."""
        run.measured += len(episodes)
        for one in episodes:
            if one.score is None or one.content_hash in self._new:
                self.skipped += 1
            else:
                self._new[one.content_hash] = _New(run, one)
        if len(self._new) >= BATCH_EPISODES or time.monotonic() - self._since > _BATCH_AFTER_S:
            self.flush()

    def settle(self, run: DatasetRun) -> None:
        """Remember a dataset's files as soon as all its episodes are committed."""
        if run.is_read and not run.is_settled:
            self._unsettled[id(run)] = run
            if not self._new:
                self._remember(run)

    def flush(self) -> None:
        """Commit what there is. Raises DatasetError, NetworkError, TransferError, CancelledError."""
        if self._new:
            self._progress.enter("committing")
            new, self._new = self._new, {}
            self._commit(new)
            self.known = self._catalog.known(self._scorer).settled
            self._progress.enter("scoring")
        self._since = time.monotonic()
        for run in list(self._unsettled.values()):
            self._remember(run)

    def _commit(self, new: dict[str, _New]) -> None:
        at = now()
        lacking = self._catalog.lacking(new)
        rows = [_row(digest, one, self._batch_id, at) for digest, one in new.items() if digest in lacking]
        scores = [
            ScoreRow(digest, self._scorer, one.measured.score, _flags(one.measured), at)
            for digest, one in new.items()
            if one.measured.score is not None
        ]
        added = self._catalog.add(rows, scores, self._cancel)
        if len(added) < len(lacking):
            # Another ingest had the same episodes, or they are ours and the store's answer to their commit was lost.
            added |= self._catalog.added_by(self._batch_id) & lacking
        self.ingested += len(added)
        self.skipped += len(new) - len(added)
        self.frames += sum(new[digest].measured.num_frames for digest in added)

    def _remember(self, run: DatasetRun) -> None:
        self._unsettled.pop(id(run), None)
        run.is_settled = True
        run.remember()


def _flags(measured: Measured) -> tuple[str, ...]:
    return (*(() if measured.score is None else measured.score.flags), *measured.checks)


def _row(digest: str, new: _New, batch_id: str, at: datetime) -> EpisodeRow:
    run, one = new.run, new.measured
    assert run.info is not None, "what was measured was looked at"
    tasks = one.tasks or (run.info.tasks if len(run.info.tasks) == 1 else ())
    task = "; ".join(tasks) or None
    extra: dict[str, object] = {"episode_index": one.episode_index}
    if one.checks:
        extra["reasons"] = one.checks
    return EpisodeRow(
        episode_id=digest,
        content_hash=digest,
        source_uri=run.uri,
        source_format=run.info.format,
        robot=run.info.robot_type,
        task=task,
        language_instruction=task,
        num_frames=one.num_frames,
        duration_s=one.num_frames / run.fps,
        fps=run.fps,
        cameras=tuple(camera.name for camera in run.info.cameras),
        state_dim=one.state_dim,
        action_dim=one.action_dim,
        ingest_batch_id=batch_id,
        ingested_at=at,
        extra=json.dumps(extra, sort_keys=True),
    )
