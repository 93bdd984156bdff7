"""The columns of a data file that are proprioception, as arrays; each chosen from the schema, never a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.parquet import ParquetFile
from noeira_tui.datasets.source import cut_short

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_MAX_WHOLE = 2.0**62
EPISODE, FRAME, TIME = "episode_index", "frame_index", "timestamp"


@dataclass(frozen=True)
class ColumnNames:
    """Which features to take: state and action by name or flattened into several (`action.J1_vel`, …), of which only
    the `numeric` ones are taken; without any, every one."""

    state: str
    action: str
    numeric: frozenset[str]

    @classmethod
    def of(cls, info: LeRobotInfo, state: str = "observation.state") -> ColumnNames:
        """Those of a dataset, told by the features in its `info.json`."""
        pictures = {"video", "image", "string"}
        return cls(state, "action", frozenset(one.name for one in info.features if one.dtype not in pictures))

    def columns(self, file: ParquetFile, name: str) -> list[str]:
        """A feature's columns in a file."""
        if name in file.names:
            return [name]
        found = [column for column in file.names if column.startswith(f"{name}.")]
        return [column for column in found if column in self.numeric or not self.numeric]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a file: (rows, dimensions) of state and action, the rest (rows,). None for an absent column."""

    state: NDArray[np.floating[Any]] | None
    action: NDArray[np.floating[Any]] | None
    timestamps: NDArray[np.floating[Any]] | None
    frame_index: NDArray[np.int64] | None

    def cut(self, start: int, stop: int, *, copied: bool = False) -> Block:
        """Rows `start` to `stop`; `copied` ones let go of the rest."""
        return Block(*(_cut(values, start, stop, copied) for values in self._columns()))

    def taken(self, order: NDArray[np.intp]) -> Block:
        """The rows in another order."""
        return Block(*(None if values is None else values[order] for values in self._columns()))

    @property
    def rows(self) -> int:
        return next((len(values) for values in self._columns() if values is not None), 0)

    def _columns(self) -> tuple[NDArray[Any] | None, ...]:
        return self.state, self.action, self.timestamps, self.frame_index


def _cut(values: NDArray[Any] | None, start: int, stop: int, copied: bool) -> NDArray[Any] | None:
    return None if values is None else values[start:stop].copy() if copied else values[start:stop]


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks one behind the other. Raises ValueError when they have other columns or dimensions than each other."""
    import numpy as np

    if len(blocks) == 1:
        return blocks[0]
    columns: list[NDArray[Any] | None] = []
    for parts in zip(*(block._columns() for block in blocks), strict=True):
        there = [part for part in parts if part is not None]
        if there and len(there) != len(parts):
            raise ValueError("a column is missing in some of its files")
        columns.append(np.concatenate(there) if there else None)
    return Block(*columns)


class Rows:
    """Row groups that were fetched: which episode each row is of, and its numbers, made when they are asked for."""

    def __init__(self, file: ParquetFile, names: ColumnNames, groups: Sequence[int]) -> None:
        """Raises DatasetFileError (`damaged_file`)."""
        self._file = file
        self._states, self._actions = names.columns(file, names.state), names.columns(file, names.action)
        order = [name for name in (EPISODE, FRAME, TIME) if name in file.names]
        self._table: pa.Table = file.read([*order, *self._states, *self._actions], groups)
        self.count = int(self._table.num_rows)

    def episodes(self) -> NDArray[np.int64] | None:
        """The `episode_index` of each row; None when the file has none."""
        return self._whole(EPISODE, self._table)

    def block(self, start: int = 0, stop: int | None = None) -> Block:
        """The numbers of some rows. Raises DatasetFileError where they are no numbers or not equally many a row."""
        table = self._table if (start, stop) == (0, None) else self._table.slice(start, (stop or self.count) - start)
        times = _single(table, TIME, self._file.path) if TIME in self._table.column_names else None
        return Block(
            self._stacked(table, self._states),
            self._stacked(table, self._actions),
            times,
            self._whole(FRAME, table),
        )

    def _whole(self, name: str, table: pa.Table) -> NDArray[np.int64] | None:
        import numpy as np

        if name not in table.column_names:
            return None
        values = _single(table, name, self._file.path, keep_whole=True)
        if values.dtype.kind == "f":
            values = values.astype(np.float64)
            if not (np.abs(values) < _MAX_WHOLE).all():
                raise cut_short(self._file.path, f"`{name}` is empty in some rows, or no number that counts")
            values = np.rint(values)
        return np.asarray(values, np.int64)

    def _stacked(self, table: pa.Table, names: list[str]) -> NDArray[np.floating[Any]] | None:
        import numpy as np

        if not names:
            return None
        parts = [matrix(table, name, self._file.path) for name in names]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def matrix(table: pa.Table, name: str, path: str, *, keep_whole: bool = False) -> NDArray[Any]:
    """A column as (rows, dimensions), whatever kind of list it is stored as: floating numbers in their own type, others
    as float64, or with `keep_whole` whole numbers as they are."""
    import numpy as np
    import pyarrow as pa

    if table.column_names.count(name) > 1:
        raise cut_short(path, f"it has several columns `{name}`")
    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    rows = len(column)
    try:
        while isinstance(column, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
            column = _evenly(column)
        if not (pa.types.is_floating(column.type) or (keep_whole and pa.types.is_integer(column.type))):
            column = column.cast(pa.float64())
        values: NDArray[Any] = np.asarray(column.to_numpy(zero_copy_only=False)).reshape(rows, -1 if rows else 1)
    except (pa.ArrowException, ValueError, NotImplementedError, DatasetFileError) as err:
        raise cut_short(path, f"`{name}` does not have the same number of values in every row") from err
    return values


def _single(table: pa.Table, name: str, path: str, *, keep_whole: bool = False) -> NDArray[Any]:
    """A column of one number a row, or the first of several. Raises DatasetFileError where rows have none."""
    values = matrix(table, name, path, keep_whole=keep_whole)
    if not values.shape[1]:
        raise cut_short(path, f"`{name}` is empty")
    return values[:, 0]


def extent(table: pa.Table, name: str, path: str) -> tuple[int, int] | None:
    """The least and greatest of a column of whole numbers, whatever they are stored as; None where it is all empty.

    Raises DatasetFileError where it has other things than numbers.
    """
    import numpy as np

    values = _single(table, name, path, keep_whole=True)
    if values.dtype.kind == "f":
        values = values.astype(np.float64)
        values = np.rint(values[np.abs(values) < _MAX_WHOLE])
    return (int(values.min()), int(values.max())) if len(values) else None


def _evenly(column: pa.Array) -> pa.Array:
    """A list column's values, which are equally many in every row. Raises ValueError when they are not."""
    import numpy as np
    import pyarrow as pa

    if column.null_count:
        raise ValueError("a row is empty")
    if not isinstance(column, pa.FixedSizeListArray) and len(column):
        sizes = np.diff(column.offsets.to_numpy())
        if sizes.min() != sizes.max():
            raise ValueError("rows differ in length")
    return column.flatten()
