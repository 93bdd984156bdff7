"""HDF5 trajectory stores by ranges, with the extra `hdf5`: robomimic, ALOHA, a flat table, or whatever is there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.core.errors import ConfigError, DatasetError
from noeira_tui.datasets.facts import Camera, DatasetInfo, Feature, FeatureStats, Picture, Problem, Series
from noeira_tui.datasets.jsonfacts import Problems, finite_number, frame_rate
from noeira_tui.datasets.proprio import ProprioPlan, ReadingWishes, unknown_episodes
from noeira_tui.datasets.rangefile import RangeFile
from noeira_tui.datasets.source import Source, cut_short, refuse_pointer
from noeira_tui.datasets.spans import Lengths

if TYPE_CHECKING:
    import h5py
    import numpy as np
    from numpy.typing import NDArray

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_READ_AHEAD = 32 << 10
_HEAD_BYTES = 8 << 10
_MAX_NODES = 20_000
_CHANNELS = {1, 3, 4}
_EPISODE_GROUP = re.compile(r"(demo|episode|traj|trajectory|ep)[_-]?(\d+)", re.IGNORECASE)
_BROKEN = (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError)


@dataclass(frozen=True)
class _Array:
    path: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class _Layout:
    """`kind` is `robomimic`, `aloha`, `groups`, `flat` or empty. Paths of `arrays` are relative to an episode."""

    kind: str
    arrays: tuple[_Array, ...]
    episodes: Lengths | None
    attributes: dict[str, object]


class Hdf5Reader:
    """Looks at one HDF5 file. Raises ConfigError, before anything is read, when h5py is not installed."""

    def __init__(self, source: Source) -> None:
        try:
            import h5py
        except ModuleNotFoundError as err:
            raise ConfigError(
                f"{source.name} is an HDF5 file; reading it needs h5py, which is not installed. Nothing was read.",
                title="Not installed",
                hint="pip install 'noeira-tui[hdf5]'",
            ) from err
        self._problems = Problems()
        self._layout: _Layout | None = None
        self._total: int | None = None
        self._version = h5py.version.version

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems.found

    def summary(self, source: Source) -> DatasetInfo:
        layout = self._read(source)
        cameras = tuple(camera for array in layout.arrays if (camera := _camera(array)) is not None)
        pictures = {camera.name for camera in cameras}
        features = tuple(Feature(array.path, array.dtype, array.shape[1:]) for array in layout.arrays)
        actions = tuple(feature for feature in features if _is_action(feature.name))
        observed = tuple(
            feature
            for feature in features
            if feature.name not in pictures and _is_observation(feature.name, layout.kind)
        )
        episodes = layout.episodes
        frames = sum(episodes.counts) if episodes is not None else _common_frames(layout.arrays)
        robot = layout.attributes.get("robot_type", layout.attributes.get("robot"))
        return DatasetInfo(
            uri=source.shown,
            format="hdf5",
            format_version=layout.kind or None,
            num_episodes=None if episodes is None else len(episodes),
            total_frames=frames,
            fps=frame_rate(layout.attributes, self._problems),
            robot_type=robot if isinstance(robot, str) else None,
            cameras=cameras,
            features=features,
            observation=observed,
            action=actions,
            has_timestamps=any(array.name in {"timestamp", "timestamps", "time"} for array in layout.arrays),
            problems=self.problems,
        )

    def frames(self, source: Source) -> int | None:
        return self.summary(source).total_frames

    def episodes(self, source: Source) -> Lengths:
        found = self._read(source).episodes
        if found is None:
            self._problems.add("missing_field", "", "", "Where episodes begin and end is not told in a way known here.")
            return Lengths(())
        return found

    def deepen(self, source: Source) -> None:
        """Nothing more is told by ranges than the summary has."""
        self._read(source)

    def series(self, source: Source, episode_index: int) -> Series:
        import numpy as np

        layout, episodes = self._read(source), self.episodes(source)
        if episodes.find(episode_index) is None:
            raise DatasetError(f"There is no episode {episode_index}.")
        pictures = {array.path for array in layout.arrays if _camera(array) is not None}
        numeric = [a for a in layout.arrays if a.path not in pictures and a.dtype[:3] in {"flo", "int", "uin", "boo"}]
        action = next((array for array in numeric if _is_action(array.path)), None)
        state = next((array for array in numeric if _is_observation(array.path, layout.kind)), None)
        with self._opened(source) as file:
            values = [self._values(file, array, layout, episodes, episode_index) for array in (state, action)]
        count = episodes.counts[episode_index]
        fps = frame_rate(layout.attributes, self._problems) or 30.0
        return Series(episode_index, np.arange(count, dtype=np.float64) / fps, values[0], values[1])

    def proprio(self, source: Source, wishes: ReadingWishes) -> ProprioPlan:
        raise unknown_episodes(source)

    def stats(self, source: Source) -> tuple[FeatureStats, ...]:
        return ()

    def picture(self, source: Source, episode_index: int, camera: str, at_s: float) -> Picture:
        import numpy as np

        layout, episodes = self._read(source), self.episodes(source)
        array = next((array for array in layout.arrays if array.path == camera and _camera(array) is not None), None)
        if array is None or episodes.find(episode_index) is None:
            raise DatasetError(f"There is no camera {camera!r} in episode {episode_index}.")
        start, stop = _bounds(layout, episodes, episode_index)
        fps = frame_rate(layout.attributes, self._problems) or 30.0
        row = min(stop - 1, start + max(0, round(at_s * fps)))
        with self._opened(source) as file:
            picture = np.asarray(file[_place(layout, episodes, episode_index, array)][row])
        rgb = np.repeat(picture[..., :1], 3, axis=2) if picture.shape[2] == 1 else picture[..., :3]
        data = np.ascontiguousarray(np.clip(rgb, 0, 255).astype(np.uint8))
        return Picture(camera, data.shape[1], data.shape[0], data.tobytes(), at_s, True)

    def _values(
        self, file: h5py.File, array: _Array | None, layout: _Layout, episodes: Lengths, index: int
    ) -> NDArray[np.float64] | None:
        import numpy as np

        if array is None:
            return None
        start, stop = _bounds(layout, episodes, index)
        values = np.asarray(file[_place(layout, episodes, index, array)][start:stop], np.float64)
        return values.reshape(len(values), math.prod(values.shape[1:]))

    def _read(self, source: Source) -> _Layout:
        if self._layout is None:
            with self._opened(source) as file:
                self._layout = _look(file, self._problems)
        return self._layout

    @contextmanager
    def _opened(self, source: Source) -> Iterator[h5py.File]:
        import h5py

        head = source.head("", _HEAD_BYTES)
        refuse_pointer(head.data, "")
        if not head.data.startswith(_SIGNATURE):
            raise cut_short(source.name, "it is empty" if not head.data else "it is no HDF5 file")
        total = head.total if head.total is not None else source.size("") or len(head.data)
        stream = RangeFile(source, "", total, read_ahead=_READ_AHEAD)
        stream.keep(head)
        try:
            with h5py.File(stream, "r") as file:
                yield file
        except _BROKEN as err:
            lines = str(err).splitlines()
            raise cut_short(source.name, (lines[0] if lines else type(err).__name__)[:160]) from err


def _look(file: h5py.File, problems: Problems) -> _Layout:
    attributes = _attributes(file)
    data = file.get("data")
    if data is not None and hasattr(data, "keys"):
        attributes |= _attributes(data)
    for base, kind in (("data/", "robomimic"), ("", "groups")):
        group = file if not base else data
        names = [name for name in group if _EPISODE_GROUP.fullmatch(name)] if hasattr(group, "keys") else []
        if names:
            return _grouped(file, base, kind, sorted(names, key=_number), attributes, problems)
    arrays = tuple(_arrays(file))
    paths = {array.path for array in arrays}
    if "action" in paths and any(path.startswith("observations/") for path in paths):
        frames = next(array.shape[0] for array in arrays if array.path == "action")
        return _Layout("aloha", arrays, Lengths((frames,)), attributes)
    return _Layout("flat" if arrays else "", arrays, _flat_episodes(file, arrays, problems), attributes)


def _grouped(
    file: h5py.File, base: str, kind: str, names: list[str], attributes: dict[str, object], problems: Problems
) -> _Layout:
    counts: list[int] = []
    first: tuple[_Array, ...] = ()
    for name in names:
        group = file[base + name]
        told = finite_number(group.attrs.get("num_samples")) if hasattr(group, "attrs") else None
        if name == names[0] or told is None:
            arrays = tuple(_arrays(group)) if hasattr(group, "keys") else ()
            first = first or arrays
            frames = _common_frames(arrays)
            if told is not None and frames is not None and int(told) != frames:
                message = f"{base}{name} says {int(told):,} samples, its arrays have {frames:,}."
                problems.add("counts_disagree", "", f"{base}{name}.num_samples", message)
            counts.append(int(told) if told is not None else frames or 0)
        else:
            counts.append(int(told))
    total = finite_number(attributes.get("total"))
    if total is not None and int(total) != sum(counts):
        problems.add("counts_disagree", "", "total", f"`total` is {int(total):,}, the episodes have {sum(counts):,}.")
    return _Layout(kind, first, Lengths(tuple(counts), None, tuple(base + name for name in names)), attributes)


def _flat_episodes(file: h5py.File, arrays: tuple[_Array, ...], problems: Problems) -> Lengths | None:
    """Episodes of one flat table: by their ends, by their lengths, or by an index a row."""
    by_name = {array.name: array for array in arrays if len(array.shape) == 1}
    ends = by_name.get("episode_ends")
    if ends is not None:
        values = [int(value) for value in file[ends.path][()]]
        counts = [end - start for start, end in zip((0, *values), values, strict=False)]
        if any(count <= 0 for count in counts):
            problems.add("index_order", "", ends.path, f"{ends.path} does not rise from one episode to the next.")
            return None
        return Lengths(tuple(counts))
    lengths = next((by_name[name] for name in ("episode_lengths", "ep_len", "lengths") if name in by_name), None)
    if lengths is not None:
        return Lengths(tuple(int(value) for value in file[lengths.path][()]))
    index = next(
        (by_name[name] for name in ("episode_index", "episode", "ep_idx", "episode_id") if name in by_name), None
    )
    if index is None:
        return None
    import numpy as np

    values_of = np.asarray(file[index.path][()])
    return Lengths(tuple(int(count) for count in np.unique(values_of, return_counts=True)[1]))


def _arrays(group: h5py.Group) -> Iterator[_Array]:
    """The datasets below a group, each group once, broken links and links into other files left out: what a file from
    elsewhere names on this box is none of its business."""
    todo: list[tuple[str, h5py.Group]] = [("", group)]
    met = {group}
    seen = 0
    while todo and seen < _MAX_NODES:
        prefix, one = todo.pop()
        for name in one:
            seen += 1
            node = None if hasattr(one.get(name, getlink=True), "filename") else one.get(name)
            if node is None:
                continue
            if hasattr(node, "shape"):
                if node.shape:
                    yield _Array(prefix + name, tuple(int(size) for size in node.shape), str(node.dtype)[:40])
            elif hasattr(node, "keys") and prefix.count("/") < 8 and node not in met:
                met.add(node)
                todo.append((f"{prefix}{name}/", node))


def _attributes(node: h5py.Group) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in node.attrs.items():
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        found[str(key)] = value.item() if hasattr(value, "item") and getattr(value, "size", 0) == 1 else value
    return found


def _bounds(layout: _Layout, episodes: Lengths, index: int) -> tuple[int, int]:
    return (0, episodes.counts[index]) if episodes.names else episodes.bounds(index)


def _place(layout: _Layout, episodes: Lengths, index: int, array: _Array) -> str:
    return f"{episodes.names[index]}/{array.path}" if episodes.names else array.path


def _common_frames(arrays: tuple[_Array, ...]) -> int | None:
    counts = [array.shape[0] for array in arrays]
    action = next((array.shape[0] for array in arrays if _is_action(array.path)), None)
    return action if action is not None else max(set(counts), key=counts.count) if counts else None


def _is_action(path: str) -> bool:
    return path.rpartition("/")[2] in {"action", "actions"}


def _is_observation(path: str, kind: str) -> bool:
    return path.startswith(("obs/", "observations/", "observation/")) or (
        "/" not in path and path in {"obs", "observation", "observations", "state", "states", "qpos"}
    )


def _number(name: str) -> int:
    found = _EPISODE_GROUP.fullmatch(name)
    return int(found[2]) if found else 0


def _camera(array: _Array) -> Camera | None:
    """An array of pictures: four dimensions, the last one the channels, of bytes."""
    if len(array.shape) == 4 and array.shape[3] in _CHANNELS and array.dtype == "uint8":
        return Camera(array.path, array.shape[1], array.shape[2], array.shape[3], "array")
    return None
