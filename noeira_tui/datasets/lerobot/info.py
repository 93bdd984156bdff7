"""`meta/info.json`: what a LeRobot dataset says of itself, and where that makes no sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.facts import Camera, Feature, is_action
from noeira_tui.datasets.jsonfacts import Fields, Problems, whole_number
from noeira_tui.datasets.lerobot.layout import INFO, V2_DATA, V2_VIDEO, V3_DATA, V3_VIDEO, Generation, generation_of

KNOWN_VERSIONS = {"v2.0": "lerobot-v2", "v2.1": "lerobot-v2.1", "v3.0": "lerobot-v3"}
_DTYPES = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "string",
        "video",
        "image",
    ]
)
_PICTURES = ("video", "image")
_DEFAULT_CHUNK = 1000


@dataclass(frozen=True)
class LeRobotInfo:
    """`info.json` read once. `data_path` and `video_path` are templates, `default_*` what the layout itself has."""

    format: str
    version: str | None
    generation: Generation
    episodes: int | None
    frames: int | None
    tasks: int | None
    fps: float | None
    robot_type: str | None
    chunk_size: int
    data_path: str
    video_path: str
    features: tuple[Feature, ...]
    cameras: tuple[Camera, ...]

    @property
    def default_data_path(self) -> str:
        return V3_DATA if self.generation is Generation.V3 else V2_DATA

    @property
    def default_video_path(self) -> str:
        return V3_VIDEO if self.generation is Generation.V3 else V2_VIDEO

    @property
    def videos(self) -> tuple[str, ...]:
        """The cameras that are kept as mp4."""
        return tuple(camera.name for camera in self.cameras if camera.storage == "video")

    @property
    def observation(self) -> tuple[Feature, ...]:
        """What the robot observes, without the cameras."""
        cameras = {camera.name for camera in self.cameras}
        return tuple(
            feature
            for feature in self.features
            if (feature.name == "observation" or feature.name.startswith("observation."))
            and feature.name not in cameras
        )

    @property
    def action(self) -> tuple[Feature, ...]:
        return tuple(feature for feature in self.features if is_action(feature.name))

    def has(self, name: str) -> bool:
        return any(feature.name == name for feature in self.features)


def parse_info(data: object, problems: Problems) -> LeRobotInfo:
    """Read `info.json`'s value. Raises DatasetFileError when it is no object; anything less is a problem."""
    if not isinstance(data, dict):
        raise DatasetFileError(
            f"{INFO} is damaged: it is no JSON object but {type(data).__name__}.", code="damaged_file", file=INFO
        )
    fields = Fields(data, INFO, problems)
    version = fields.text("codebase_version", required=True)
    data_path, video_path = fields.text("data_path"), fields.text("video_path")
    if version is not None and version not in KNOWN_VERSIONS:
        problems.add(
            "unknown_version",
            INFO,
            "codebase_version",
            f"{INFO}: `codebase_version` is {version[:40]!r}; known are {', '.join(KNOWN_VERSIONS)}.",
        )
    generation = generation_of(version, data_path)
    features, cameras = _features(fields, problems)
    if not data_path:
        fields.text("data_path", required=True)
    if any(camera.storage == "video" for camera in cameras) and not video_path:
        fields.text("video_path", required=True)
    info = LeRobotInfo(
        format=KNOWN_VERSIONS.get(version or "", "lerobot"),
        version=None if version is None else version[:40],
        generation=generation,
        episodes=fields.count("total_episodes", required=True),
        frames=fields.count("total_frames", required=True),
        tasks=fields.count("total_tasks"),
        fps=fields.positive("fps", required=True),
        robot_type=fields.text("robot_type"),
        chunk_size=fields.count("chunks_size") or _DEFAULT_CHUNK,
        data_path=data_path or (V3_DATA if generation is Generation.V3 else V2_DATA),
        video_path=video_path or (V3_VIDEO if generation is Generation.V3 else V2_VIDEO),
        features=features,
        cameras=cameras,
    )
    _check(info, fields, problems)
    return info


def _check(info: LeRobotInfo, fields: Fields, problems: Problems) -> None:
    if info.episodes == 0:
        problems.add("zero_episodes", INFO, "total_episodes", f"{INFO}: `total_episodes` is 0; there is nothing in it.")
    elif info.frames == 0:
        problems.add("zero_frames", INFO, "total_frames", f"{INFO}: `total_frames` is 0.")
    if info.episodes and info.frames and info.frames < info.episodes:
        problems.add(
            "counts_disagree",
            INFO,
            "total_frames",
            f"{INFO}: {info.frames:,} frames cannot make {info.episodes:,} episodes.",
        )
    if info.features and not any(is_action(feature.name) for feature in info.features):
        problems.add("no_action", INFO, "features", f"{INFO}: no feature is an action.")
    for camera, fps in _camera_rates(fields):
        if info.fps is not None and abs(fps - info.fps) > 0.01 * info.fps:
            problems.add(
                "counts_disagree",
                INFO,
                f"features.{camera}.info",
                f"{INFO}: the video of {camera} has {fps:g} frames a second, the dataset {info.fps:g}.",
            )
    _check_splits(info, fields, problems)


def _check_splits(info: LeRobotInfo, fields: Fields, problems: Problems) -> None:
    for name, value in (fields.mapping("splits") or {}).items():
        first, colon, last = value.partition(":") if isinstance(value, str) else ("", "", "")
        if not colon or not first.isdigit() or not last.isdigit():
            problems.add("wrong_type", INFO, f"splits.{name}", f"{INFO}: `splits.{name}` is no range such as `0:10`.")
        elif info.episodes is not None and int(last[:18]) > info.episodes:
            problems.add(
                "counts_disagree",
                INFO,
                f"splits.{name}",
                f"{INFO}: the split {name!r} goes to episode {last[:18]}, there are {info.episodes:,}.",
            )


def _camera_rates(fields: Fields) -> list[tuple[str, float]]:
    rates: list[tuple[str, float]] = []
    for name, feature in (_mapping(fields.raw("features"))).items():
        said = _mapping(_mapping(feature).get("info")) or _mapping(_mapping(feature).get("video_info"))
        rate = said.get("video.fps")
        if isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate < 1e6:
            rates.append((name, float(rate)))
    return rates


def _features(fields: Fields, problems: Problems) -> tuple[tuple[Feature, ...], tuple[Camera, ...]]:
    features: list[Feature] = []
    cameras: list[Camera] = []
    for name, raw in (fields.mapping("features", required=True) or {}).items():
        at = f"features.{name}"
        if not isinstance(raw, dict):
            problems.add("wrong_type", INFO, at, f"{INFO}: `{at}` is no object.")
            continue
        own = Fields(raw, INFO, problems, f"{at}.")
        dtype = own.text("dtype", required=True)
        if dtype is not None and dtype not in _DTYPES:
            problems.add("unknown_dtype", INFO, f"{at}.dtype", f"{INFO}: `{at}.dtype` is the unknown {dtype[:40]!r}.")
        shape = _shape(raw.get("shape"), at, problems)
        names = _names(raw.get("names"))
        features.append(Feature(name, (dtype or "unknown")[:40], shape, names))
        if dtype in _PICTURES:
            cameras.append(_camera(name, dtype, shape, names, raw))
    return tuple(features), tuple(cameras)


def _shape(value: object, at: str, problems: Problems) -> tuple[int, ...]:
    if value is None:
        problems.add("no_shape", INFO, f"{at}.shape", f"{INFO}: `{at}` has no `shape`.")
        return ()
    if isinstance(value, list) and len(value) <= 32:
        sizes = [whole_number(size) for size in value]
        known = [size for size in sizes if size is not None and size >= 0]
        if len(known) == len(value):
            return tuple(known)
    problems.add("wrong_type", INFO, f"{at}.shape", f"{INFO}: `{at}.shape` is no list of whole numbers.")
    return ()


def _names(value: object) -> tuple[str, ...]:
    """The names of a feature's dimensions: a list, or lists under headings such as `motors`."""
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        value = [name for inner in lists for name in inner]
    return tuple(str(name)[:80] for name in value) if isinstance(value, list) else ()


def _camera(
    name: str, storage: str, shape: tuple[int, ...], names: tuple[str, ...], raw: Mapping[str, object]
) -> Camera:
    """Sizes by the names of the dimensions, else by which end the channels are at."""
    by_name = {key.rstrip("s"): size for key, size in zip(names, shape, strict=False)}
    if {"height", "width"} <= by_name.keys():
        return Camera(name, by_name["height"], by_name["width"], by_name.get("channel"), storage)
    if len(shape) == 3:
        first = shape[0] in {1, 3, 4} and shape[2] not in {1, 3, 4}
        height, width, channels = (shape[1], shape[2], shape[0]) if first else shape
        return Camera(name, height, width, channels, storage)
    told = _mapping(raw.get("info"))
    sizes = [whole_number(told.get(f"video.{key}")) for key in ("height", "width", "channels")]
    return Camera(name, sizes[0], sizes[1], sizes[2], storage)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
