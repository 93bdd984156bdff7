"""One camera frame of a dataset that keeps its pictures inside the parquet files."""

from __future__ import annotations

from noeira_tui.core.errors import ConfigError, DatasetError
from noeira_tui.datasets.facts import Episode, Picture
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.lerobot.series import OpenTables
from noeira_tui.datasets.source import Source, cut_short

_MAX_CHUNK_BYTES = 64 << 20


def read_image(
    source: Source, info: LeRobotInfo, episode: Episode, camera: str, at_s: float, tables: OpenTables
) -> Picture:
    """Decode the picture at `at_s` seconds into an episode; reads the column chunk it is in.

    Raises DatasetError when that chunk is too large to be read for one picture.
    """
    if episode.data_file is None:
        raise DatasetError(f"Episode {episode.index} does not say in which file it is.")
    file = tables.get(source, episode.data_file)
    wanted = max(0, round(at_s * (info.fps or 30.0)))
    places = [name for name in ("episode_index", "frame_index") if name in file.names]
    before = 0
    for group, span in enumerate(file.spans("episode_index")):
        if span.least is None or span.greatest is None or span.least <= episode.index <= span.greatest:
            rows = file.read(places, [group]).to_pylist()
            mine = [row for row, one in enumerate(rows) if one.get("episode_index", episode.index) == episode.index]
            if wanted < before + len(mine):
                data = _stored(source, info, episode, camera, tables, group, mine[wanted - before])
                return _decoded(data, episode.data_file, camera, at_s)
            before += len(mine)
    raise DatasetError(f"{episode.data_file} has no frame {wanted} of episode {episode.index}.")


def _stored(
    source: Source, info: LeRobotInfo, episode: Episode, camera: str, tables: OpenTables, group: int, row: int
) -> bytes:
    file = tables.get(source, episode.data_file or "")
    size = sum(stop - start for start, stop in file.ranges([camera], [group]))
    if size > _MAX_CHUNK_BYTES:
        raise DatasetError(
            f"The pictures around this one take {size:,} bytes in {file.path}; they are not read for it."
        )
    if camera not in file.names:
        raise cut_short(file.path, f"it has no column `{camera}`")
    value = file.read([camera], [group])[camera][row].as_py()
    data = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(data, bytes) or not data:
        raise cut_short(file.path, f"`{camera}` holds no picture in row {row} of row group {group}")
    return data


def _decoded(data: bytes, path: str, camera: str, at_s: float) -> Picture:
    import io

    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as err:
        raise ConfigError(
            "Camera frames need a picture decoder, which is not installed.",
            title="Not installed",
            hint="pip install 'noeira-tui[preview]'",
        ) from err
    try:
        with Image.open(io.BytesIO(data)) as image:
            rgb = image.convert("RGB")
            return Picture(camera, rgb.width, rgb.height, rgb.tobytes(), at_s, True)
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as err:
        raise cut_short(path, f"the picture of {camera} cannot be decoded") from err
