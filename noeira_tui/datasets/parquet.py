"""Parquet by exact ranges: the footer once, then only the column chunks that are wanted.

Measured against Arrow's own reading of a file object (64 KiB of tail, then a range a chunk or its pre-buffering, which
bridges gaps of 8 KiB): the fewest bytes are read when the chunks' own offsets are fetched and gaps are bridged only for
a few per cent.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.parquetfooter import MAGIC, Footer
from noeira_tui.datasets.parquetthrift import MalformedError
from noeira_tui.datasets.rangefile import Range, RangeFile
from noeira_tui.datasets.source import Source, cut_short, refuse_pointer
from noeira_tui.datasets.store import Piece

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SMALL_TAIL = 8 << 10
_MAX_FOOTER_BYTES = 512 << 20
_WASTE = 0.03


@dataclass(frozen=True)
class GroupSpan:
    """The least and greatest value of a column in a row group, where its statistics tell; `rows` it has."""

    rows: int
    least: int | None
    greatest: int | None


class ParquetFile:
    """One parquet file whose footer was read. Not for use by two threads at once."""

    def __init__(self, source: Source, path: str, footer: Footer) -> None:
        self.path = path
        self.footer = footer
        try:
            self._facts = footer.facts
        except MalformedError as err:
            raise cut_short(path, f"its footer cannot be read: {err}") from err
        self._file = RangeFile(source, path, footer.total)
        self._file.keep(footer.piece)
        self.names = self._facts.schema.names
        self._leaves: dict[str, list[int]] = {}
        for number, leaf in enumerate(self._facts.schema.leaves):
            self._leaves.setdefault(leaf.column, []).append(number)
        self._types: dict[str, str] | None = None

    def on(self, source: Source) -> ParquetFile:
        """The same file, read on behalf of another piece of work; its footer is not read again."""
        import copy

        twin = copy.copy(self)
        twin._file = RangeFile(source, self.path, self.footer.total)
        return twin

    @property
    def rows(self) -> int:
        return int(self._facts.rows.sum())

    @property
    def groups(self) -> int:
        return len(self._facts.rows)

    def type_of(self, name: str) -> str:
        """The type of a column in Arrow's words. Raises DatasetFileError (`damaged_file`)."""
        if self._types is None:
            with self._reader(()) as reader:
                self._types = {field.name: str(field.type) for field in reader.schema_arrow}
        return self._types[name]

    def ranges(self, columns: Iterable[str], groups: Iterable[int]) -> list[Range]:
        """Where the chunks of some columns are. Raises DatasetFileError (`damaged_file`) where that is no place."""
        import numpy as np

        # A row group without rows has its chunks anywhere.
        filled = [group for group in groups if self._facts.rows[group]]
        wanted = np.ix_(filled, [leaf for name in columns for leaf in self._leaves.get(name, ())])
        starts, stops = self._facts.starts[wanted].ravel(), self._facts.stops[wanted].ravel()
        if ((starts < len(MAGIC)) | (stops < starts) | (stops > self.footer.total)).any():
            raise cut_short(self.path, "its footer names places outside of it")
        return list(zip(starts.tolist(), stops.tolist(), strict=True))

    def read(self, columns: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
        """Some columns of some row groups (all without `groups`). Raises DatasetFileError (`damaged_file`)."""
        which = range(self.groups) if groups is None else groups
        leaves = [leaf for name in columns for leaf in self._leaves.get(name, ())]
        with self._reader(which) as reader:
            self._file.fetch(self.ranges(columns, which), _WASTE)
            numbers = list(range(len(which)))
            table: pa.Table = reader.reader.read_row_groups(numbers, column_indices=leaves, use_threads=False)
        self._file.forget()
        return table

    def spans(self, column: str) -> tuple[GroupSpan, ...]:
        """What the row groups' statistics tell of a column of whole numbers."""
        rows = self._facts.rows.tolist()
        spread = next(map(self._facts.spread, self._leaves.get(column, ())), None)
        if spread is None:
            return tuple(GroupSpan(count, None, None) for count in rows)
        bounds = zip(rows, spread.least.tolist(), spread.greatest.tolist(), spread.told.tolist(), strict=True)
        return tuple(
            GroupSpan(count, least, greatest) if told else GroupSpan(count, None, None)
            for count, least, greatest, told in bounds
        )

    @contextmanager
    def _reader(self, groups: Sequence[int]) -> Iterator[pq.ParquetFile]:
        """Arrow's reader, which knows of these row groups only. What it raises is a DatasetFileError."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            metadata = pq.read_metadata(pa.BufferReader(self.footer.of(groups)))
            yield pq.ParquetFile(self._file, metadata=metadata, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as err:
            raise cut_short(self.path, f"its columns cannot be read ({_first_line(err)})") from err


def open_parquet(
    source: Source, path: str, *, guess_bytes: int = SMALL_TAIL, footer: Footer | None = None
) -> ParquetFile:
    """Read a file's footer, in one request when it is at most `guess_bytes`, else in two; a `footer` of it that was
    read before is not read again.

    Raises DatasetFileError: `missing_file`, `lfs_pointer`, `damaged_file` (cut short, empty, something else).
    """
    if footer is not None:
        return ParquetFile(source, path, footer)
    piece = source.tail(path, guess_bytes)
    total = piece.total
    if total is None:
        total = source.size(path) or len(piece.data)
    if piece.start == 0:
        refuse_pointer(piece.data, path)
    if len(piece.data) < 12 or piece.data[-4:] != MAGIC:
        raise cut_short(
            path, "it is empty" if not piece.data else "it has no parquet footer, as one cut short or unfinished"
        )
    length = int.from_bytes(piece.data[-8:-4], "little") + 8
    if length > total - 4 or length > _MAX_FOOTER_BYTES:
        raise cut_short(path, "its footer is longer than the file")
    if length > len(piece.data):
        rest = source.part(path, total - length, piece.start)
        piece = Piece(rest + piece.data, total - length, total)
    return ParquetFile(source, path, Footer(Piece(piece.data, piece.start, total), total))


def whole_parquet(source: Source, path: str, max_bytes: int) -> pa.Table:
    """A small parquet file in one plain request. Raises like `open_parquet`."""
    if source.is_remote:
        # Arrow takes longer to start than a small file to come: both at once.
        threading.Thread(target=importlib.import_module, args=("pyarrow.parquet",), daemon=True).start()
    data = source.whole(path, max_bytes)
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not data:
        raise cut_short(path, "it is empty")
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            table: pa.Table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as err:
        raise cut_short(path, f"it is no readable parquet file ({_first_line(err)})") from err
    return table


def _first_line(err: BaseException) -> str:
    if isinstance(err, DatasetFileError):
        return err.message
    lines = str(err).splitlines()
    return (lines[0] if lines else type(err).__name__)[:160]
