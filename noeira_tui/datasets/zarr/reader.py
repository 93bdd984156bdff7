"""A zarr store of episodes, looked at: episode ends, frames, features; the layout of Diffusion Policy and UMI."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.core.errors import DatasetError, DatasetFileError
from noeira_tui.datasets.facts import (
    Camera,
    DatasetInfo,
    Episode,
    Feature,
    FeatureStats,
    Picture,
    Problem,
    Series,
)
from noeira_tui.datasets.jsonfacts import Problems, frame_rate
from noeira_tui.datasets.proprio import ProprioPlan, ReadingWishes
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.zarr.nodes import Nodes, ZarrArray, own_metadata, read_nodes
from noeira_tui.datasets.zarr.present import check_chunks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENDS = ("meta/episode_ends", "episode_ends", "data/episode_ends")
_STATES = ("state", "robot_state", "robot0_eef_pos")
_INDEX_NAMES = {"timestamp", "episode_ends", "index", "frame_index", "episode_index", "reward", "done", "terminal"}
_CHANNELS = {1, 3, 4}


@dataclass(frozen=True)
class EndsTable:
    """Episodes told by where each ends, in frames of the whole."""

    ends: tuple[int, ...]
    data_file: str | None = None
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.ends)

    def page(self, offset: int, limit: int) -> tuple[Episode, ...]:
        return tuple(self._episode(row) for row in range(max(0, offset), min(len(self), offset + limit)))

    def find(self, index: int) -> Episode | None:
        return self._episode(index) if 0 <= index < len(self) else None

    def bounds(self, index: int) -> tuple[int, int]:
        """First frame of an episode, and the one behind its last."""
        return (self.ends[index - 1] if index else 0), self.ends[index]

    @property
    def lengths(self) -> Sequence[int]:
        return [end - start for start, end in zip((0, *self.ends), self.ends, strict=False)]

    def _episode(self, row: int) -> Episode:
        start, end = self.bounds(row)
        return Episode(row, end - start, data_file=self.data_file)


class ZarrReader:
    """Begins with the value of the metadata file that told the format."""

    def __init__(self, marker: str, data: object) -> None:
        self._marker = marker
        self._data = data
        self._problems = Problems()
        self._nodes: Nodes | None = None
        self._table: EndsTable | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems.found

    def summary(self, source: Source) -> DatasetInfo:
        nodes = self._read(source)
        table = self.episodes(source)
        data = data_arrays(nodes)
        cameras = tuple(camera for array in data if (camera := _camera(array)) is not None)
        pictures = {camera.name for camera in cameras}
        features = tuple(Feature(array.name, array.dtype, array.shape[1:]) for array in data)
        told = {**nodes.groups.get("", {}), **nodes.groups.get("data", {}), **nodes.groups.get("meta", {})}
        action = self._action(data)
        observed = [
            feature
            for feature in features
            if feature.name not in pictures | _INDEX_NAMES and (action is None or feature.name != action.name)
        ]
        robot = told.get("robot_type", told.get("robot"))
        return DatasetInfo(
            uri=source.shown,
            format="zarr",
            format_version=str(nodes.generation),
            num_episodes=len(table) if nodes.find(*ENDS) is not None else None,
            total_frames=frames_of(data),
            fps=frame_rate(told, self._problems),
            robot_type=robot if isinstance(robot, str) else None,
            cameras=cameras,
            features=features,
            observation=tuple(observed),
            action=tuple(feature for feature in features if action is not None and feature.name == action.name),
            has_timestamps=any(array.name == "timestamp" for array in data),
            problems=self.problems,
        )

    def frames(self, source: Source) -> int | None:
        return self.summary(source).total_frames

    def episodes(self, source: Source) -> EndsTable:
        if self._table is None:
            nodes = self._read(source)
            problems = Problems()
            table = _read_table(source, nodes, problems)
            self._problems.extend(problems.found)
            self._table = table
        return self._table

    def deepen(self, source: Source) -> None:
        """Compare consolidated metadata with each array's own, and look which chunks are there."""
        nodes, problems = self._read(source), Problems()
        if nodes.consolidated:
            for array, own in zip(
                nodes.arrays, source.each(lambda a: own_metadata(source, nodes, a, problems), nodes.arrays), strict=True
            ):
                compare(array, own, self._marker, problems)
        check_chunks(source, nodes, problems)
        self._problems.extend(problems.found)

    def series(self, source: Source, episode_index: int) -> Series:
        import numpy as np

        nodes, table = self._read(source), self.episodes(source)
        if table.find(episode_index) is None:
            raise DatasetError(f"There is no episode {episode_index}.")
        start, stop = table.bounds(episode_index)
        data = data_arrays(nodes)
        if not 0 <= start < stop <= (frames_of(data) or 0):
            raise DatasetError(f"Episode {episode_index} is to be frames {start:,} to {stop:,}, which are not there.")
        state = next((array for name in _STATES for array in data if array.name == name), None)
        values = [self._values(source, nodes, array, start, stop) for array in (state, self._action(data))]
        info = self.summary(source)
        times = np.arange(stop - start, dtype=np.float64) / (info.fps or 30.0)
        return Series(episode_index, times, values[0], values[1])

    def proprio(self, source: Source, wishes: ReadingWishes) -> ProprioPlan:
        from noeira_tui.datasets.zarr.proprio import plan_zarr

        nodes, table = self._read(source), self.episodes(source)
        ends_of = nodes.find(*ENDS)
        if ends_of is None or not len(table):
            found = next(iter(self.problems), None)
            why = f"There is no array {ENDS[0]}: where episodes end is not told." if found is None else found.message
            raise DatasetError(f"There are no episodes to be told: {why}")
        data = data_arrays(nodes)
        state = next((array for name in _STATES for array in data if array.name == name), None)
        action = self._action(data)
        if state is None and action is None:
            raise DatasetError("There is neither state nor action in it.", hint="Zarr: `data/state`, `data/action`.")
        return plan_zarr(nodes, self._marker, table.ends, (state, action, ends_of), wishes)

    def stats(self, source: Source) -> tuple[FeatureStats, ...]:
        return ()

    def picture(self, source: Source, episode_index: int, camera: str, at_s: float) -> Picture:
        import numpy as np

        nodes, table = self._read(source), self.episodes(source)
        array = next((array for array in data_arrays(nodes) if array.name == camera), None)
        if array is None or _camera(array) is None or table.find(episode_index) is None:
            raise DatasetError(f"There is no camera {camera!r} in episode {episode_index}.")
        start, stop = table.bounds(episode_index)
        row = min(stop - 1, start + max(0, round(at_s * (self.summary(source).fps or 30.0))))
        if not 0 <= row < array.shape[0]:
            raise DatasetError(f"Episode {episode_index} is to have frame {row:,}, which is not there.")
        values = self._rows(source, nodes, array, row, row + 1)
        if not len(values):
            raise DatasetError(f"{array.path} has no frame {row:,}.")
        picture = np.asarray(values[0])
        if picture.shape[0] in _CHANNELS and picture.shape[2] not in _CHANNELS:
            picture = np.moveaxis(picture, 0, 2)
        if picture.dtype.kind == "f":
            picture = picture * (255.0 if picture.size and float(np.nanmax(picture)) <= 1.0 else 1.0)
        rgb = np.clip(np.nan_to_num(picture.astype(np.float64)), 0, 255).astype(np.uint8)
        rgb = np.repeat(rgb[..., :1], 3, axis=2) if rgb.shape[2] == 1 else rgb[..., :3]
        return Picture(camera, rgb.shape[1], rgb.shape[0], np.ascontiguousarray(rgb).tobytes(), at_s, True)

    def _read(self, source: Source) -> Nodes:
        if self._nodes is None:
            problems = Problems()
            self._nodes = read_nodes(source, self._marker, self._data, problems)
            self._problems.extend(problems.found)
        return self._nodes

    def _action(self, data: Sequence[ZarrArray]) -> ZarrArray | None:
        exact = next((array for array in data if array.name == "action"), None)
        named = [array for array in data if "action" in array.name]
        return exact if exact is not None else named[0] if len(named) == 1 else None

    def _values(
        self, source: Source, nodes: Nodes, array: ZarrArray | None, start: int, stop: int
    ) -> NDArray[np.float64] | None:
        import numpy as np

        if array is None:
            return None
        values = self._rows(source, nodes, array, start, stop)
        # Damaged bytes make numbers that do not fit: a warning would be printed among our words.
        with np.errstate(invalid="ignore"):
            return np.asarray(values, np.float64).reshape(len(values), math.prod(values.shape[1:]))

    def _rows(self, source: Source, nodes: Nodes, array: ZarrArray, start: int, stop: int) -> NDArray[np.generic]:
        from noeira_tui.datasets.zarr.chunks import read_rows

        values, absent = read_rows(source, nodes.generation, array, start, stop)
        for key in absent:
            message = f"The chunk {key} is not there: zarr reads its frames as fill values."
            self._problems.add("missing_chunk", key, array.path, message)
        return values


def data_arrays(nodes: Nodes) -> tuple[ZarrArray, ...]:
    """The arrays with one entry a frame: those of `data`, else those of the root."""
    below = tuple(array for array in nodes.arrays if array.path.startswith("data/") and array.shape)
    if below:
        return below
    return tuple(
        array for array in nodes.arrays if array.shape and array.path not in ENDS and not array.path.startswith("meta/")
    )


def frames_of(data: Sequence[ZarrArray]) -> int | None:
    """Frames by the arrays' shapes: the action's where there is one, else the most common."""
    counts = [array.shape[0] for array in data]
    action = next((array.shape[0] for array in data if array.name == "action"), None)
    return action if action is not None else max(set(counts), key=counts.count) if counts else None


def compare(array: ZarrArray, own: ZarrArray | None, file: str, problems: Problems) -> None:
    """Note where consolidated metadata say something else than the array's own."""
    if own is None:
        message = f"{file} has the array {array.path!r}, which has no metadata of its own any more."
        problems.add("stale_metadata", file, array.path, message)
    elif own.shape != array.shape:
        message = (
            f"{file} is stale: it gives {array.path!r} the shape {list(array.shape)}, its own metadata say "
            f"{list(own.shape)}."
        )
        problems.add("stale_metadata", file, array.path, message)


def _read_table(source: Source, nodes: Nodes, problems: Problems) -> EndsTable:
    frames = frames_of(data_arrays(nodes))
    for array in data_arrays(nodes):
        if frames is not None and array.shape[0] != frames:
            message = f"{array.path} has {array.shape[0]:,} entries, the dataset {frames:,} frames."
            problems.add("counts_disagree", array.path, "shape", message)
    ends_of = nodes.find(*ENDS)
    if ends_of is None:
        message = f"There is no array {ENDS[0]}: where episodes end is not told."
        problems.add("missing_field", ENDS[0], "", message)
        return EndsTable(())
    if len(ends_of.shape) != 1:
        problems.add(
            "wrong_type", ends_of.path, "shape", f"{ends_of.path} is no list: its shape is {list(ends_of.shape)}."
        )
        return EndsTable(())
    try:
        ends = _read_ends(source, nodes, ends_of, problems)
    except DatasetFileError as err:
        if err.code not in {"damaged_file", "lfs_pointer", "too_large"}:
            raise
        problems.add(err.code, ends_of.path, "", err.message)
        return EndsTable(())
    _check_ends(ends, frames, ends_of.path, problems)
    if nodes.consolidated and frames is not None and ends and ends[-1] != frames:
        # The two usually disagree because one of them was consolidated before an append.
        compare(ends_of, own_metadata(source, nodes, ends_of, problems), "the consolidated metadata", problems)
    return EndsTable(ends, "data" if any(one.path.startswith("data/") for one in nodes.arrays) else None)


def _read_ends(source: Source, nodes: Nodes, array: ZarrArray, problems: Problems) -> tuple[int, ...]:
    from noeira_tui.datasets.zarr.chunks import read_rows

    if not array.shape[0]:
        return ()
    values, absent = read_rows(source, nodes.generation, array, 0, array.shape[0])
    for key in absent:
        message = f"The chunk {key} is not there: zarr reads episode ends of 0 in its place."
        problems.add("missing_chunk", key, array.path, message)
    try:
        return tuple(int(value) for value in values.tolist())
    except (TypeError, ValueError, OverflowError):
        problems.add("wrong_type", array.path, "", f"{array.path} does not hold whole numbers.")
        return ()


def _check_ends(ends: tuple[int, ...], frames: int | None, path: str, problems: Problems) -> None:
    if not ends:
        problems.add("zero_episodes", path, "", f"{path} is empty; there is no episode.")
        return
    for number, (before, end) in enumerate(zip((0, *ends), ends, strict=False)):
        if end <= before:
            problems.add(
                "index_order", path, "", f"{path}: episode {number} ends at {end:,}, the one before at {before:,}."
            )
    if frames is not None and ends[-1] != frames:
        message = f"{path}: the last episode ends at frame {ends[-1]:,}, the arrays have {frames:,} frames."
        problems.add("counts_disagree", path, "", message)


def _camera(array: ZarrArray) -> Camera | None:
    """An array of pictures: one of four dimensions whose last or second one is the channels."""
    if len(array.shape) != 4:
        return None
    _, a, b, c = array.shape
    if c in _CHANNELS:
        return Camera(array.name, a, b, c, "array")
    return Camera(array.name, b, c, a, "array") if a in _CHANNELS else None
