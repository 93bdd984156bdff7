"""The footer of a parquet file: what is needed of each row group, in arrays, and footers of some row groups for Arrow.

An episode a row group is what LeRobot writes. Arrow's own facts take kilobytes for each; here they are a dozen numbers
a column beside the footer as it is stored, and Arrow is handed a footer of no more than the row groups it is to read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noeira_tui.datasets.parquetgroups import GroupTable, Spread, read_groups
from noeira_tui.datasets.parquetschema import Schema, read_schema
from noeira_tui.datasets.parquetthrift import (
    I64,
    LIST,
    STOP,
    STRUCT,
    MalformedError,
    field_end,
    list_head,
    next_field,
    stored_list,
    stored_varint,
    unzigzag,
    varint,
)
from noeira_tui.datasets.store import Piece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = b"PAR1"
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_MAX_KNOWN = 8
_LEAST_CHUNK = 8
"""Bytes that are less than any column chunk takes in a footer."""
# The files of a dataset are alike before and behind their row groups.
_heads: list[tuple[bytes, Schema | None]] = []
_tails: list[bytes] = []


@dataclass(frozen=True)
class FooterFacts:
    """What a footer says: `rows` of each row group (groups,), where its column chunks start and stop in the file
    (groups, leaves), where it is itself in the footer's piece (groups + 1,), and the spread of the numbers of a leaf.
    `head` and `tail` are what is before and behind the row groups."""

    schema: Schema
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    places: NDArray[np.int64]
    spread: Callable[[int], Spread | None] = field(repr=False)
    head: bytes = field(repr=False)
    tail: bytes = field(repr=False)


class Footer:
    """The end of a parquet file of `total` bytes as it was read, parsed once, however often the file is opened with
    it. Another process parses it again."""

    def __init__(self, piece: Piece, total: int) -> None:
        """`piece` ends with the file and has all of its footer."""
        self.piece = piece
        self.total = total
        self._facts: FooterFacts | None = None
        self._parsing = threading.Lock()

    def __reduce__(self) -> tuple[type[Footer], tuple[Piece, int]]:
        return Footer, (self.piece, self.total)

    @property
    def facts(self) -> FooterFacts:
        """What it says. Raises MalformedError."""
        with self._parsing:
            if self._facts is None:
                data = self.piece.data
                start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
                try:
                    self._facts = _parsed(data, start, len(data) - 8)
                except IndexError as err:
                    raise MalformedError("it ends too early") from err
            return self._facts

    def of(self, groups: Sequence[int]) -> bytes:
        """A whole footer, magic and length included, of some row groups in their order."""
        import numpy as np

        facts, data = self.facts, self.piece.data
        which = np.asarray(groups, np.intp)
        rows = int(facts.rows[which].sum())
        bounds = zip(facts.places[which].tolist(), facts.places[which + 1].tolist(), strict=True)
        parts = [data[start:stop] for start, stop in bounds]
        middle = bytes((0x16,)) + stored_varint(rows << 1) + bytes((0x10 | LIST,)) + stored_list(len(parts), STRUCT)
        footer = b"".join((facts.head, middle, *parts, facts.tail))
        return MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC

    def only(self, groups: Sequence[int]) -> Footer:
        """The same file as if it had no other row groups, which are numbered from 0 then."""
        if list(groups) == list(range(len(self.facts.rows))):
            return self
        data = self.of(groups)[len(MAGIC) :]
        return Footer(Piece(data, self.total - len(data), self.total), self.total)


def _parsed(data: bytes, start: int, stop: int) -> FooterFacts:
    """What the footer from `start` to `stop` says. Raises MalformedError, and IndexError behind the end of the data."""
    head, schema = next((one for one in _heads if data.startswith(one[0], start)), (b"", None))
    rows, number, at = None, _SCHEMA if head else 0, start + len(head)
    while True:
        before = number
        number, kind, at = next_field(data, at, number)
        if kind == STOP:
            raise MalformedError("it has no row groups")
        if number <= before:
            raise MalformedError("its fields are in no order")
        if (number, kind) == (_GROUPS, LIST):
            break
        if (number, kind) == (_SCHEMA, LIST):
            schema, at = read_schema(data, at)
            head = data[start:at]
            _heads[:] = [*_heads, (head, schema)][-_MAX_KNOWN:]
        elif (number, kind) == (_ROWS, I64):
            stored, at = varint(data, at)
            rows = unzigzag(stored)
        else:
            at = field_end(data, at, kind)
    if schema is None or rows is None:
        raise MalformedError("it has no schema")
    count, kind, at = list_head(data, at)
    if count and kind != STRUCT:
        raise MalformedError("it has no row groups")
    if count * len(schema.leaves) * _LEAST_CHUNK > stop - at:
        # Before there are arrays for all that it says it has.
        raise MalformedError(f"it tells of {count:,} row groups and has no room for them")
    table = GroupTable(schema, count)
    at = read_groups(data, at, stop, table)
    if int(table.rows.sum()) != rows:
        raise MalformedError(f"it tells {rows:,} rows, its row groups have {int(table.rows.sum()):,}")
    end = _end(data, at, _GROUPS)
    if end > stop:
        raise MalformedError("it ends too early")
    return FooterFacts(schema, table.rows, table.starts, table.stops, table.places, table.spread, head, data[at:end])


def _end(data: bytes, at: int, number: int) -> int:
    """The place behind a struct of which the field `number` was walked last."""
    known = next((tail for tail in _tails if data.startswith(tail, at)), None)
    if known is not None:
        return at + len(known)
    start = at
    while True:
        number, kind, at = next_field(data, at, number)
        if kind == STOP:
            _tails[:] = [*_tails, data[start:at]][-_MAX_KNOWN:]
            return at
        at = field_end(data, at, kind)
