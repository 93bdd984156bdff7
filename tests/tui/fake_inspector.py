"""A dataset made of facts, for pictures of the inspector: nothing is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.facts import (
    Camera,
    DatasetInfo,
    Episode,
    Feature,
    FeatureStats,
    Histogram,
    Picture,
    Problem,
    Series,
    VideoSpan,
)
from noeira_tui.datasets.store import Cost

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
FPS = 30
SHORT = Problem(
    "video_span",
    "meta/episodes/chunk-000/file-000.parquet",
    "videos/observation.images.wrist/to_timestamp",
    "Episode 3 has 411 frames, and its video of observation.images.wrist lasts 403 of them.",
)
GONE = Problem(
    "missing_file",
    "videos/observation.images.front/chunk-000/file-001.mp4",
    "",
    "videos/observation.images.front/chunk-000/file-001.mp4 is not there; 6 episodes need it.",
)


@dataclass
class FakeEpisodes:
    """Forty-eight episodes; the fourth one has a problem."""

    count: int = 48

    def __len__(self) -> int:
        return self.count

    def page(self, offset: int, limit: int) -> tuple[Episode, ...]:
        return tuple(self._episode(index) for index in range(max(0, offset), min(self.count, offset + limit)))

    def find(self, index: int) -> Episode | None:
        return self._episode(index) if 0 <= index < self.count else None

    @property
    def lengths(self) -> list[int]:
        return [300 + (index * 37) % 120 for index in range(self.count)]

    def _episode(self, index: int) -> Episode:
        length = self.lengths[index]
        videos = {
            f"observation.images.{camera}": VideoSpan(
                f"videos/observation.images.{camera}/chunk-000/file-000.mp4", index * 12.0, index * 12.0 + length / FPS
            )
            for camera in ("front", "wrist")
        }
        return Episode(
            index,
            length,
            ("Pick up the red cube and put it into the bowl.",),
            "data/chunk-000/file-000.parquet",
            videos,
            (SHORT,) if index == 3 else (),
        )


@dataclass
class FakeInspector:
    """Answers like `noeira_tui.datasets.inspector.Inspector`; what `fails` names cannot be read."""

    fails: frozenset[str] = frozenset()
    cost: Cost = field(default_factory=lambda: Cost(48_213, 7))
    _deep: bool = False

    def summary(self, cancel: CancelToken | None = None) -> DatasetInfo:
        if "summary" in self.fails:
            raise DatasetFileError(
                "meta/info.json is damaged: it is no JSON (Expecting ',' delimiter: line 7 column 3 (char 112)).",
                code="damaged_file",
                file="meta/info.json",
                hint="Push it again from the box that recorded it, or restore an older revision.",
            )
        state = Feature("observation.state", "float32", (6,), JOINTS)
        action = Feature("action", "float32", (6,), JOINTS)
        cameras = tuple(Camera(f"observation.images.{name}", 480, 640, 3, "video") for name in ("front", "wrist"))
        return DatasetInfo(
            uri="s3://robots/so101/cube-in-bowl",
            format="lerobot-v3",
            format_version="v3.0",
            num_episodes=48,
            total_frames=sum(FakeEpisodes().lengths),
            fps=FPS,
            robot_type="so101_follower",
            cameras=cameras,
            features=(state, action, *(Feature(camera.name, "video", (480, 640, 3)) for camera in cameras)),
            observation=(state,),
            action=(action,),
            tasks=("Pick up the red cube and put it into the bowl.",),
            has_timestamps=True,
        )

    def episodes(self, cancel: CancelToken | None = None) -> FakeEpisodes:
        return FakeEpisodes()

    def histogram(self, bins: int = 20, cancel: CancelToken | None = None) -> Histogram:
        counts, edges = np.histogram(FakeEpisodes().lengths, bins)
        return Histogram(tuple(float(edge) for edge in edges), tuple(int(count) for count in counts))

    def deepen(self, cancel: CancelToken | None = None) -> tuple[Problem, ...]:
        self._deep = True
        return self.problems()

    def problems(self) -> tuple[Problem, ...]:
        return (SHORT, GONE) if self._deep else (SHORT,)

    def stats(self, cancel: CancelToken | None = None) -> tuple[FeatureStats, ...]:
        number = tuple(float(joint) for joint in range(6))
        one = FeatureStats("action", (-1.5,) * 6, (1.5,) * 6, number, (0.25,) * 6, 17_000)
        return (one, FeatureStats("timestamp", (0.0,), (13.9,), (6.2,), (3.7,), 17_000))

    def series(self, episode_index: int, cancel: CancelToken | None = None) -> Series:
        if "series" in self.fails:
            raise DatasetFileError(
                "data/chunk-000/file-000.parquet is a Git LFS pointer, not the file itself.",
                code="lfs_pointer",
                file="data/chunk-000/file-000.parquet",
                hint="Run `git lfs pull` where it was cloned.",
            )
        episode = FakeEpisodes().find(episode_index)
        assert episode is not None
        assert episode.length is not None
        times = np.arange(episode.length) / FPS
        phases = np.arange(6)[None, :] + episode_index
        state = np.sin(times[:, None] * (0.4 + 0.13 * np.arange(6)[None, :]) + phases) * (1 + 0.2 * phases)
        return Series(episode_index, times, state, np.roll(state, -4, axis=0), JOINTS, JOINTS)

    def picture(self, episode_index: int, camera: str, at_s: float, cancel: CancelToken | None = None) -> Picture:
        y, x = np.mgrid[0:120, 0:160]
        cube = (abs(x - 80 - 40 * math.sin(at_s)) < 14) & (abs(y - 70) < 14)
        rgb = np.stack([120 + y // 2, 130 + y // 3, 150 - y // 3], axis=2)
        rgb[y > 84] = (96, 72, 52)
        rgb[cube] = (200, 40, 36)
        return Picture(camera, 160, 120, rgb.astype(np.uint8).tobytes(), at_s, camera.endswith("front"))

    def close(self) -> None:
        """Nothing is open."""
