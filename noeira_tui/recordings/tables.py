"""A recording's own tables: how many episodes can really be read, and which files they name."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noeira_tui.core.paths import is_wire_path
from noeira_tui.recordings.info import Info
from noeira_tui.recordings.layout import belongs
from noeira_tui.recordings.tree import Stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

EPISODES = "meta/episodes/"
"""Where the tables with one row an episode are."""

_MAX_REMEMBERED = 10_000
_MAX_PROBLEMS = 20
# A width of a thousand million would be filled with as many zeros.
_WIDE = re.compile(r"\d{4}")
_PLACES = ("data/chunk_index", "data/file_index")


@dataclass(frozen=True)
class TableFacts:
    """One episodes table. `names` are the files its rows point at; `first_index` and `end_index` the frames it spans;
    `frames_in` the frames that its episodes have in each data file.

    `error` says why it cannot be read; then it holds nothing.
    """

    rows: int = 0
    frames: int = 0
    names: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    first_index: int | None = None
    end_index: int | None = None
    frames_in: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Tables:
    """All episodes tables of a recording together.

    `episodes` and `frames` are what can be read; `unreadable` maps tables to the reason why their rows cannot;
    `names` are the files that the readable rows need; `frames_in` the frames of their episodes in each data file.
    """

    episodes: int = 0
    frames: int = 0
    names: frozenset[str] = frozenset()
    frames_in: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class TableReader:
    """Reads episodes tables, each once for every stamp it has. May be used from several threads.

    `read` reads one table; what it raises of NoeiraError goes to whoever asks, and is not remembered.
    """

    def __init__(self, read: Callable[[Path, Info], TableFacts] | None = None) -> None:
        self._read = read_table if read is None else read
        self._lock = threading.Lock()
        self._known: dict[tuple[object, ...], TableFacts] = {}
        self.reads = 0

    def read(self, folder: Path, info: Info, files: Mapping[str, Stamp]) -> Tables:
        """The tables among the complete `files` of a recording whose `info.json` says `info`.

        Raises only what the function raises that reads them: none by default.
        """
        paths = sorted(path for path in files if path.startswith(EPISODES) and path.endswith(".parquet"))
        facts = {path: self._facts(folder, path, files[path], info) for path in paths}
        problems = [problem for one in facts.values() for problem in one.problems]
        reached: int | None = None
        for path, one in facts.items():
            if None not in (reached, one.first_index) and one.first_index != reached:
                problems.append(f"{path} begins at frame {one.first_index}, the table before it ends at {reached}")
            reached = one.end_index if one.end_index is not None else reached
        frames_in: Counter[str] = Counter()
        for one in facts.values():
            frames_in.update(one.frames_in)
        return Tables(
            episodes=sum(one.rows for one in facts.values()),
            frames=sum(one.frames for one in facts.values()),
            names=frozenset().union(*(one.names for one in facts.values())),
            frames_in=frames_in,
            unreadable={path: one.error for path, one in facts.items() if one.error is not None},
            problems=tuple(problems[:_MAX_PROBLEMS]),
        )

    def _facts(self, folder: Path, path: str, stamp: Stamp, info: Info) -> TableFacts:
        key = (str(folder / path), stamp, *info.layout)
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        facts = self._read(folder / path, info)
        with self._lock:
            self.reads += 1
            if len(self._known) >= _MAX_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = facts
        return facts


def read_table(path: Path, info: Info) -> TableFacts:
    """One episodes table; why it cannot be read is in `error`. Never raises."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as stream, pq.ParquetFile(stream) as table:
            names = set(table.schema_arrow.names)
            videos = [f"videos/{camera}/{part}" for camera in info.cameras for part in _VIDEO_PARTS]
            wanted = [name for name in (*_COLUMNS, *_PLACES, *videos) if name in names]
            columns: dict[str, list[Any]] = table.read(columns=wanted, use_threads=False).to_pydict()
    except (OSError, pa.ArrowException, ValueError) as err:
        first = str(err).splitlines()[0] if str(err) else type(err).__name__
        return TableFacts(error=f"cannot be read: {first[:200]}")
    return _Rows(columns, info).facts()


_COLUMNS = ("episode_index", "length", "dataset_from_index", "dataset_to_index")
_VIDEO_PARTS = ("chunk_index", "file_index", "from_timestamp", "to_timestamp")


class _Rows:
    def __init__(self, columns: Mapping[str, Sequence[Any]], info: Info) -> None:
        self._columns = columns
        self._info = info
        self._rows = len(next(iter(columns.values()), ()))
        self._problems: list[str] = []

    def facts(self) -> TableFacts:
        names = self._names("data", self._info.data_path, {}, *_PLACES)
        for camera in self._info.cameras:
            place = f"videos/{camera}"
            names |= self._names(
                place, self._info.video_path, {"video_key": camera}, f"{place}/chunk_index", f"{place}/file_index"
            )
            self._check_spans(camera)
        self._check_indices()
        starts, ends = self._column("dataset_from_index"), self._column("dataset_to_index")
        return TableFacts(
            rows=self._rows,
            frames=sum(length for length in self._column("length") if length is not None),
            names=frozenset(names),
            problems=tuple(self._problems[:_MAX_PROBLEMS]),
            first_index=starts[0] if starts else None,
            end_index=ends[-1] if ends else None,
            frames_in=self._frames_in(),
        )

    def _column(self, name: str) -> list[int | None]:
        return [_whole(value) for value in self._columns.get(name, ())]

    def _episode(self, row: int) -> object:
        indices = self._columns.get("episode_index", ())
        return indices[row] if row < len(indices) else row

    def _names(self, what: str, template: str | None, more: Mapping[str, str], chunk: str, file: str) -> set[str]:
        chunks, files = self._column(chunk), self._column(file)
        if not chunks or not files or template is None:
            if self._rows:
                self._problems.append(f"{what}: the episodes do not say in which file they are")
            return set()
        if None in chunks or None in files:
            row = next(i for i, pair in enumerate(zip(chunks, files, strict=True)) if None in pair)
            self._problems.append(f"episode {self._episode(row)} does not say in which file of {what} it is")
        names: set[str] = set()
        for place in {pair for pair in zip(chunks, files, strict=True) if None not in pair}:
            name = _filled(template, {"chunk_index": place[0], "file_index": place[1], **more})
            if name is None or not belongs(name):
                self._problems.append(f"{what}: {template!r} in info.json names no file of a recording")
                return names
            names.add(name)
        return names

    def _frames_in(self) -> Mapping[str, int]:
        """Frames by data file; nothing when some episode does not say where its frames are, or how many it has."""
        columns = [self._column(name) for name in (*_PLACES, "length")]
        frames: Counter[tuple[int, int]] = Counter()
        for chunk, file, length in zip(*columns, strict=False):
            if chunk is None or file is None or length is None:
                return {}
            frames[chunk, file] += length
        named = {
            _filled(self._info.data_path, {"chunk_index": chunk, "file_index": file}): count
            for (chunk, file), count in frames.items()
        }
        return {name: count for name, count in named.items() if name is not None}

    def _check_indices(self) -> None:
        """Every episode begins where the one before it ends, and is as long as it says."""
        lengths = self._column("length")
        starts, ends = self._column("dataset_from_index"), self._column("dataset_to_index")
        reached: int | None = None
        for row, (start, end) in enumerate(zip(starts, ends, strict=False)):
            if start is None or end is None:
                continue
            if reached is not None and start != reached:
                self._problems.append(
                    f"episode {self._episode(row)} begins at frame {start}, the one before it ends at {reached}"
                )
            length = lengths[row] if row < len(lengths) else None
            if length is not None and end - start != length:
                self._problems.append(
                    f"episode {self._episode(row)} has {length} frames, but spans {start} to {end} ({end - start})"
                )
            reached = end

    def _check_spans(self, camera: str) -> None:
        """A video's span is as long as the episode, within one frame: some writers leave the last frame out."""
        fps, lengths = self._info.fps, self._column("length")
        columns = [self._columns.get(f"videos/{camera}/{part}", ()) for part in _VIDEO_PARTS]
        if not fps or not all(columns):
            return
        reached: dict[tuple[object, object], float] = {}
        for row, (chunk, file, begin, end) in enumerate(zip(*columns, strict=True)):
            if not isinstance(begin, int | float) or not isinstance(end, int | float):
                continue
            length = lengths[row] if row < len(lengths) else None
            if length is not None and abs((end - begin) * fps - length) > 1.5:
                self._problems.append(
                    f"episode {self._episode(row)} has {length} frames, but {end - begin:.3f} s of {camera} "
                    f"({(end - begin) * fps:.1f} frames)"
                )
            if begin < reached.get((chunk, file), 0.0) - 1.5 / fps:
                self._problems.append(f"episode {self._episode(row)} of {camera} overlaps the one before it")
            reached[chunk, file] = end


def _whole(value: object) -> int | None:
    """A count as tables have it: an integer, or a double without a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value and abs(value) != float("inf") and int(value) == value else None


def _filled(template: str, values: Mapping[str, object]) -> str | None:
    """A path template of info.json, filled; None when it does not fit or leads out of the recording."""
    if _WIDE.search(template):
        return None
    try:
        name = template.format_map(values)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        return None
    return name if is_wire_path(name) else None
