"""What is wanted of a row group in a parquet footer, and the forms in which row groups of one schema come.

The first few row groups of a form are walked field by field; the others, which differ from them in nothing but numbers
and texts, are matched by regular expressions.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from noeira_tui.datasets.parquetschema import Leaf, Schema
from noeira_tui.datasets.parquetthrift import (
    I32,
    I64,
    AnyText,
    Exactly,
    Fixed,
    Key,
    Number,
    Refused,
    Trace,
    Wanted,
    varint,
)

# Fields of a row group, of its column chunks, of their metadata and of their statistics.
_COLUMNS, _ROWS = 1, 3
_FILE, _METADATA, _CRYPTO = 1, 3, 8
_TYPE, _PATH, _CODEC, _VALUES, _SIZE, _DATA_AT, _DICTIONARY_AT, _STATISTICS = 1, 3, 4, 5, 7, 9, 11, 12
_NULLS = 3
OLD_MAX, OLD_MIN, MAX, MIN = 1, 2, 5, 6
_REQUIRED = (_TYPE, _CODEC, _VALUES, _SIZE, _DATA_AT)

_MET_BEFORE = 3
_MANY = 16
"""Making expressions takes as long as walking about so many row groups: fewer are walked."""
_MAX_FORMS, _MAX_SCHEMAS = 8, 16


class Slot(IntEnum):
    """The numbers that are captured of a column chunk, and those of its row group."""

    TYPE, CODEC, VALUES, SIZE, DATA_AT, DICTIONARY_AT, NULLS, ROWS = range(8)


_SLOTS = {
    _TYPE: Slot.TYPE,
    _CODEC: Slot.CODEC,
    _VALUES: Slot.VALUES,
    _SIZE: Slot.SIZE,
    _DATA_AT: Slot.DATA_AT,
    _DICTIONARY_AT: Slot.DICTIONARY_AT,
    _STATISTICS: Slot.NULLS,
}


@dataclass(frozen=True)
class Captured:
    """Which values of a row group a walk captures: the numbers' leaves and slots, and leaf and field of fixed ones.
    What is told of the row group itself is with leaf 0."""

    leaves: tuple[int, ...]
    slots: tuple[int, ...]
    fixed: tuple[tuple[int, int], ...]

    @classmethod
    def by(cls, trace: Trace) -> Captured:
        """What one walk captured, in its order."""
        return cls(
            tuple(0 if key == (_ROWS,) else key[1] for key in trace.numbers),
            tuple(Slot.ROWS if key == (_ROWS,) else _SLOTS[key[3]] for key in trace.numbers),
            tuple((key[1], key[-1]) for key in trace.fixed),
        )


@dataclass(frozen=True, eq=False)
class Form:
    """Expressions for row groups that are alike, with a text of any length between each and the next, and which of
    their captures are numbers and which of fixed width."""

    first: re.Pattern[bytes]
    others: tuple[re.Pattern[bytes], ...]
    captured: Captured
    numbers: tuple[int, ...]
    fixed: tuple[int, ...]

    @classmethod
    def of(cls, trace: Trace, sources: Sequence[str]) -> Form:
        """The form of a row group that was walked."""
        first, *others = (re.compile(source.encode("latin-1"), re.DOTALL) for source in sources)
        numbers = tuple(at for at, key in enumerate(trace.captured) if key in trace.numbers)
        fixed = tuple(at for at, key in enumerate(trace.captured) if key in trace.fixed)
        return cls(first, tuple(others), Captured.by(trace), numbers, fixed)

    def match(self, data: bytes, at: int, stop: int) -> tuple[tuple[bytes, ...], int] | None:
        """What it captures of a row group and the place behind it; None when that is of another form.

        Raises MalformedError, and IndexError behind the end of the data.
        """
        found = self.first.match(data, at, stop)
        if found is None:
            return None
        captured = found.groups()
        for expression in self.others:
            length, start = varint(data, found.end())
            found = expression.match(data, start + length, stop)
            if found is None:
                return None
            captured += found.groups()
        return captured, found.end()


@dataclass
class Forms:
    """The forms of row groups that were met with one schema, and what is wanted of them; shared by all files that have
    it. `walked` row groups were of no form that was known."""

    wanted: dict[int, Wanted]
    required: frozenset[Key]
    made: tuple[Form, ...] = ()
    walked: int = 0
    _met: dict[int, int] = field(default_factory=dict)
    _learning: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, trace: Trace) -> None:
        """Make a form of row groups that come again and again."""
        self.walked += 1
        if not trace.writes_pattern:
            return
        sources = trace.expressions()
        with self._learning:
            if len(self._met) > 8 * _MAX_FORMS:
                self._met.clear()
            met = self._met[hash(sources)] = self._met.get(hash(sources), 0) + 1
            if met == _MET_BEFORE:
                self.made = (Form.of(trace, sources), *self.made)[:_MAX_FORMS]

    def are_worth_making(self, count: int) -> bool:
        """Whether forms will be of use to a file of so many row groups, or were to those before it."""
        return max(self.walked, count) > _MANY


_forms: dict[tuple[Leaf, ...], Forms] = {}
_finding = threading.Lock()


def forms_of(schema: Schema) -> Forms:
    """The forms that are known of a schema's row groups."""
    with _finding:
        forms = _forms.get(schema.leaves)
        if forms is None:
            if len(_forms) >= _MAX_SCHEMAS:
                _forms.clear()
            chunks = ((_COLUMNS, leaf, _METADATA, one) for leaf in range(len(schema.leaves)) for one in _REQUIRED)
            forms = _forms[schema.leaves] = Forms(_wanted(schema), frozenset(((_ROWS,), *chunks)))
        return forms


def _wanted(schema: Schema) -> dict[int, Wanted]:
    columns: list[Wanted] = []
    for leaf in schema.leaves:
        metadata: dict[int, Wanted] = {number: Number(I64) for number in (_VALUES, _SIZE, _DATA_AT, _DICTIONARY_AT)}
        metadata |= {number: Number(I32) for number in (_TYPE, _CODEC)}
        metadata[_PATH] = Exactly(leaf.stored_path, f"`{'.'.join(leaf.path)}`")
        if leaf.number_type is not None:
            bounds = {number: Fixed(leaf.width) for number in (OLD_MAX, OLD_MIN, MAX, MIN)}
            metadata[_STATISTICS] = {_NULLS: Number(I64), **bounds}
        elif leaf.is_text:
            metadata[_STATISTICS] = {number: AnyText() for number in (OLD_MAX, OLD_MIN, MAX, MIN)}
        columns.append(
            {
                _FILE: Refused("its columns are in another file"),
                _METADATA: metadata,
                _CRYPTO: Refused("its columns are encrypted"),
            }
        )
    return {_COLUMNS: columns, _ROWS: Number(I64)}
