"""How many rows each data file really has, told by its footer, against what the episodes tables say of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from noeira_tui.recordings.read import LocalRecording

_MAX_PROBLEMS = 20


def row_problems(recording: LocalRecording) -> tuple[str, ...]:
    """Sentences about data files that hold other numbers of frames than the episodes in them; never raises.

    A footer of each complete data file that the tables name is read. While it is recorded a file may have more rows
    than the tables know of yet.
    """
    problems = []
    for problem in _problems(recording):
        problems.append(problem)
        if len(problems) == _MAX_PROBLEMS:
            break
    return tuple(problems)


def _problems(recording: LocalRecording) -> Iterator[str]:
    if recording.tables is None:
        return
    complete = {file.path for file in recording.files if file.complete}
    for name, frames in sorted(recording.tables.frames_in.items()):
        if name not in complete:
            continue
        rows = _rows(recording.folder / name)
        if isinstance(rows, str):
            yield f"{name} {rows}"
        elif rows < frames or (rows > frames and not recording.is_written_to):
            yield f"{name} has {rows} rows, its episodes have {frames} frames"


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
