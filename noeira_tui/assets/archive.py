"""What a downloaded file is, told by its content and never by its name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from noeira_tui.assets.compression import Compression, Readable, compression_of, decompressed
from noeira_tui.assets.tarstream import BLOCK_BYTES, is_header


class ArchiveKind(StrEnum):
    TAR = "tar"
    ZIP = "zip"
    FILE = "file"


@dataclass(frozen=True)
class Layout:
    """The kind of an archive and how it is compressed, `tar.zst` as text; anything that is none is one `file`."""

    kind: ArchiveKind
    compression: Compression = Compression.NONE

    def __str__(self) -> str:
        compressed = self.kind is ArchiveKind.TAR and self.compression is not Compression.NONE
        return f"{self.kind}.{self.compression}" if compressed else str(self.kind)


def sniff(stream: Readable) -> Layout:
    """The layout of an open file. Raises ArchiveError for a compressed one that cannot be decoded at all."""
    stream.seek(0)
    head = stream.read(BLOCK_BYTES)
    if head[:4] in {b"PK\x03\x04", b"PK\x05\x06"}:
        return Layout(ArchiveKind.ZIP)
    compression = compression_of(head)
    if compression is not Compression.NONE:
        head = _first_block(stream, compression)
        # A compressed file that holds no tar is one file, and stays as it is; a tar of nothing begins with zeros.
        empty_tar = head == bytes(BLOCK_BYTES)
        return Layout(ArchiveKind.TAR, compression) if empty_tar or is_header(head) else Layout(ArchiveKind.FILE)
    return Layout(ArchiveKind.TAR if is_header(head) else ArchiveKind.FILE)


def _first_block(stream: Readable, compression: Compression) -> bytes:
    head = b""
    for piece in decompressed(stream, compression):
        head += piece
        if len(head) >= BLOCK_BYTES:
            break
    return head[:BLOCK_BYTES]
