"""What is known about a dataset, as frozen facts: the same, field for field, wherever the dataset is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from noeira_tui.datasets.store import Cost

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, order=True)
class Problem:
    """Something wrong with a dataset: `code` in a word, the `file` and `field` it shows in (empty where neither), and
    a sentence."""

    code: str
    file: str
    field: str
    message: str


@dataclass(frozen=True)
class Camera:
    """A picture stream; sizes in pixels (None where not told). `storage` is `video`, `image` or `array`."""

    name: str
    height: int | None
    width: int | None
    channels: int | None
    storage: str


@dataclass(frozen=True)
class Feature:
    """One value a frame has: element type, shape of one frame's value, and the names of its dimensions where told."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class VideoSpan:
    """Where an episode is in a video; seconds from the start of the file, None for the whole file or where not told."""

    file: str
    from_s: float | None = None
    to_s: float | None = None


@dataclass(frozen=True)
class Episode:
    """One episode. `length` is its frames; `data_file` holds them. None where the dataset does not tell."""

    index: int
    length: int | None
    tasks: tuple[str, ...] = ()
    data_file: str | None = None
    videos: Mapping[str, VideoSpan] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Episodes(Protocol):
    """All episodes, kept small and made when looked at: a list of 100,000 costs only what is shown of it."""

    def __len__(self) -> int: ...

    def page(self, offset: int, limit: int) -> tuple[Episode, ...]:
        """At most `limit` episodes from the `offset`-th on."""
        ...

    def find(self, index: int) -> Episode | None:
        """The episode with an `episode_index`."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """The lengths that are told, in frames, in the order of the episodes."""
        ...


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset as its metadata tell it. Counts, `fps` and `robot_type` are None where they do not.

    `observation` and `action` are those of the `features` that the robot observes (without cameras) and does.
    `episodes` is None unless they were asked for. `streamed` tells that nothing had to be downloaded whole.
    """

    uri: str
    format: str
    format_version: str | None = None
    num_episodes: int | None = None
    total_frames: int | None = None
    fps: float | None = None
    robot_type: str | None = None
    cameras: tuple[Camera, ...] = ()
    features: tuple[Feature, ...] = ()
    observation: tuple[Feature, ...] = ()
    action: tuple[Feature, ...] = ()
    tasks: tuple[str, ...] = ()
    has_timestamps: bool = False
    problems: tuple[Problem, ...] = ()
    episodes: Episodes | None = None
    cost: Cost = field(default_factory=Cost)
    streamed: bool = True
    elapsed_s: float = 0.0


def is_action(name: str) -> bool:
    """Whether a LeRobot feature is (part of) the action."""
    return name in {"action", "actions"} or name.startswith(("action.", "actions."))


@dataclass(frozen=True)
class Series:
    """One episode's numbers. `state` has shape (T, S), `action` (T, A), either None when the dataset has none;
    `timestamps` (T,) in seconds from the start of the episode, made from `fps` where the dataset has none."""

    episode_index: int
    timestamps: NDArray[np.float64]
    state: NDArray[np.float64] | None
    action: NDArray[np.float64] | None
    state_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """One decoded frame of a camera: `rgb` has height × width × 3 bytes. `at_s` is where it is in the video file;
    `exact` tells whether it is the frame asked for or the nearest one before it that stands on its own."""

    camera: str
    width: int
    height: int
    rgb: bytes
    at_s: float
    exact: bool


@dataclass(frozen=True)
class FeatureStats:
    """The statistics of one feature as the dataset keeps them: per dimension, flattened; empty where not told."""

    name: str
    minimum: tuple[float, ...] = ()
    maximum: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    count: int | None = None


@dataclass(frozen=True)
class Histogram:
    """Counts between `edges` (one more than counts), in frames."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
