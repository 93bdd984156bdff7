"""The row groups of a parquet footer, walked and checked, as arrays.

The first few of a kind are walked field by field; the others, which differ in nothing but numbers, by one regular
expression. What contradicts the schema or itself is refused here, for Arrow ends the process over some of it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from noeira_tui.datasets.parquetschema import Leaf, Schema
from noeira_tui.datasets.parquetthrift import (
    I32,
    I64,
    Exactly,
    Fixed,
    Key,
    MalformedError,
    Number,
    Refused,
    Trace,
    Wanted,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Fields of a row group, of its column chunks, of their metadata and of their statistics.
_COLUMNS, _ROWS = 1, 3
_FILE, _METADATA, _CRYPTO = 1, 3, 8
_TYPE, _PATH, _CODEC, _VALUES, _SIZE, _DATA_AT, _DICTIONARY_AT, _STATISTICS = 1, 3, 4, 5, 7, 9, 11, 12
_OLD_MAX, _OLD_MIN, _NULLS, _MAX, _MIN = 1, 2, 3, 5, 6
# Where the numbers of a column chunk are while they are checked.
_SLOTS = {_TYPE: 0, _CODEC: 1, _VALUES: 2, _SIZE: 3, _DATA_AT: 4, _DICTIONARY_AT: 5}
_REQUIRED = (_TYPE, _CODEC, _VALUES, _SIZE, _DATA_AT)
_NULLS_SLOT, _ROWS_SLOT, _SLOT_COUNT = 6, 7, 8
_CODECS = 8

_BATCH = 256
_MET_BEFORE = 8
"""Row groups of one form that are walked before an expression is made for it, which takes as long as some dozen."""
_MAX_FORMS, _MAX_SCHEMAS = 8, 16
_MAX_ROWS = 1 << 40
_MANY_VALUES, _VALUES_A_BYTE = 1 << 26, 1 << 12
"""Values of a row group's list column that are believed however few bytes they take, and as many a byte beyond."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The least and greatest value of a column in each row group (groups,), right where they are `told`."""

    least: NDArray[np.int64]
    greatest: NDArray[np.int64]
    told: NDArray[np.bool_]


class GroupTable:
    """What is kept of each row group: `rows` (groups,), where each column chunk starts and stops in the file (groups,
    leaves), where the row groups are in the data of the footer (groups + 1,), and the spread of columns of numbers."""

    def __init__(self, schema: Schema, count: int) -> None:
        import numpy as np

        leaves = len(schema.leaves)
        self.schema = schema
        self.count = count
        self.rows = np.zeros(count, np.int64)
        self.starts = np.zeros((count, leaves), np.int64)
        self.stops = np.zeros((count, leaves), np.int64)
        self.places = np.zeros(count + 1, np.int64)
        self.statistics = {
            number: Spread(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_))
            for number, leaf in enumerate(schema.leaves)
            if leaf.number_type is not None
        }
        self._types = np.array([leaf.physical for leaf in schema.leaves])[:, None]
        self._repeated = np.array([leaf.is_repeated for leaf in schema.leaves], np.bool_)[:, None]

    def take(self, first: int, captured: Captured, numbers: NDArray[np.int64], fixed: Sequence[bytes]) -> None:
        """Check and keep row groups from `first` on: `numbers` (captured numbers, groups) and, for each captured
        value of fixed width, those of all groups behind each other. Raises MalformedError."""
        import numpy as np

        count = numbers.shape[1]
        slots = np.zeros((_SLOT_COUNT, len(self.schema.leaves), count), np.int64)
        slots[captured.slots, captured.leaves] = numbers
        rows, sizes = slots[_ROWS_SLOT, 0], slots[_SLOTS[_SIZE]]
        self._check(slots, rows, sizes)
        data_at, dictionary_at = slots[_SLOTS[_DATA_AT]], slots[_SLOTS[_DICTIONARY_AT]]
        starts = np.where(dictionary_at > 0, np.minimum(data_at, dictionary_at), data_at)
        these = slice(first, first + count)
        self.rows[these] = rows
        self.starts[these] = starts.T
        self.stops[these] = (starts + sizes).T
        spreads: dict[int, dict[int, bytes]] = {}
        for (leaf, what), values in zip(captured.fixed, fixed, strict=True):
            spreads.setdefault(leaf, {})[what] = values
        for leaf, told in spreads.items():
            self._keep(these, leaf, told, slots[_NULLS_SLOT, leaf] == 0)

    def _check(self, slots: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        import numpy as np

        if rows.size and not 0 <= rows.min() <= rows.max() <= _MAX_ROWS:
            raise MalformedError("a row group in it has an impossible number of rows")
        values, codecs = slots[_SLOTS[_VALUES]], slots[_SLOTS[_CODEC]]
        most = np.maximum(_MANY_VALUES, np.minimum(sizes, _MAX_ROWS) * _VALUES_A_BYTE)
        odd = (slots[_SLOTS[_TYPE]] != self._types) | (codecs < 0) | (codecs >= _CODECS)
        odd |= np.where(self._repeated, (values < 0) | (values > most), values != rows)
        if odd.any():
            leaf = self.schema.leaves[int(odd.any(axis=1).argmax())]
            raise MalformedError(f"it contradicts itself about `{'.'.join(leaf.path)}`")

    def _keep(self, these: slice, leaf: int, told: dict[int, bytes], has_no_nulls: NDArray[np.bool_]) -> None:
        import numpy as np

        spread, kind = self.statistics[leaf], self.schema.leaves[leaf].number_type
        least, greatest = told.get(_MIN, told.get(_OLD_MIN)), told.get(_MAX, told.get(_OLD_MAX))
        if least is None or greatest is None:
            return
        sure = has_no_nulls
        for kept, stored in ((spread.least, least), (spread.greatest, greatest)):
            values = np.frombuffer(stored, kind)
            if values.dtype.kind == "f":
                whole = np.abs(values) < _MAX_ROWS
                values, sure = np.where(whole, values, 0), sure & whole
            kept[these] = values
        spread.told[these] = sure


@dataclass(frozen=True)
class Captured:
    """Which values of a row group a walk captures: the numbers' leaves and slots, and leaf and field of fixed ones."""

    leaves: tuple[int, ...]
    slots: tuple[int, ...]
    fixed: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, numbers: Sequence[Key], fixed: Sequence[Key]) -> Captured:
        return cls(
            tuple(0 if len(key) == 1 else key[1] for key in numbers),
            tuple(_slot(key) for key in numbers),
            tuple((key[1], key[-1]) for key in fixed),
        )


def _slot(key: Key) -> int:
    if len(key) == 1:
        return _ROWS_SLOT
    return _NULLS_SLOT if key[3] == _STATISTICS else _SLOTS[key[3]]


@dataclass(frozen=True)
class _Form:
    """An expression for row groups that are alike, and which of its captures are numbers and which of fixed width."""

    expression: re.Pattern[bytes]
    captured: Captured
    numbers: tuple[int, ...]
    fixed: tuple[int, ...]


@dataclass
class _Forms:
    """The forms of row groups that were met with one schema, and what is wanted of them; shared by all files that have
    it. `walked` row groups fitted no form."""

    wanted: dict[int, Wanted]
    required: frozenset[Key]
    walked: int = 0
    made: tuple[_Form, ...] = ()
    met: dict[int, int] = field(default_factory=dict)


_forms: dict[tuple[Leaf, ...], _Forms] = {}
_learning = threading.Lock()


def read_groups(data: bytes, at: int, stop: int, table: GroupTable) -> int:
    """Walk the row groups that begin at a place into a table; the place behind the last.

    Raises MalformedError, and IndexError where the data ends before they do.
    """
    import numpy as np

    forms = _forms_of(table.schema)
    done = 0
    while done < table.count:
        table.places[done] = at
        form, run, following = _alike(forms, data, at, stop, table, done)
        if form is not None:
            columns = tuple(zip(*run, strict=True))
            stored = b"".join(chain.from_iterable(columns[number] for number in form.numbers))
            numbers = _unpacked(stored).reshape(len(form.numbers), len(run))
            table.take(done, form.captured, numbers, [b"".join(columns[number]) for number in form.fixed])
            done, at = done + len(run), following
            continue
        # An expression that will not be used need not be written.
        is_common = max(forms.walked, table.count) > _MET_BEFORE
        trace = Trace(data, is_common)
        at = trace.struct(at, forms.wanted)
        if not forms.required <= trace.numbers.keys():
            raise MalformedError("a row group in it does not tell its rows or places")
        one = np.array([*trace.numbers.values()], np.int64)[:, None]
        table.take(done, Captured.of([*trace.numbers], [*trace.fixed]), one, [*trace.fixed.values()])
        forms.walked += 1
        if is_common:
            _learn(forms, trace)
        done += 1
    table.places[done] = at
    return at


def _alike(
    forms: _Forms, data: bytes, at: int, stop: int, table: GroupTable, done: int
) -> tuple[_Form | None, list[tuple[bytes, ...]], int]:
    """The form of the next row groups, if it is known, what it captures of them, and the place behind them."""
    for form in forms.made:
        match, place = form.expression.match, at
        run: list[tuple[bytes, ...]] = []
        for number in range(done, min(done + _BATCH, table.count)):
            found = match(data, place, stop)
            if found is None:
                break
            table.places[number] = place
            place = found.end()
            run.append(found.groups())
        if run:
            return form, run, place
    return None, [], at


def _learn(forms: _Forms, trace: Trace) -> None:
    """Make a form of row groups that come again and again."""
    source = "".join(trace.pattern)
    with _learning:
        if len(forms.met) > 8 * _MAX_FORMS:
            forms.met.clear()
        met = forms.met[hash(source)] = forms.met.get(hash(source), 0) + 1
    if met != _MET_BEFORE:
        return
    numbers = tuple(at for at, key in enumerate(trace.captured) if key in trace.numbers)
    fixed = tuple(at for at, key in enumerate(trace.captured) if key in trace.fixed)
    captured = Captured.of([*trace.numbers], [*trace.fixed])
    form = _Form(re.compile(source.encode("latin-1"), re.DOTALL), captured, numbers, fixed)
    with _learning:
        forms.made = (form, *forms.made)[:_MAX_FORMS]


def _forms_of(schema: Schema) -> _Forms:
    with _learning:
        forms = _forms.get(schema.leaves)
        if forms is None:
            if len(_forms) >= _MAX_SCHEMAS:
                _forms.clear()
            forms = _forms[schema.leaves] = _Forms(_wanted(schema), _required(schema))
        return forms


def _wanted(schema: Schema) -> dict[int, Wanted]:
    """What is wanted of a row group with this schema."""
    columns: list[Wanted] = []
    for leaf in schema.leaves:
        metadata: dict[int, Wanted] = {number: Number(I64) for number in (_VALUES, _SIZE, _DATA_AT, _DICTIONARY_AT)}
        metadata |= {number: Number(I32) for number in (_TYPE, _CODEC)}
        metadata[_PATH] = Exactly(leaf.stored_path, f"`{'.'.join(leaf.path)}`")
        if leaf.number_type is not None:
            bounds = {number: Fixed(leaf.width) for number in (_OLD_MAX, _OLD_MIN, _MAX, _MIN)}
            metadata[_STATISTICS] = {_NULLS: Number(I64), **bounds}
        columns.append(
            {
                _FILE: Refused("its columns are in another file"),
                _METADATA: metadata,
                _CRYPTO: Refused("its columns are encrypted"),
            }
        )
    return {_COLUMNS: columns, _ROWS: Number(I64)}


def _required(schema: Schema) -> frozenset[Key]:
    """The numbers that every row group has."""
    chunks = ((_COLUMNS, leaf, _METADATA, number) for leaf in range(len(schema.leaves)) for number in _REQUIRED)
    return frozenset(((_ROWS,), *chunks))


def _unpacked(stored: bytes) -> NDArray[np.int64]:
    """Numbers that are stored one behind the other, each as a varint whose sign is in its last bit."""
    import numpy as np

    data = np.frombuffer(stored, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate((ends[:1] * 0, ends[:-1] + 1))
    lengths = ends - starts + 1
    values = (data[starts] & 0x7F).astype(np.uint64)
    for place in range(1, int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        values[longer] |= (data[starts[longer] + place] & 0x7F).astype(np.uint64) << np.uint64(7 * place)
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)
