"""One camera frame from an mp4 by ranges: the index, then the frames from a key frame on; never the file."""

from __future__ import annotations

from noeira_tui.core.errors import ConfigError
from noeira_tui.datasets.facts import Picture
from noeira_tui.datasets.mp4 import VideoIndex
from noeira_tui.datasets.rangefile import RangeFile
from noeira_tui.datasets.source import Source, cut_short
from noeira_tui.datasets.store import Piece

_MAX_EXACT_BYTES = 768 << 10
"""More than this from the key frame to the wanted one, and the key frame itself is shown."""
_READ_AHEAD = 32 << 10


def read_picture(source: Source, path: str, index: VideoIndex, camera: str, at_s: float) -> Picture:
    """Decode the frame shown at `at_s`, or the key frame before it when that saves much.

    Raises ConfigError when the decoder is not installed, DatasetFileError for a video that cannot be decoded.
    """
    if not index.frames:
        raise cut_short(path, "it has no frames")
    frame = index.frame_at(at_s)
    key = index.key_before(frame)
    exact = sum(index.sizes[key : frame + 1]) <= _MAX_EXACT_BYTES
    wanted = frame if exact else key
    file = _prefetched(source, path, index, key, wanted)
    return _decoded(file, path, index, camera, key, wanted, exact=exact)


def _prefetched(source: Source, path: str, index: VideoIndex, key: int, wanted: int) -> RangeFile:
    file = RangeFile(source, path, index.total, read_ahead=_READ_AHEAD, short_reads=True)
    file.keep(Piece(index.moov, index.moov_at, index.total))
    # A reordering decoder wants a frame or two behind the wanted one.
    last = min(index.frames, wanted + 3)
    frames = [(index.offsets[number], index.offsets[number] + index.sizes[number]) for number in range(key, last)]
    file.fetch([(0, min(64, index.total)), *frames], 0.05)
    return file


def _decoded(
    file: RangeFile, path: str, index: VideoIndex, camera: str, key: int, wanted: int, *, exact: bool
) -> Picture:
    try:
        import av
    except ModuleNotFoundError as err:
        raise ConfigError(
            "Camera frames need a video decoder, which is not installed.",
            title="Not installed",
            hint="pip install 'noeira-tui[preview]'",
        ) from err
    moment = index.times[wanted]
    half = 0.5 * (index.durations[wanted] or 1 / 30)
    try:
        with av.open(file, "r", format="mp4") as container:
            stream = container.streams.video[0]
            stream.thread_type = "SLICE"
            scale = float(stream.time_base or 1)
            container.seek(round(index.times[key] / scale), stream=stream, backward=True)
            shown = None
            for shown in container.decode(stream):
                if shown.pts is None or shown.pts * scale >= moment - half:
                    break
            if shown is None:
                raise cut_short(path, f"nothing could be decoded at {moment:.2f} s")
            rgb = shown.to_ndarray(format="rgb24")
            at_s = moment if shown.pts is None else shown.pts * scale
    except (av.FFmpegError, OSError, ValueError, IndexError) as err:
        raise cut_short(path, f"the frame at {moment:.2f} s cannot be decoded") from err
    return Picture(camera, rgb.shape[1], rgb.shape[0], rgb.tobytes(), at_s, exact)
