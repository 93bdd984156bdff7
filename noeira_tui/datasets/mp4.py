"""What an mp4 says of itself in its `moov` box: frames, durations, key frames. The pictures are not read.

Source of the boxes: ISO/IEC 14496-12. Two requests: the head, which tells where `moov` is, and `moov`.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from noeira_tui.datasets.source import Source, cut_short, refuse_pointer

_HEAD_BYTES = 64
_MAX_MOOV_BYTES = 256 << 20
_MOOV_AT_ONCE_BYTES = 1 << 20
_MAX_FRAMES = 50_000_000
_MAX_BOXES = 64


@dataclass(frozen=True)
class VideoIndex:
    """The index of the first video track. All lists have one entry a frame, in decoding order.

    `times` are presentation times in seconds, edit list applied; `durations` seconds; `keys` the frames that stand on
    their own (decoding order, ascending). `codec` is the sample format's
    four letters (`avc1`, `av01`), `setup` what a decoder needs before the first frame, empty where nothing.
    """

    times: tuple[float, ...]
    durations: tuple[float, ...]
    sizes: tuple[int, ...]
    offsets: tuple[int, ...] = field(repr=False)
    keys: tuple[int, ...]
    codec: str
    setup: bytes = field(repr=False)

    @property
    def frames(self) -> int:
        return len(self.sizes)

    @property
    def duration_s(self) -> float:
        return sum(self.durations)

    def key_before(self, frame: int) -> int:
        """The last key frame at or before a frame."""
        at = bisect_right(self.keys, frame) - 1
        return self.keys[max(0, at)] if self.keys else 0

    def frame_at(self, seconds: float) -> int:
        """The frame shown at a time."""
        shown = [(abs(moment - seconds), number) for number, moment in enumerate(self.times)]
        return min(shown)[1] if shown else 0


def read_index(source: Source, path: str) -> VideoIndex:
    """Read a video's index by ranges. Raises DatasetFileError: `missing_file`, `lfs_pointer`, `damaged_file`."""
    moov, total = _find_moov(source, path)
    try:
        track = next((track for track in _boxes(moov, b"trak") if _handler(track) == b"vide"), None)
        if track is None:
            raise cut_short(path, "it has no video track")
        index = _index(moov, track)
    except (struct.error, IndexError, ValueError, ZeroDivisionError) as err:
        raise cut_short(path, "its index (moov) makes no sense") from err
    end = max((offset + size for offset, size in zip(index.offsets, index.sizes, strict=True)), default=0)
    if end > total:
        raise cut_short(path, f"its frames go to byte {end:,}, it ends after {total:,}")
    return index


def _find_moov(source: Source, path: str) -> tuple[bytes, int]:
    """The `moov` box, with its header, and the size of the file."""
    head = source.head(path, _HEAD_BYTES)
    refuse_pointer(head.data, path)
    if not head.data:
        raise cut_short(path, "it is empty")
    if head.data[4:8] not in {b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp"}:
        raise cut_short(path, "it is no mp4")
    total = head.total if head.total is not None else source.size(path) or 0
    at, data, base = 0, head.data, head.start
    for _ in range(_MAX_BOXES):
        if at + 8 > total:
            break
        if at + 16 > base + len(data):
            # What follows the pictures is nearly always `moov`, to the end: taken at once when it is small enough.
            near = total - at <= _MOOV_AT_ONCE_BYTES
            piece = source.from_on(path, at, _MAX_MOOV_BYTES) if near else source.head(path, _HEAD_BYTES, at)
            data, base = piece.data, at
            if len(data) < 8:
                break
        size, kind = struct.unpack_from(">I4s", data, at - base)
        if size == 1 and len(data) >= at - base + 16:
            size = struct.unpack_from(">Q", data, at - base + 8)[0]
        size = total - at if size == 0 else size
        if size < 8 or at + size > total:
            what = kind.decode("latin-1")
            raise cut_short(path, f"its box {what!r} is longer than the file, as when a recorder died")
        if kind == b"moov":
            if size > _MAX_MOOV_BYTES:
                raise cut_short(path, "its index (moov) is too large to be one")
            have = data[at - base : at - base + size]
            if len(have) < size:
                have += source.part(path, at + len(have), at + size)
            return have, total
        at += size
    raise cut_short(path, "it has no index (moov): its recorder did not finish it")


def _boxes(data: bytes, kind: bytes) -> Iterator[bytes]:
    """The contents of the boxes of a kind directly inside a box given with its header."""
    at = 16 if data[:4] == b"\0\0\0\x01" else 8
    while at + 8 <= len(data):
        size, found = struct.unpack_from(">I4s", data, at)
        header = 8
        if size == 1:
            size = struct.unpack_from(">Q", data, at + 8)[0]
            header = 16
        size = len(data) - at if size == 0 else size
        if size < header:
            return
        if found == kind:
            yield data[at : at + size]
        at += size


def _inside(data: bytes, *path: bytes) -> bytes | None:
    """The first box along a path of kinds, with its header."""
    for kind in path:
        found = next(_boxes(data, kind), None)
        if found is None:
            return None
        data = found
    return data


def _handler(track: bytes) -> bytes:
    box = _inside(track, b"mdia", b"hdlr")
    return b"" if box is None else box[16:20]


def _index(moov: bytes, track: bytes) -> VideoIndex:
    media = _inside(track, b"mdia", b"mdhd")
    table = _inside(track, b"mdia", b"minf", b"stbl")
    if media is None or table is None:
        raise ValueError("no sample table")
    scale = struct.unpack_from(">I", media, 28 if media[8] == 1 else 20)[0]
    sizes = _sizes(table)
    count = len(sizes)
    if not count and _inside(moov, b"mvex") is not None:
        raise ValueError("a fragmented mp4")
    durations = _runs(_inside(table, b"stts"), count)
    offsets_of_time = _runs(_inside(table, b"ctts"), count, signed=True)
    shift = _edit_shift(moov, track, scale)
    starts = [0, *accumulate(durations)][:count]
    times = tuple((start + offset) / scale - shift for start, offset in zip(starts, offsets_of_time, strict=True))
    codec, setup = _description(table)
    return VideoIndex(
        times=times,
        durations=tuple(duration / scale for duration in durations),
        sizes=tuple(sizes),
        offsets=tuple(_offsets(table, sizes)),
        keys=_keys(table, count),
        codec=codec,
        setup=setup,
    )


def _sizes(table: bytes) -> list[int]:
    box = _inside(table, b"stsz")
    if box is None:
        raise ValueError("no sizes")
    same, count = struct.unpack_from(">II", box, 12)
    if count > _MAX_FRAMES:
        raise ValueError("too many frames")
    return [same] * count if same else list(struct.unpack_from(f">{count}I", box, 20))


def _runs(box: bytes | None, count: int, *, signed: bool = False) -> list[int]:
    """A run-length coded table with one value a frame; zeros where there is none."""
    values: list[int] = []
    if box is not None:
        runs = struct.unpack_from(">I", box, 12)[0]
        for number in range(runs):
            repeat, value = struct.unpack_from(">Ii" if signed else ">II", box, 16 + 8 * number)
            values += [value] * min(repeat, count - len(values))
    return values + [0] * (count - len(values))


def _offsets(table: bytes, sizes: list[int]) -> list[int]:
    """Where each frame is in the file, from the chunks' offsets and how many frames each has."""
    small, large, runs = _inside(table, b"stco"), _inside(table, b"co64"), _inside(table, b"stsc")
    box = large if large is not None else small
    if box is None or runs is None:
        raise ValueError("no offsets")
    chunks = struct.unpack_from(">I", box, 12)[0]
    places = struct.unpack_from(f">{chunks}{'Q' if large is not None else 'I'}", box, 16)
    entries = [struct.unpack_from(">III", runs, 16 + 12 * n) for n in range(struct.unpack_from(">I", runs, 12)[0])]
    offsets: list[int] = []
    for number, (first, frames, _) in enumerate(entries):
        last = entries[number + 1][0] if number + 1 < len(entries) else chunks + 1
        for chunk in range(first, last):
            at = places[chunk - 1]
            for _frame in range(min(frames, len(sizes) - len(offsets))):
                offsets.append(at)
                at += sizes[len(offsets) - 1]
    if len(offsets) != len(sizes):
        raise ValueError("offsets for another number of frames")
    return offsets


def _keys(table: bytes, count: int) -> tuple[int, ...]:
    """Frames that stand on their own: those of the sync table, or all of them without one."""
    box = _inside(table, b"stss")
    if box is None:
        return tuple(range(count))
    keys = struct.unpack_from(f">{struct.unpack_from('>I', box, 12)[0]}I", box, 16)
    return tuple(sorted(key - 1 for key in keys if 0 < key <= count))


def _edit_shift(moov: bytes, track: bytes, scale: int) -> float:
    """Seconds that the edit list takes from presentation times: its first real entry's start, less empty time."""
    box = _inside(track, b"edts", b"elst")
    movie = _inside(moov, b"mvhd")
    if box is None or movie is None:
        return 0.0
    movie_scale = struct.unpack_from(">I", movie, 28 if movie[8] == 1 else 20)[0]
    wide = box[8] == 1
    shift: float = 0.0
    for number in range(min(8, struct.unpack_from(">I", box, 12)[0])):
        span, start = struct.unpack_from(">Qq" if wide else ">Ii", box, 16 + number * (20 if wide else 12))
        if start >= 0:
            return float(shift + start / scale)
        shift -= span / movie_scale
    return 0.0


def _description(table: bytes) -> tuple[str, bytes]:
    """The sample format, and the contents of its decoder's configuration box."""
    box = _inside(table, b"stsd")
    if box is None or len(box) < 16 + 86:
        return "", b""
    entry = box[16 : 16 + struct.unpack_from(">I", box, 16)[0]]
    # A visual sample entry: 8 bytes of header and 78 of fields before its boxes.
    boxes = b"\0" * 8 + entry[86:]
    for kind in (b"avcC", b"hvcC", b"av1C", b"vpcC", b"esds"):
        found = next(_boxes(boxes, kind), None)
        if found is not None:
            return entry[4:8].decode("latin-1"), _specific(found) if kind == b"esds" else found[8:]
    return entry[4:8].decode("latin-1"), b""


def _specific(box: bytes) -> bytes:
    """The decoder's own part of an elementary stream descriptor (ISO/IEC 14496-1): tags 3, 4, 5 inside each other."""
    at = 12
    for tag, fields in ((3, 3), (4, 13), (5, 0)):
        if at >= len(box) or box[at] != tag:
            return b""
        size, at = 0, at + 1
        while True:
            size = size << 7 | box[at] & 0x7F
            at += 1
            if not box[at - 1] & 0x80:
                break
        if tag == 5:
            return box[at : at + size]
        at += fields
    return b""
