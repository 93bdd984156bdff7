"""How many rows each data file really has, told by its footer, against what the episodes tables say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from noeira_tui.recordings.read import LocalRecording

_MAX_FAULTS = 20


def row_faults(recording: LocalRecording) -> Mapping[str, str]:
    """What is wrong with data files that hold other numbers of frames than the episodes in them, by path.

    A footer of each complete data file that the tables name is read; the first few faults are told. While it is
    recorded a file may have more rows than the tables know of yet. Never raises.
    """
    return dict(islice(_faults(recording), _MAX_FAULTS))


def row_problems(recording: LocalRecording) -> tuple[str, ...]:
    """The same as sentences that name the file."""
    return tuple(f"{path} {fault}" for path, fault in row_faults(recording).items())


def _faults(recording: LocalRecording) -> Iterator[tuple[str, str]]:
    if recording.tables is None:
        return
    complete = {file.path for file in recording.files if file.complete}
    for name, frames in sorted(recording.tables.frames_in.items()):
        if name not in complete:
            continue
        rows = _rows(recording.folder / name)
        if isinstance(rows, str):
            yield name, rows
        elif rows < frames or (rows > frames and not recording.is_written_to):
            yield name, f"has {rows} rows, its episodes have {frames} frames"


def _rows(path: Path) -> int | str:
    """The rows of a parquet file, or why they cannot be told."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as stream:
            return int(pq.read_metadata(stream).num_rows)
    except (OSError, pa.ArrowException, ValueError) as err:
        first = str(err).splitlines()[0] if str(err) else type(err).__name__
        return f"cannot be read: {first[:200]}"
