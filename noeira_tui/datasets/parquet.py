"""Parquet by exact ranges: the footer once, then only the column chunks that are wanted.

Measured against Arrow's own reading of a file object (64 KiB of tail, then a range a chunk or its pre-buffering, which
bridges gaps of 8 KiB): the fewest bytes are read when the chunks' own offsets are fetched and gaps are bridged only for
a few per cent.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.rangefile import Range, RangeFile
from noeira_tui.datasets.source import Source, cut_short, refuse_pointer
from noeira_tui.datasets.store import Piece

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SMALL_TAIL = 8 << 10
_MAGIC = b"PAR1"
_MAX_FOOTER_BYTES = 512 << 20
_WASTE = 0.03


@dataclass(frozen=True)
class GroupSpan:
    """The least and greatest value of a column in a row group, where its statistics tell; `rows` it has."""

    rows: int
    least: int | None
    greatest: int | None


class Footer:
    """The end of a parquet file of `total` bytes as it was read. What it says is parsed once, however often the file is
    opened with it: thousands of row groups take tens of megabytes. Another process parses it again."""

    def __init__(self, piece: Piece, total: int) -> None:
        self.piece = piece
        self.total = total
        self._parsed: pq.FileMetaData | None = None
        self._parsing = threading.Lock()

    def __reduce__(self) -> tuple[type[Footer], tuple[Piece, int]]:
        return Footer, (self.piece, self.total)

    @property
    def metadata(self) -> pq.FileMetaData:
        """Schema and row groups. Raises what Arrow raises."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self._parsing:
            if self._parsed is None:
                data = self.piece.data
                length = int.from_bytes(data[-8:-4], "little")
                self._parsed = pq.read_metadata(pa.BufferReader(_MAGIC + data[-(length + 8) :]))
            return self._parsed


class ParquetFile:
    """One parquet file whose footer was read. Not for use by two threads at once."""

    def __init__(self, source: Source, path: str, footer: Footer) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        self._file = RangeFile(source, path, footer.total)
        self._file.keep(footer.piece)
        self.footer = footer
        try:
            self.metadata: pq.FileMetaData = footer.metadata
            self._reader = pq.ParquetFile(self._file, metadata=self.metadata, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError) as err:
            raise cut_short(path, f"its footer cannot be read ({_first_line(err)})") from err
        self.names: tuple[str, ...] = tuple(self._reader.schema_arrow.names)
        self._leaves = _leaves(self.metadata, self.names)

    def on(self, source: Source) -> ParquetFile:
        """The same file, read on behalf of another piece of work; its footer is not read again."""
        import copy

        import pyarrow.parquet as pq

        twin = copy.copy(self)
        twin._file = RangeFile(source, self.path, self.footer.total)
        twin._reader = pq.ParquetFile(twin._file, metadata=self.metadata, pre_buffer=False)
        return twin

    @property
    def rows(self) -> int:
        return int(self.metadata.num_rows)

    @property
    def groups(self) -> int:
        return int(self.metadata.num_row_groups)

    def type_of(self, name: str) -> str:
        """The type of a column in Arrow's words."""
        return str(self._reader.schema_arrow.field(name).type)

    def ranges(self, columns: Iterable[str], groups: Iterable[int]) -> list[Range]:
        """Where the chunks of some columns are."""
        wanted = [leaf for name in columns for leaf in self._leaves.get(name, ())]
        found: list[Range] = []
        for group in groups:
            row_group = self.metadata.row_group(group)
            for leaf in wanted:
                chunk = row_group.column(leaf)
                start = chunk.data_page_offset
                if chunk.dictionary_page_offset:
                    start = min(start, chunk.dictionary_page_offset)
                found.append((start, start + chunk.total_compressed_size))
        return found

    def read(self, columns: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
        """Some columns of some row groups (all without `groups`). Raises DatasetFileError (`damaged_file`)."""
        import pyarrow as pa

        which = list(range(self.groups)) if groups is None else list(groups)
        leaves = [leaf for name in columns for leaf in self._leaves.get(name, ())]
        try:
            ranges = self.ranges(columns, which)
            self._file.fetch(ranges, _WASTE)
            table: pa.Table = self._reader.reader.read_row_groups(which, column_indices=leaves, use_threads=False)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as err:
            raise cut_short(self.path, f"its columns cannot be read ({_first_line(err)})") from err
        self._file.forget()
        return table

    def spans(self, column: str) -> tuple[GroupSpan, ...]:
        """What the row groups' statistics tell of a column of whole numbers."""
        leaf = next(iter(self._leaves.get(column, ())), None)
        return tuple(self._span(group, leaf) for group in range(self.groups))

    def _statistics(self, group: int, leaf: int) -> pq.Statistics | None:
        """Arrow ends the whole process over statistics of another type than the schema has; a flipped bit is enough."""
        chunk = self.metadata.row_group(group).column(leaf)
        if chunk.physical_type != self.metadata.schema.column(leaf).physical_type:
            raise cut_short(self.path, f"its footer contradicts itself about `{chunk.path_in_schema}`")
        return chunk.statistics

    def _span(self, group: int, leaf: int | None) -> GroupSpan:
        row_group = self.metadata.row_group(group)
        statistics = None if leaf is None else self._statistics(group, leaf)
        if statistics is None or not statistics.has_min_max or statistics.null_count:
            return GroupSpan(row_group.num_rows, None, None)
        least, greatest = statistics.min, statistics.max
        if not isinstance(least, int | float) or not isinstance(greatest, int | float):
            return GroupSpan(row_group.num_rows, None, None)
        return GroupSpan(row_group.num_rows, int(least), int(greatest))


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
    if len(piece.data) < 12 or piece.data[-4:] != _MAGIC:
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


def _leaves(metadata: pq.FileMetaData, names: Sequence[str]) -> dict[str, list[int]]:
    """Which leaf columns belong to which top-level column; names may have dots themselves."""
    leaves: dict[str, list[int]] = {}
    known = set(names)
    for leaf in range(metadata.num_columns):
        path = str(metadata.schema.column(leaf).path)
        name = path
        while name not in known and "." in name:
            name = name.rpartition(".")[0]
        leaves.setdefault(name, []).append(leaf)
    return leaves


def _first_line(err: BaseException) -> str:
    if isinstance(err, DatasetFileError):
        return err.message
    lines = str(err).splitlines()
    return (lines[0] if lines else type(err).__name__)[:160]
