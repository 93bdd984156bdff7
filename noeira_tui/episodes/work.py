"""One part of a dataset read, hashed and scored: what an executor is given, here or on another machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noeira_tui.core.errors import DatasetError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.proprio import Proprio, ProprioPart, Unread
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.store import Cost

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noeira_tui.episodes.score import Score


@dataclass(frozen=True)
class Measured:
    """One episode as it was found. `score` is None where the catalog has it; `checks` are flags with reasons."""

    episode_index: int
    content_hash: str
    num_frames: int
    tasks: tuple[str, ...]
    state_dim: int | None
    action_dim: int | None
    score: Score | None
    checks: dict[str, str]


@dataclass(frozen=True)
class PartOutcome:
    """What a part gave, what it cost, and why it failed as a whole, in words (empty: it did not)."""

    episodes: tuple[Measured, ...] = ()
    unread: tuple[Unread, ...] = ()
    cost: Cost = field(default_factory=Cost)
    failure: str = ""


@dataclass(frozen=True)
class Scoring:
    """How episodes are scored: `fps` for those without timestamps; those in `known` (sorted uint64 of their hashes)
    are hashed only."""

    fps: float
    known: NDArray[np.uint64]

    def measure(self, episode: Proprio) -> Measured | Unread:
        """Hash an episode, and score it unless it is known."""
        from noeira_tui.episodes.frames import EpisodeFrames
        from noeira_tui.episodes.hashing import content_hash
        from noeira_tui.episodes.score import score_episode

        try:
            frames = EpisodeFrames(episode.state, episode.action, episode.timestamps, self.fps)
        except DatasetError as err:
            return Unread(episode.episode_index, err.message)
        if not frames.num_frames:
            return Unread(episode.episode_index, "It has no frames, or neither state, action nor timestamps.")
        digest = content_hash(frames)
        return Measured(
            episode_index=episode.episode_index,
            content_hash=digest,
            num_frames=frames.num_frames,
            tasks=episode.tasks,
            state_dim=None if episode.state is None else episode.state.shape[1],
            action_dim=None if episode.action is None else episode.action.shape[1],
            score=None if self._knows(digest) else score_episode(frames),
            checks={} if self._knows(digest) else _checked(episode, self.fps),
        )

    def _knows(self, digest: str) -> bool:
        import numpy as np

        value = np.uint64(int(digest, 16))
        at = int(np.searchsorted(self.known, value))
        return at < len(self.known) and bool(self.known[at] == value)


def _checked(episode: Proprio, fps: float) -> dict[str, str]:
    from noeira_tui.episodes.checks import check_frames

    return check_frames(episode, fps)


def measure_all(found: Iterable[Proprio | Unread], scoring: Scoring, cancel: CancelToken) -> PartOutcome:
    """Hash and score what was read. Raises CancelledError and what the reading raises."""
    episodes: list[Measured] = []
    unread: list[Unread] = []
    for one in found:
        cancel.check()
        measured = one if isinstance(one, Unread) else scoring.measure(one)
        if isinstance(measured, Unread):
            unread.append(measured)
        else:
            episodes.append(measured)
    return PartOutcome(tuple(episodes), tuple(unread))


def measure_part(source: Source, part: ProprioPart, scoring: Scoring) -> PartOutcome:
    """Read and score a part in this process; its cost is counted by the source's owner."""
    return measure_all(part.read(source), scoring, source.cancel)


def measure_elsewhere(uri: str, part: ProprioPart, scoring: Scoring) -> PartOutcome:
    """Read and score a part with a source of its own: the work of another process, which tells a failure by value."""
    from noeira_tui.datasets.registry import open_files
    from noeira_tui.datasets.source import open_source

    source = open_source(uri)
    try:
        outcome = measure_part(open_files(source), part, scoring)
        return PartOutcome(outcome.episodes, outcome.unread, source.cost)
    except NoeiraError as err:
        return PartOutcome(cost=source.cost, failure=str(err))
    finally:
        source.close()


def measure_read(found: tuple[Proprio | Unread, ...], scoring: Scoring) -> PartOutcome:
    """Score what was read in another process, from which the dataset cannot be reached here."""
    return measure_all(found, scoring, CancelToken())


def small_loads(found: Iterator[Proprio | Unread], max_frames: int) -> Iterator[tuple[Proprio | Unread, ...]]:
    """Episodes in loads of about `max_frames`, for sending."""
    load: list[Proprio | Unread] = []
    frames = 0
    for one in found:
        load.append(one)
        frames += 0 if isinstance(one, Unread) else _frames(one)
        if frames >= max_frames:
            yield tuple(load)
            load, frames = [], 0
    if load:
        yield tuple(load)


def _frames(episode: Proprio) -> int:
    columns = (episode.state, episode.action, episode.timestamps)
    return next((len(values) for values in columns if values is not None), 0)
