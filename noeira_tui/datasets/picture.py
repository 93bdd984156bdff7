"""One camera frame from an mp4 by ranges: the index, then exactly the frames from a key frame on; never the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.core.errors import ConfigError
from noeira_tui.datasets.facts import Picture
from noeira_tui.datasets.mp4 import VideoIndex
from noeira_tui.datasets.rangefile import join_ranges
from noeira_tui.datasets.source import Source, cut_short

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

_MAX_EXACT_BYTES = 1 << 20
"""More than this from the key frame to the wanted one, and the key frame itself is shown."""
_MAX_KEY_BYTES = 64 << 20
_WASTE = 0.05

_DECODERS = {
    "avc1": "h264",
    "avc3": "h264",
    "hvc1": "hevc",
    "hev1": "hevc",
    "av01": "libdav1d",
    "vp09": "vp9",
    "vp08": "vp8",
    "mp4v": "mpeg4",
    "jpeg": "mjpeg",
    "mjpa": "mjpeg",
}


def read_picture(source: Source, path: str, index: VideoIndex, camera: str, at_s: float) -> Picture:
    """Decode the frame shown at `at_s`, or the key frame before it when that saves much.

    The frames go straight to a decoder: opening the file as a whole would probe frames that nobody wants.
    Raises ConfigError when the decoder is not installed, DatasetFileError for a video that cannot be decoded.
    """
    if not index.frames:
        raise cut_short(path, "it has no frames")
    frame = index.frame_at(at_s)
    key = index.key_before(frame)
    exact = sum(index.sizes[key : frame + 1]) <= _MAX_EXACT_BYTES or frame == key
    wanted = frame if exact else key
    if sum(index.sizes[key : wanted + 1]) > _MAX_KEY_BYTES:
        raise cut_short(path, f"its frame at {at_s:.2f} s is larger than makes sense")
    shown = _decoded(path, index, _samples(source, path, index, key, wanted), key, wanted)
    rgb = shown.to_ndarray(format="rgb24")
    return Picture(camera, rgb.shape[1], rgb.shape[0], rgb.tobytes(), index.times[wanted], exact)


def _samples(source: Source, path: str, index: VideoIndex, key: int, wanted: int) -> list[bytes]:
    """The coded frames from `key` to `wanted`."""
    places = [(index.offsets[n], index.offsets[n] + index.sizes[n]) for n in range(key, wanted + 1)]
    joined = join_ranges(places, _WASTE)
    parts = source.each(lambda part: source.part(path, *part), joined)
    samples: list[bytes] = []
    for start, stop in places:
        place = next(number for number, part in enumerate(joined) if part[0] <= start and stop <= part[1])
        samples.append(parts[place][start - joined[place][0] : stop - joined[place][0]])
    return samples


def _decoded(path: str, index: VideoIndex, samples: list[bytes], key: int, wanted: int) -> VideoFrame:
    try:
        import av
    except ModuleNotFoundError as err:
        raise ConfigError(
            "Camera frames need a video decoder, which is not installed.",
            title="Not installed",
            hint="pip install 'noeira-tui[preview]'",
        ) from err
    name = _DECODERS.get(index.codec)
    if name is None:
        raise cut_short(path, f"its pictures are coded as {index.codec!r}, which is not known here")
    shown: dict[int, VideoFrame] = {}
    try:
        decoder = av.CodecContext.create(name if name in av.codecs_available else index.codec, "r")
        assert isinstance(decoder, av.VideoCodecContext)
        decoder.thread_count = 1
        if index.setup:
            decoder.extradata = index.setup
        for number, data in enumerate(samples, key):
            packet = av.Packet(data)
            packet.pts = packet.dts = number
            shown |= {frame.pts: frame for frame in decoder.decode(packet) if frame.pts is not None}
        shown |= {frame.pts: frame for frame in decoder.decode(None) if frame.pts is not None}
    except (av.FFmpegError, OSError, ValueError, EOFError) as err:
        raise cut_short(path, f"the frame at {index.times[wanted]:.2f} s cannot be decoded ({err})") from err
    if wanted not in shown:
        raise cut_short(path, f"nothing could be decoded at {index.times[wanted]:.2f} s")
    return shown[wanted]
