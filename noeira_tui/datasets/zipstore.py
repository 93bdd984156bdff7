"""A dataset inside a zip file, read in place: the directory of the zip, then only the members that are wanted."""

from __future__ import annotations

import struct
import threading
import zipfile
import zlib
from dataclasses import replace

from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.localstore import missing, too_large
from noeira_tui.datasets.rangefile import RangeFile
from noeira_tui.datasets.source import Source, cut_short, refuse_pointer
from noeira_tui.datasets.store import FileMark, Listing, Piece, Span

_TAIL_BYTES = 16 << 10
_READ_AHEAD = 4 << 10


def inside_zip(source: Source) -> Source:
    """The files inside the zip that `source` is; a single folder at its top is stepped into.

    Raises DatasetFileError for something that is no zip.
    """
    tail = source.tail("", _TAIL_BYTES)
    refuse_pointer(tail.data if tail.start == 0 else b"", "")
    total = tail.total if tail.total is not None else source.size("") or len(tail.data)
    file = RangeFile(source, "", total, read_ahead=_READ_AHEAD)
    file.keep(tail)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as err:
        raise cut_short(source.name, f"it is no zip file, or one cut short ({err})") from err
    return replace(source, store=ZipStore(archive, file, source), is_file=False)


class ZipStore:
    """The members of a zip as files. Members that are stored, as zarr writes them, are read by ranges."""

    can_list = True

    def __init__(self, archive: zipfile.ZipFile, file: RangeFile, outer: Source) -> None:
        self._archive = archive
        self._file = file
        self._outer = outer
        self._lock = threading.Lock()
        # A damaged directory may hold a name of nothing.
        self._members = {one.filename: one for one in archive.infolist() if one.filename and not one.is_dir()}
        self._prefix = _single_folder(self._members)

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        cancel.check()
        info = self._member(path)
        size = info.file_size
        start, stop = (0, size) if span is None else _bounds(span, size)
        if stop - start > max_bytes:
            raise too_large(path, stop - start, max_bytes)
        try:
            with self._lock:
                self._file.source = self._outer.with_cancel(cancel)
                with self._archive.open(info) as member:
                    member.seek(start)
                    data = member.read(stop - start)
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            ValueError,
            RuntimeError,
            NotImplementedError,
            EOFError,
        ) as err:
            raise cut_short(path, f"it cannot be read from the zip ({err})") from err
        return Piece(data, start, size)

    def size(self, path: str, cancel: CancelToken) -> int | None:
        return self._member(path).file_size

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        """A member changes with its archive only."""
        return self._outer.with_cancel(cancel).mark("")

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        prefix = self._prefix + (f"{path}/" if path else "")
        return Listing.among(((name, info.file_size) for name, info in self._members.items()), prefix)

    def close(self) -> None:
        self._archive.close()
        self._outer.close()

    def _member(self, path: str) -> zipfile.ZipInfo:
        info = self._members.get(self._prefix + path)
        if info is None:
            raise missing(path)
        return info


def _bounds(span: Span, size: int) -> tuple[int, int]:
    if span.start < 0:
        return max(0, size + span.start), size
    return min(span.start, size), size if span.stop is None else min(span.stop, size)


def _single_folder(members: dict[str, zipfile.ZipInfo]) -> str:
    tops = {name.partition("/")[0] for name in members if not name.startswith("__MACOSX/")}
    inside = all("/" in name for name in members)
    top = next(iter(tops), "")
    return f"{top}/" if len(tops) == 1 and inside and top not in {"meta", "data", "videos"} else ""
