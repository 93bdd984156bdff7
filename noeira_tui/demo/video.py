"""Writing one mp4 frame by frame, the way a recorder does: growing in place, without an index until it is closed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noeira_tui.demo.motion import Picture


def codec() -> str:
    """The encoder at hand: H.264 where the FFmpeg build has it, else MPEG-4."""
    import av

    return "libx264" if "libx264" in av.codecs_available else "mpeg4"


def codec_name() -> str:
    """The codec as `info.json` names it."""
    return "h264" if codec() == "libx264" else "mpeg4"


class Mp4Writer:
    """An open mp4. Until `close` it has no `moov` box: nothing can play it, and nothing should send it."""

    def __init__(self, path: Path, fps: int, height: int, width: int) -> None:
        import av

        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # Packets go to the disk at once: whoever looks at the file sees it grow.
        self._container = av.open(str(path), "w", format="mp4", options={"flush_packets": "1"})
        is_h264 = codec() == "libx264"
        options = {"preset": "veryfast", "tune": "zerolatency", "crf": "26"} if is_h264 else {}
        stream = self._container.add_stream(codec(), rate=fps, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        stream.codec_context.thread_count = 1
        self._stream = stream

    def write(self, picture: Picture) -> None:
        """Append a frame, shape (height, width, 3), RGB."""
        import av

        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Write what the encoder still holds, and the index."""
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def discard(self) -> None:
        """Close it and remove the file: the episode does not count."""
        self._container.close()
        self.path.unlink(missing_ok=True)
