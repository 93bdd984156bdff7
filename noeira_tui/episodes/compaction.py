"""Putting a table's small files together: every ingest adds some, and each is a request for whoever reads.

The table library has this too, but lets two that put the same files together at once both commit (seen with deltalake
1.6.6, whatever retries it is given), and every row is there twice. Here the commit asserts the version that was read.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

SMALL_FILES = 64
"""Files that are put together when there are so many."""
_SMALL_BYTES = 1 << 20
_TARGET_BYTES = 2 << 20
"""Size of what is made of them, of some ten thousand rows: as much is held in memory."""

_CLOCK_S = 24 * 3600
"""How far off the clock may be, the time it takes to put files together included."""


@dataclass(frozen=True)
class _Part:
    path: str
    size_bytes: int


def compact_small_files(table: DeltaTable) -> bool:
    """Put small files together when there are many; tells whether it did. When somebody else commits meanwhile it is
    left to the next ingest.

    Rows stay as they are, and whoever reads an older version goes on: files that nobody needs are deleted once they are
    a week old. Raises what the table library raises, and OSError for a full disk, which keeps nothing of it.
    """
    from deltalake import CommitProperties
    from deltalake.exceptions import CommitFailedError
    from deltalake.transaction import RemoveAction

    small = _small_files(table)
    if len(small) < SMALL_FILES:
        return False
    dataset = table.to_pyarrow_dataset()
    added = _written(dataset, small)
    at_ms = int(time.time() * 1000)
    removed = [RemoveAction(part.path, False, at_ms, part.size_bytes, {}) for part in small]
    try:
        table.create_write_transaction(
            [*added, *removed], "append", table.schema(), commit_properties=CommitProperties(max_commit_retries=0)
        )
    except CommitFailedError:
        # What was written for it goes after a week: it would be needed where only the store's answer was lost.
        return False
    finally:
        table.update_incremental()
    # A week is told by this box's clock: where it is wrong, that would be files which somebody writes just now.
    if _is_right_clock(dataset.filesystem, added[0].path) and table.vacuum(dry_run=True, full=True):
        table.vacuum(dry_run=False, full=True)
    return True


def _is_right_clock(place: pafs.FileSystem, fresh: str) -> bool:
    """Whether this box tells about the time at which the place says that a fresh file was written."""
    written_ns: int | None = place.get_file_info(fresh).mtime_ns
    return written_ns is not None and abs(time.time() - written_ns / 1e9) < _CLOCK_S


def _small_files(table: DeltaTable) -> list[_Part]:
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True))
    parts = map(_Part, actions["path"].to_pylist(), actions["size_bytes"].to_pylist())
    return [part for part in parts if part.size_bytes < _SMALL_BYTES]


def _shares(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Those that become a file each."""
    share: list[_Part] = []
    for part in parts:
        share.append(part)
        if sum(one.size_bytes for one in share) >= _TARGET_BYTES:
            yield share
            share = []
    if share:
        yield share


def _written(dataset: ds.Dataset, small: Sequence[_Part]) -> list[AddAction]:
    """The files that are made of small ones; none stays where one cannot be written, as when the disk is full."""
    added: list[AddAction] = []
    for some in _shares(small):
        path = f"part-compacted-{secrets.token_hex(16)}.snappy.parquet"
        try:
            added.append(_together(dataset, some, path))
        except BaseException:
            for name in (*(one.path for one in added), path):
                with suppress(OSError):
                    dataset.filesystem.delete_file(name)
            raise
    return added


def _together(dataset: ds.Dataset, parts: Sequence[_Part], path: str) -> AddAction:
    """One file with the rows of several, written beside them."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
    from deltalake.transaction import AddAction

    names = {part.path for part in parts}
    fragments = [fragment for fragment in dataset.get_fragments() if fragment.path in names]
    some = ds.FileSystemDataset(fragments, dataset.schema, dataset.format, dataset.filesystem)
    # One after the other: what is read ahead would be held as well.
    rows = some.to_table(use_threads=False, fragment_readahead=1, batch_readahead=1)
    with dataset.filesystem.open_output_stream(path) as stream:
        pq.write_table(rows, stream)
        size_bytes = stream.tell()
    return AddAction(path, size_bytes, {}, int(time.time() * 1000), False, json.dumps({"numRecords": rows.num_rows}))
