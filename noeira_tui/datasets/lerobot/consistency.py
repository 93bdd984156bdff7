"""What the episode table alone shows to be wrong: counts, order, lengths, video spans, and files that are not there."""

from __future__ import annotations

from noeira_tui.core.errors import DatasetError, DatasetFileError
from noeira_tui.datasets.jsonfacts import Problems
from noeira_tui.datasets.lerobot.episodes import EpisodeTable, known_files
from noeira_tui.datasets.lerobot.info import LeRobotInfo
from noeira_tui.datasets.lerobot.layout import INFO, Generation, fill
from noeira_tui.datasets.source import Source

_FRAME_TOLERANCE = 1.5
"""Frames that a video's span may differ from the episode's length: some writers leave the last frame out."""

MAX_ASKED = 2000
"""Files whose existence is asked for one by one; more are listed, where that is possible."""
_LISTED_FROM = 32


def check_table(info: LeRobotInfo, table: EpisodeTable, problems: Problems) -> None:
    """Compare the table with `info.json` and with itself."""
    if info.episodes is not None and info.episodes != len(table):
        problems.add(
            "counts_disagree",
            INFO,
            "total_episodes",
            f"{INFO}: `total_episodes` is {info.episodes:,}, {table.file} has {len(table):,}.",
        )
    frames = sum(table.lengths)
    if info.frames is not None and len(table.lengths) == len(table) and frames != info.frames:
        problems.add(
            "counts_disagree",
            INFO,
            "total_frames",
            f"{INFO}: `total_frames` is {info.frames:,}, the lengths in {table.file} add up to {frames:,}.",
        )
    _check_order(table, problems)
    for camera in table.videos:
        _check_spans(info, table, camera, problems)


def _check_order(table: EpisodeTable, problems: Problems) -> None:
    seen: set[int] = set()
    reached: int | None = None
    for row, index in enumerate(table.indices):
        file, length = table.tables[row], table.told_lengths[row]
        if index in seen:
            message = f"{file}: episode {index} is there twice."
            table.blame(row, problems.add("index_order", file, "episode_index", message))
        seen.add(index)
        if length is not None and length <= 0:
            message = f"{file}: episode {index} has {length} frames."
            table.blame(row, problems.add("empty_episode", file, "length", message))
        start, end = table.from_index[row], table.to_index[row]
        if start is None or end is None:
            continue
        if reached is not None and start != reached:
            message = f"{file}: episode {index} begins at frame {start:,}, the one before it ends at {reached:,}."
            table.blame(row, problems.add("index_order", file, "dataset_from_index", message))
        if length is not None and end - start != length:
            message = f"{file}: episode {index} has {length:,} frames, but spans {start:,} to {end:,}."
            table.blame(row, problems.add("counts_disagree", file, "dataset_to_index", message))
        reached = end
    if seen and max(seen) >= len(seen) and len(seen) == len(table):
        absent = next(number for number in range(len(seen) + 1) if number not in seen)
        problems.add("index_order", table.file, "episode_index", f"{table.file}: there is no episode {absent}.")


def _check_spans(info: LeRobotInfo, table: EpisodeTable, camera: str, problems: Problems) -> None:
    """A video's span is as long as its episode, and begins where the one before it in the same file ends."""
    if not info.fps:
        return
    columns = table.videos[camera]
    reached: dict[str | None, float] = {}
    for row, (file, begin, end) in enumerate(zip(columns.files, columns.from_s, columns.to_s, strict=True)):
        if begin is None or end is None:
            continue
        index, length, where = table.indices[row], table.told_lengths[row], table.tables[row]
        frames = (end - begin) * info.fps
        if length is not None and abs(frames - length) > _FRAME_TOLERANCE:
            message = (
                f"{where}: episode {index} has {length:,} frames, but its span of {camera} is {end - begin:.3f} s "
                f"({frames:.1f} frames)."
            )
            table.blame(row, problems.add("video_span", where, f"videos/{camera}/to_timestamp", message))
        if begin < reached.get(file, 0.0) - _FRAME_TOLERANCE / info.fps:
            message = f"{where}: episode {index} of {camera} overlaps the one before it."
            table.blame(row, problems.add("video_span", where, f"videos/{camera}/from_timestamp", message))
        reached[file] = end


def check_files(source: Source, info: LeRobotInfo, table: EpisodeTable, problems: Problems) -> frozenset[str]:
    """Note files that episodes need and that are not there; gives the ones that are.

    A file that is where the layout's own template would have it, and not where `info.json` says, is used from there.
    """
    files = known_files(table)
    there = existing(source, list(files))
    if there is None:
        return frozenset(files)
    gone = [file for file in files if file not in there]
    moved = _elsewhere(source, info, table, gone) if gone else {}
    if moved:
        data = set(table.data_files)
        for field, wrongs in (
            ("data_path", [file for file in moved if file in data]),
            ("video_path", [file for file in moved if file not in data]),
        ):
            if wrongs:
                message = (
                    f"{INFO}: `{field}` names {wrongs[0]}, the file is at {moved[wrongs[0]]} ({len(wrongs):,} such)."
                )
                problems.add("bad_path", INFO, field, message)
        _move(table, moved)
    for file in gone:
        if file in moved:
            continue
        rows = files[file]
        who = f"episode {table.indices[rows[0]]}" + (
            f" and {len(rows) - 1:,} more need it" if len(rows) > 1 else " needs it"
        )
        problem = problems.add("missing_file", file, "", f"{file} is not there; {who}.")
        for row in rows:
            table.blame(row, problem)
    return frozenset(there) | frozenset(moved.values())


def existing(source: Source, files: list[str]) -> set[str] | None:
    """Those of some files that are there; None when it would take too many questions to find out."""
    if len(files) > _LISTED_FROM and source.can_list:
        folders = sorted({file.rpartition("/")[0] for file in files})
        if len(folders) < len(files):
            try:
                listings = source.each(source.listing, folders)
            except DatasetFileError:
                return None
            found = {f"{folder}/{name}" for folder, one in zip(folders, listings, strict=True) for name in one.files}
            return found & set(files)
    if len(files) > MAX_ASKED:
        return None
    return {file for file, there in zip(files, source.each(source.exists, files), strict=True) if there}


def _elsewhere(source: Source, info: LeRobotInfo, table: EpisodeTable, gone: list[str]) -> dict[str, str]:
    """Where files are that are not where `info.json` says: by the layout's own templates, or in `video/`."""
    wanted = set(gone)
    candidates = {file: file.replace("videos/", "video/", 1) for file in gone if file.startswith("videos/")}
    for row, index in enumerate(table.indices if info.generation is Generation.V2 else ()):
        values: dict[str, int | str] = {"episode_index": index, "episode_chunk": index // info.chunk_size}
        _offer(candidates, wanted, table.data_files[row], fill(info.default_data_path, values))
        for camera, columns in table.videos.items():
            path = fill(info.default_video_path, {**values, "video_key": camera})
            _offer(candidates, wanted, columns.files[row], path)
    try:
        there = existing(source, list(candidates.values())) if candidates else set()
    except DatasetError:
        there = set()
    return {wrong: right for wrong, right in candidates.items() if there is not None and right in there}


def _offer(candidates: dict[str, str], wanted: set[str], named: str | None, other: str | None) -> None:
    if named is not None and named in wanted and other is not None and other != named:
        candidates[named] = other


def _move(table: EpisodeTable, moved: dict[str, str]) -> None:
    table.data_files[:] = [moved.get(file, file) if file else file for file in table.data_files]
    for columns in table.videos.values():
        columns.files[:] = [moved.get(file, file) if file else file for file in columns.files]
