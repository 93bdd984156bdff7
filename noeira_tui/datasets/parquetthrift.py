"""Thrift's compact protocol, as far as the footer of a parquet file needs it.

Arrow ends the whole process over a footer that contradicts itself, and keeps some kilobytes for a row group. So the
footer is walked here, every step of it within bounds. Row groups that are alike but for their numbers are walked by
one regular expression, made from the first of them: that takes no longer than Arrow's own parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

STOP, I32, I64, BINARY, LIST, STRUCT = 0, 5, 6, 8, 9, 12
_TRUE, _FALSE, _BYTE, _I16, _DOUBLE, _SET, _MAP = 1, 2, 3, 4, 7, 10, 11
_MAX_DEPTH = 24
MAX_VARINT = 10
_VARINT = r"[\x80-\xff]*+."
LEAP = "\n"
"""In a pattern: here is a text of any length. No expression has it, for bytes are escaped in it."""


class MalformedError(ValueError):
    """The bytes are not what they should be; the text says what is wrong with them."""


@dataclass(frozen=True)
class Number:
    """A field whose whole number is wanted; `kind` is how it has to be stored."""

    kind: int


@dataclass(frozen=True)
class Fixed:
    """A field whose bytes are wanted when there are exactly `width` of them."""

    width: int


@dataclass(frozen=True)
class AnyText:
    """A field of bytes that may be as long as it likes: an expression ends before it, and another begins behind."""


@dataclass(frozen=True)
class Exactly:
    """A field that has to be these bytes as they are stored."""

    stored: bytes
    what: str


@dataclass(frozen=True)
class Refused:
    """A field that must not be there, and why."""

    why: str


Wanted = Number | Fixed | AnyText | Exactly | Refused | Mapping[int, "Wanted"] | list["Wanted"]
"""What is wanted of a value: of a struct by field, of a list by position; nothing is wanted of fields left out."""
Key = tuple[int, ...]
"""Where a value is: fields and positions from the outside in."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number and the place behind it. Raises MalformedError."""
    value = shift = 0
    for place in range(at, at + MAX_VARINT):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, place + 1
        shift += 7
    raise MalformedError("a number in it is too long")


def unzigzag(value: int) -> int:
    """A signed number as it was before it was stored without its sign."""
    return (value >> 1) ^ -(value & 1)


def stored_varint(value: int) -> bytes:
    """An unsigned number as it is stored."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def stored_list(count: int, kind: int) -> bytes:
    """The head of a list of so many values of a kind."""
    return bytes((count << 4 | kind,)) if count < 15 else bytes((0xF0 | kind,)) + stored_varint(count)


@dataclass
class Trace:
    """A walk over one value: what was wanted of it by place and, where that is asked for, regular expressions for all
    that are alike, one up to each `AnyText` and one from there on.

    Two values are alike when they have the same fields, and bytes of the same lengths.
    """

    data: bytes
    writes_pattern: bool = False
    numbers: dict[Key, int] = field(default_factory=dict)
    fixed: dict[Key, bytes] = field(default_factory=dict)
    captured: list[Key] = field(default_factory=list)
    pattern: list[str] = field(default_factory=list)

    def struct(self, at: int, wanted: Mapping[int, Wanted], key: Key = (), depth: int = 0) -> int:
        """Walk a struct; the place behind it. Raises MalformedError, and IndexError behind the end of the data."""
        if depth > _MAX_DEPTH:
            raise MalformedError("it is nested too deep")
        number = 0
        while True:
            start = at
            number, kind, at = next_field(self.data, at, number)
            self._literal(start, at)
            if kind == STOP:
                return at
            if kind not in (_TRUE, _FALSE):
                at = self.value(at, kind, wanted.get(number), (*key, number), depth)

    def value(self, at: int, kind: int, wanted: Wanted | None, key: Key, depth: int) -> int:
        """Walk a value of a kind that is not a field's truth value; the place behind it. Raises like `struct`."""
        if isinstance(wanted, Refused):
            raise MalformedError(wanted.why)
        if isinstance(wanted, Exactly):
            stop = at + len(wanted.stored)
            if self.data[at:stop] != wanted.stored:
                raise MalformedError(f"it contradicts itself about {wanted.what}")
            self._literal(at, stop)
            return stop
        if isinstance(wanted, Number) and kind != wanted.kind:
            raise MalformedError("a number in it is of a wrong kind")
        if kind in (I32, I64, _I16):
            return self._number(at, wanted, key)
        if kind == BINARY:
            return self._binary(at, wanted, key)
        if kind in (LIST, _SET):
            return self._list(at, wanted, key, depth)
        if kind == STRUCT:
            return self.struct(at, wanted if isinstance(wanted, Mapping) else {}, key, depth + 1)
        if kind == _MAP:
            return self._map(at, key, depth)
        if kind in (_TRUE, _FALSE, _BYTE, _DOUBLE):
            width = 8 if kind == _DOUBLE else 1
            self._write(f".{{{width}}}")
            return at + width
        raise MalformedError("there is a value of no known kind in it")

    def _number(self, at: int, wanted: Wanted | None, key: Key) -> int:
        stored, stop = varint(self.data, at)
        if isinstance(wanted, Number):
            self._capture(key, _VARINT)
            self.numbers[key] = unzigzag(stored)
        else:
            self._write(_VARINT)
        return stop

    def _binary(self, at: int, wanted: Wanted | None, key: Key) -> int:
        length, start = varint(self.data, at)
        stop = start + length
        if stop > len(self.data):
            raise MalformedError("a text in it has no end")
        if isinstance(wanted, Fixed) and wanted.width == length:
            self._literal(at, start)
            self._capture(key, f".{{{length}}}")
            self.fixed[key] = self.data[start:stop]
        elif isinstance(wanted, AnyText):
            self._write(LEAP)
        else:
            self._literal(at, start)
            self._write(f".{{{length}}}")
        return stop

    def _list(self, at: int, wanted: Wanted | None, key: Key, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise MalformedError("it is nested too deep")
        count, kind, start = list_head(self.data, at)
        self._literal(at, start)
        of = wanted if isinstance(wanted, list) else None
        if of is not None and count != len(of):
            raise MalformedError(f"a row group has {count:,} columns, the schema has {len(of):,}")
        at = start
        for position in range(count):
            at = self.value(at, kind, None if of is None else of[position], (*key, position), depth + 1)
        return at

    def _map(self, at: int, key: Key, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise MalformedError("it is nested too deep")
        count, start = varint(self.data, at)
        if count:
            kinds = self.data[start]
            start += 1
        if count > len(self.data) - start:
            raise MalformedError("a map in it has no end")
        self._literal(at, start)
        at = start
        for _ in range(count):
            at = self.value(at, kinds >> 4, None, key, depth + 1)
            at = self.value(at, kinds & 15, None, key, depth + 1)
        return at

    def expressions(self) -> tuple[str, ...]:
        """The expressions in their order."""
        ends = [at for at, piece in enumerate(self.pattern) if piece == LEAP]
        bounds = zip((0, *(end + 1 for end in ends)), (*ends, len(self.pattern)), strict=True)
        return tuple("".join(self.pattern[start:stop]) for start, stop in bounds)

    def _capture(self, key: Key, pattern: str) -> None:
        if key in self.numbers or key in self.fixed:
            raise MalformedError("something is told twice in it")
        self.captured.append(key)
        self._write(f"({pattern})")

    def _literal(self, start: int, stop: int) -> None:
        if self.writes_pattern:
            self.pattern.append(re.escape(self.data[start:stop].decode("latin-1")))

    def _write(self, pattern: str) -> None:
        if self.writes_pattern:
            self.pattern.append(pattern)


def list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """How many values a list has, their kind, and the place of the first. Raises MalformedError."""
    head = data[at]
    at += 1
    count = head >> 4
    if count == 15:
        count, at = varint(data, at)
    if count > len(data) - at:
        raise MalformedError("a list in it has no end")
    return count, head & 15, at


def next_field(data: bytes, at: int, number: int) -> tuple[int, int, int]:
    """A struct's next field behind the field `number`: its own number, its kind (`STOP`: there is none), and the place
    of its value. Raises like `Trace.struct`."""
    head = data[at]
    at += 1
    if not head:
        return number, STOP, at
    if head >> 4:
        return number + (head >> 4), head & 15, at
    stored, at = varint(data, at)
    return unzigzag(stored), head & 15, at


def field_end(data: bytes, at: int, kind: int) -> int:
    """The place behind a field's value of no interest. Raises like `Trace.struct`."""
    return at if kind in (_TRUE, _FALSE) else Trace(data).value(at, kind, None, (), 0)
