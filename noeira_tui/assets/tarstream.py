"""Reading a tar as a stream, header by header: what a member is, as it is told, before anything is done with it.

The standard library's reader unpacks into a file system and trusts its filters; this one only tells. Known are the old,
ustar, GNU and pax formats (POSIX.1-2017, `pax`); sparse members and what else cannot be a plain file are refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

from noeira_tui.assets.compression import cut, damaged
from noeira_tui.assets.names import refused

BLOCK_BYTES = 512
_END = bytes(BLOCK_BYTES)
_MAX_EXTENSION_BYTES = 1 << 20
_CHECKSUM = slice(148, 156)
_OCTAL = b"01234567"
_EXTENSIONS = frozenset({b"L", b"K", b"x", b"g", b"X"})


class MemberKind(Enum):
    FILE = auto()
    FOLDER = auto()
    SYMLINK = auto()
    HARDLINK = auto()


@dataclass(frozen=True, slots=True)
class Member:
    """One member as its archive tells it; nothing of it was checked. `target` is what a link names."""

    name: str
    kind: MemberKind
    size_bytes: int = 0
    is_executable: bool = False
    mtime_ns: int = 0
    target: str = ""


class Feed:
    """Pieces of a stream, handed out in the lengths that are asked for."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._view = memoryview(b"")

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes. Raises ArchiveError when the stream ends before."""
        if len(self._view) >= count:
            taken, self._view = self._view[:count], self._view[count:]
            return bytes(taken)
        return b"".join(self.some(count))

    def some(self, count: int) -> Iterator[memoryview]:
        """The next `count` bytes, in pieces as they come. Raises ArchiveError when the stream ends before."""
        while count:
            if not self._view:
                self._view = memoryview(next(self._pieces, b""))
                if not self._view:
                    raise cut()
            piece, self._view = self._view[:count], self._view[count:]
            count -= len(piece)
            yield piece

    def rest(self) -> Iterator[memoryview]:
        """Everything that is left."""
        yield self._view
        for piece in self._pieces:
            yield memoryview(piece)


class TarReader:
    """The members of a tar, once, in order. `body` gives the contents of the one that was told last."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._left = 0
        self._padding = 0
        self._defaults: dict[str, str] = {}

    def members(self) -> Iterator[Member]:
        """Every member. Raises ArchiveError for a cut or damaged archive, and for members that cannot be unpacked."""
        own: dict[str, str] = {}
        while True:
            self._skip_body()
            header = self._feed.exactly(BLOCK_BYTES)
            if header == _END:
                break
            flag = header[156:157]
            if not is_header(header):
                raise damaged("a member's header is not one")
            size = _number(header[124:136])
            if flag in _EXTENSIONS:
                self._extend(flag, self._extension(size), own)
                continue
            member = _member(header, flag, size, {**self._defaults, **own} if self._defaults or own else own)
            own = {}
            if member.kind is MemberKind.FILE:
                self._expect(member.size_bytes)
            yield member
        self._check_rest()

    def body(self) -> Iterator[memoryview]:
        """The contents of the present member, in pieces."""
        for piece in self._feed.some(self._left):
            self._left -= len(piece)
            yield piece

    def whole_body(self) -> bytes:
        """The contents of the present member, for a small one."""
        left, self._left = self._left, 0
        return self._feed.exactly(left)

    def _expect(self, size: int) -> None:
        self._left = size
        self._padding = -size % BLOCK_BYTES

    def _skip_body(self) -> None:
        for _ in self._feed.some(self._left):
            continue
        self._feed.exactly(self._padding)
        self._left = self._padding = 0

    def _extension(self, size: int) -> bytes:
        if size > _MAX_EXTENSION_BYTES:
            raise damaged(f"a member's name or attributes take {size:,} bytes")
        self._expect(size)
        return self.whole_body()

    def _extend(self, flag: bytes, data: bytes, own: dict[str, str]) -> None:
        if flag == b"L":
            own["path"] = _text(data)
        elif flag == b"K":
            own["linkpath"] = _text(data)
        else:
            (self._defaults if flag == b"g" else own).update(_pax(data))

    def _check_rest(self) -> None:
        for piece in self._feed.rest():
            if any(piece):
                raise damaged("there is more after its end, as in two archives written one after the other")


def is_header(block: bytes) -> bool:
    """Whether 512 bytes are the header of a tar member, told by their checksum."""
    if len(block) < BLOCK_BYTES:
        return False
    field = block[_CHECKSUM]
    digits = field.partition(b"\0")[0].strip()
    if not digits or digits.translate(None, _OCTAL):
        return False
    told = int(digits, 8)
    if told == _sum(block) - sum(field) + 8 * 32:
        return True
    # Some old writers summed signed characters.
    return told == sum(byte - 256 if byte > 127 else byte for byte in block[:148] + block[156:]) + 8 * 32


def _sum(block: bytes) -> int:
    """The sum of 512 bytes. Adler-32 holds it in its lower half, modulo 65,521, which half a block cannot reach."""
    return (zlib.adler32(block[:256]) & 0xFFFF) + (zlib.adler32(block[256:512]) & 0xFFFF) - 2


def _member(header: bytes, flag: bytes, size: int, told: dict[str, str]) -> Member:
    name = told.get("path") or _name(header)
    if flag == b"S" or (told and any(key.startswith("GNU.sparse") for key in told)):
        raise refused(name, "it is a sparse file, which only some tools can read")
    kind = _KINDS.get(flag)
    if kind is None:
        raise refused(name, "it is a device, a pipe, or of a kind that packs have no use for")
    if kind is MemberKind.FILE and flag == b"\0" and name.endswith("/"):
        kind = MemberKind.FOLDER
    member = Member(
        name=name,
        kind=kind,
        size_bytes=_whole(told["size"]) if "size" in told else size,
        is_executable=bool(_number(header[100:108]) & 0o100),
        mtime_ns=_time_ns(told["mtime"]) if "mtime" in told else _number(header[136:148]) * 10**9,
    )
    if kind is MemberKind.SYMLINK or kind is MemberKind.HARDLINK:
        return replace(member, target=told.get("linkpath") or _text(header[157:257]))
    return member


_KINDS = {
    b"0": MemberKind.FILE,
    b"\0": MemberKind.FILE,
    b"7": MemberKind.FILE,
    b"1": MemberKind.HARDLINK,
    b"2": MemberKind.SYMLINK,
    b"5": MemberKind.FOLDER,
}


def _name(header: bytes) -> str:
    name = _text(header[:100])
    if header[257:263] == b"ustar\0" and header[345]:
        return _text(header[345:500]) + "/" + name
    return name


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def _number(field: bytes) -> int:
    """A number of a header: octal digits, or base 256 where the first bit is set. Raises ArchiveError."""
    if field[0] & 0x80:
        number = int.from_bytes(field, "big", signed=False) & ((1 << (8 * len(field) - 1)) - 1)
        # Negative ones are times before 1970, and sizes of an attacker.
        return 0 if field[0] & 0x40 else number
    digits = field.partition(b"\0")[0].strip()
    if not digits:
        return 0
    if digits.translate(None, _OCTAL):
        raise damaged("a number in a member's header is none")
    return int(digits, 8)


def _pax(data: bytes) -> dict[str, str]:
    """The records of an extended header: `LENGTH KEY=VALUE` and a line end each."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        digits, space, _ = data[at : at + 20].partition(b" ")
        if not space or not digits.isdigit() or int(digits) < len(digits) + 3:
            raise damaged("a member's extended header cannot be read")
        record = data[at + len(digits) + 1 : at + int(digits)]
        key, equals, value = record.partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise damaged("a member's extended header cannot be read")
        # The whole value, NUL included: a name with one is refused later.
        found[key.decode("utf-8", "surrogateescape")] = value[:-1].decode("utf-8", "surrogateescape")
        at += int(digits)
    return found


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise damaged("a member's size is no number")
    return int(text)


def _time_ns(text: str) -> int:
    seconds, _, fraction = text.partition(".")
    if not (seconds.isascii() and seconds.isdigit() and len(seconds) < 12):
        return 0
    digits = fraction if fraction.isascii() and fraction.isdigit() else ""
    return int(seconds) * 10**9 + int(digits[:9].ljust(9, "0"))
