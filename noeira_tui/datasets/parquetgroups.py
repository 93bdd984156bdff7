"""The row groups of a parquet footer, checked, as arrays.

What contradicts the schema or itself is refused here, for Arrow ends the whole process over some of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from noeira_tui.datasets.parquetforms import MAX, MIN, OLD_MAX, OLD_MIN, Captured, Form, Forms, Slot, forms_of
from noeira_tui.datasets.parquetschema import Schema
from noeira_tui.datasets.parquetthrift import MAX_VARINT, MalformedError, Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CODECS = 8
_BATCH = 256
_MAX_ROWS = 1 << 40
_MANY_VALUES, _VALUES_A_BYTE = 1 << 26, 1 << 12
"""Values of a row group's list column that are believed however few bytes they take, and as many a byte beyond."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The least and greatest value of a column in each row group (groups,), right where they are `told`."""

    least: NDArray[np.int64]
    greatest: NDArray[np.int64]
    told: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Stored:
    """A column's least and greatest values as they are stored, of some row groups one behind the other."""

    these: list[int]
    least: bytes
    greatest: bytes
    has_no_nulls: NDArray[np.bool_]


class GroupTable:
    """What is kept of each row group: `rows` (groups,), where each column chunk starts and stops in the file (groups,
    leaves), and where the row groups are in the data of the footer (groups + 1,)."""

    def __init__(self, schema: Schema, count: int) -> None:
        import numpy as np

        leaves = len(schema.leaves)
        self.schema = schema
        self.count = count
        self.rows = np.zeros(count, np.int64)
        self.starts = np.zeros((count, leaves), np.int64)
        self.stops = np.zeros((count, leaves), np.int64)
        self.places = np.zeros(count + 1, np.int64)
        self._statistics: dict[int, list[_Stored]] = {}
        self._types = np.array([leaf.physical for leaf in schema.leaves])[:, None]
        self._repeated = np.array([leaf.is_repeated for leaf in schema.leaves], np.bool_)[:, None]

    def take(self, these: list[int], captured: Captured, numbers: NDArray[np.int64], fixed: Sequence[bytes]) -> None:
        """Check and keep some row groups: `numbers` (captured numbers, groups) and, for each captured value of fixed
        width, those of all groups one behind the other. Raises MalformedError."""
        import numpy as np

        count = numbers.shape[1]
        slots = np.zeros((len(Slot), len(self.schema.leaves), count), np.int64)
        slots[captured.slots, captured.leaves] = numbers
        rows, sizes = slots[Slot.ROWS, 0], slots[Slot.SIZE]
        self._check(slots, rows, sizes)
        data_at, dictionary_at = slots[Slot.DATA_AT], slots[Slot.DICTIONARY_AT]
        starts = np.where(dictionary_at > 0, np.minimum(data_at, dictionary_at), data_at)
        self.rows[these] = rows
        self.starts[these] = starts.T
        self.stops[these] = (starts + sizes).T
        told: dict[int, dict[int, bytes]] = {}
        for (leaf, what), values in zip(captured.fixed, fixed, strict=True):
            told.setdefault(leaf, {})[what] = values
        has_no_nulls = slots[Slot.NULLS] == 0
        for leaf, one in told.items():
            least, greatest = one.get(MIN, one.get(OLD_MIN)), one.get(MAX, one.get(OLD_MAX))
            if least is not None and greatest is not None:
                self._statistics.setdefault(leaf, []).append(_Stored(these, least, greatest, has_no_nulls[leaf]))

    def spread(self, leaf: int) -> Spread | None:
        """The spread of a column of numbers; None for any other, and where no statistics tell it."""
        import numpy as np

        stored = self._statistics.get(leaf)
        if stored is None:
            return None
        least, greatest = np.zeros(self.count, np.int64), np.zeros(self.count, np.int64)
        told = np.zeros(self.count, np.bool_)
        for one in stored:
            sure = one.has_no_nulls
            for kept, values in ((least, one.least), (greatest, one.greatest)):
                numbers = np.frombuffer(values, self.schema.leaves[leaf].number_type)
                if numbers.dtype.kind == "f":
                    whole = np.abs(numbers) < _MAX_ROWS
                    numbers, sure = np.where(whole, numbers, 0), sure & whole
                kept[one.these] = numbers
            told[one.these] = sure
        return Spread(least, greatest, told)

    def _check(self, slots: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        import numpy as np

        if rows.size and not 0 <= rows.min() <= rows.max() <= _MAX_ROWS:
            raise MalformedError("a row group in it has an impossible number of rows")
        values, codecs = slots[Slot.VALUES], slots[Slot.CODEC]
        most = np.maximum(_MANY_VALUES, np.minimum(sizes, _MAX_ROWS) * _VALUES_A_BYTE)
        odd = (slots[Slot.TYPE] != self._types) | (codecs < 0) | (codecs >= _CODECS)
        odd |= np.where(self._repeated, (values < 0) | (values > most), values != rows)
        if odd.any():
            leaf = self.schema.leaves[int(odd.any(axis=1).argmax())]
            raise MalformedError(f"it contradicts itself about `{'.'.join(leaf.path)}`")


def read_groups(data: bytes, at: int, stop: int, table: GroupTable) -> int:
    """Walk the row groups that begin at a place into a table; the place behind the last.

    Raises MalformedError, and IndexError where the data ends before they do.
    """
    forms = forms_of(table.schema)
    for first in range(0, table.count, _BATCH):
        at = _read_batch(data, at, stop, table, forms, range(first, min(first + _BATCH, table.count)))
    table.places[table.count] = at
    return at


def _read_batch(data: bytes, at: int, stop: int, table: GroupTable, forms: Forms, batch: Sequence[int]) -> int:
    runs: dict[Form, list[tuple[int, tuple[bytes, ...]]]] = {}
    for number in batch:
        table.places[number] = at
        for form in forms.made:
            found = form.match(data, at, stop)
            if found is not None:
                captured, at = found
                runs.setdefault(form, []).append((number, captured))
                break
        else:
            at = _walk(data, at, table, forms, number)
    for form, run in runs.items():
        columns = tuple(zip(*(captured for _, captured in run), strict=True))
        stored = b"".join(chain.from_iterable(columns[place] for place in form.numbers))
        numbers = _unpacked(stored).reshape(len(form.numbers), len(run))
        fixed = [b"".join(columns[place]) for place in form.fixed]
        table.take([number for number, _ in run], form.captured, numbers, fixed)
    return at


def _walk(data: bytes, at: int, table: GroupTable, forms: Forms, number: int) -> int:
    """Walk one row group, field by field."""
    import numpy as np

    # Expressions that will not be used need not be written.
    trace = Trace(data, forms.are_worth_making(table.count))
    at = trace.struct(at, forms.wanted)
    if not forms.required <= trace.numbers.keys():
        raise MalformedError("a row group in it does not tell its rows or places")
    numbers = np.array([*trace.numbers.values()], np.int64)[:, None]
    table.take([number], Captured.by(trace), numbers, [*trace.fixed.values()])
    forms.learn(trace)
    return at


def _unpacked(stored: bytes) -> NDArray[np.int64]:
    """Numbers that are stored one behind the other, each as a varint whose sign is in its last bit.

    Raises MalformedError.
    """
    import numpy as np

    data = np.frombuffer(stored, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    starts = np.concatenate((ends[:1] * 0, ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max(initial=0) > MAX_VARINT:
        raise MalformedError("a number in it is too long")
    values = (data[starts] & 0x7F).astype(np.uint64)
    for place in range(1, int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        values[longer] |= (data[starts[longer] + place] & 0x7F).astype(np.uint64) << np.uint64(7 * place)
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)
