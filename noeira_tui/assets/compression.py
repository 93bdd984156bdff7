"""Compressed streams read in bounded pieces: several frames in a row, and an end that is missing is an error.

One-shot decoders return the first frame only, and streaming ones say nothing about a cut; both are looked after here.
"""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import BinaryIO, Protocol

from noeira_tui.core.errors import ArchiveError
from noeira_tui.core.quantity import show_size

MAX_WINDOW_BYTES = 1 << 30
"""The most memory a stream may ask for to be decoded; `zstd --long=30` needs as much."""

_PIECE_BYTES = 1 << 20
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_CUT = "The archive is cut: its end is missing. Nothing of the pack was installed."
_AGAIN = "Ask whoever published the pack for a whole archive."


class Compression(StrEnum):
    """How the bytes of a file are compressed."""

    NONE = "none"
    ZSTD = "zst"
    GZIP = "gz"
    XZ = "xz"


def compression_of(head: bytes) -> Compression:
    """The compression a file's first bytes tell."""
    if head.startswith(_ZSTD_MAGIC) or int.from_bytes(head[:4], "little") in _SKIPPABLE:
        return Compression.ZSTD
    if head.startswith(b"\x1f\x8b\x08"):
        return Compression.GZIP
    return Compression.XZ if head.startswith(b"\xfd7zXZ\x00") else Compression.NONE


class Readable(Protocol):
    """A file, or one that is still arriving."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


def decompressed(stream: Readable, compression: Compression) -> Iterator[bytes]:
    """The contents of a file from its beginning, in pieces of at most a MiB.

    Raises ArchiveError for a damaged one, and for a cut one as far as the decoder notices; `check_whole` notices all.
    """
    stream.seek(0)
    try:
        if compression is Compression.ZSTD:
            yield from _zstd(stream)
        elif compression is Compression.GZIP:
            with gzip.GzipFile(fileobj=stream) as plain:
                yield from iter(lambda: plain.read(_PIECE_BYTES), b"")
        elif compression is Compression.XZ:
            yield from _xz(stream)
        else:
            yield from iter(lambda: stream.read(_PIECE_BYTES), b"")
    except EOFError as err:
        raise cut() from err
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as err:
        raise damaged(str(err)) from err


def cut() -> ArchiveError:
    """The error for an archive that ends too early."""
    return ArchiveError(_CUT, hint=_AGAIN)


def damaged(why: str) -> ArchiveError:
    """The error for an archive that cannot be decoded."""
    return ArchiveError(f"The archive is damaged: {why}. Nothing of the pack was installed.", hint=_AGAIN)


def check_whole(stream: BinaryIO, compression: Compression) -> None:
    """Raise ArchiveError unless the file ends where its last frame does, and can be decoded within the memory allowed.

    Only zstd needs it: its decoders do not notice a missing end. Frames and blocks are walked by their headers.
    """
    if compression is Compression.ZSTD:
        size = os.fstat(stream.fileno()).st_size
        at = 0
        while at < size:
            at = _frame_end(stream.fileno(), at)
        if at > size:
            raise cut()


def _zstd(stream: Readable) -> Iterator[bytes]:
    import zstandard

    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    try:
        with decoder.stream_reader(
            stream,  # type: ignore[arg-type]  # it needs no more than `read`
            read_size=_PIECE_BYTES,
            read_across_frames=True,
            closefd=False,
        ) as plain:
            yield from iter(lambda: plain.read(_PIECE_BYTES), b"")
    except zstandard.ZstdError as err:
        raise damaged(str(err)) from err


def _frame_end(fd: int, at: int) -> int:
    """Where the zstd frame that begins at `at` ends (RFC 8878, section 3.1)."""
    head = os.pread(fd, 18, at)
    if len(head) < 8:
        raise cut()
    magic = int.from_bytes(head[:4], "little")
    if magic in _SKIPPABLE:
        return at + 8 + int.from_bytes(head[4:8], "little")
    if head[:4] != _ZSTD_MAGIC:
        raise damaged(f"there is no zstd frame at byte {at:,}")
    descriptor = head[4]
    single_segment = bool(descriptor & 0x20)
    length = 5 + (not single_segment) + (0, 1, 2, 4)[descriptor & 3]
    size_bytes = (int(single_segment), 2, 4, 8)[descriptor >> 6]
    _check_window(_window(head, length, size_bytes, single_segment=single_segment))
    at += length + size_bytes
    last = False
    while not last:
        block = os.pread(fd, 3, at)
        if len(block) < 3:
            raise cut()
        header = int.from_bytes(block, "little")
        last = bool(header & 1)
        # A run-length block keeps one byte, whatever size it unpacks to.
        at += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
    return at + (4 if descriptor & 4 else 0)


def _window(head: bytes, length: int, size_bytes: int, *, single_segment: bool) -> int:
    if single_segment:
        size = int.from_bytes(head[length : length + size_bytes], "little")
        return size + 256 if size_bytes == 2 else size
    exponent, mantissa = head[5] >> 3, head[5] & 7
    return (1 << (10 + exponent)) // 8 * (8 + mantissa)


def _check_window(window: int) -> None:
    if window > MAX_WINDOW_BYTES:
        raise ArchiveError(
            f"Unpacking needs {show_size(window)} of memory, more than the {show_size(MAX_WINDOW_BYTES)} allowed.",
            title="Archive needs too much memory",
            hint="It was compressed with a very long window; `zstd --long=27` or less makes one that can be unpacked.",
        )


def _xz(stream: Readable) -> Iterator[bytes]:
    waiting = stream.read(_PIECE_BYTES)
    while waiting:
        decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_WINDOW_BYTES)
        while not decoder.eof:
            if decoder.needs_input and not waiting:
                waiting = stream.read(_PIECE_BYTES)
                if not waiting:
                    raise cut()
            plain, waiting = decoder.decompress(waiting, _PIECE_BYTES), b""
            if plain:
                yield plain
        # Streams may be padded with zeros.
        waiting = (decoder.unused_data or stream.read(_PIECE_BYTES)).lstrip(b"\0")
        while not waiting and (more := stream.read(_PIECE_BYTES)):
            waiting = more.lstrip(b"\0")
