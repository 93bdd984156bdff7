"""A dataset inside a tar archive: it cannot be streamed, so it is downloaded first, and that is said before."""

from __future__ import annotations

import tarfile
import tempfile
import threading
from dataclasses import replace
from typing import IO, BinaryIO, cast

from noeira_tui.core.progress import CancelToken
from noeira_tui.core.quantity import show_size
from noeira_tui.datasets.localstore import missing, too_large
from noeira_tui.datasets.source import Source, cut_short, refuse_pointer
from noeira_tui.datasets.store import FileMark, Listing, Piece, Span

_STEP_BYTES = 8 << 20
_MAX_UNPACKED_BYTES = 64 << 30


def inside_tar(source: Source) -> Source:
    """The files inside the tar that `source` is. Says beforehand, through `source.say`, what it has to download.

    Raises DatasetFileError for something that is no tar, or one cut short.
    """
    size = source.size("")
    if source.say is not None and source.is_remote:
        shown = "a size that is not told" if size is None else show_size(size)
        source.say(f"{source.name} is an archive that cannot be read in place: downloading it first, {shown}.")
    file = tempfile.TemporaryFile(prefix="noeira-inspect-")  # noqa: SIM115 - lives as long as the store
    try:
        _download(source, file, size)
        archive = tarfile.open(fileobj=_unpacked(source, file), mode="r:*")  # noqa: SIM115
        members = {info.name.removeprefix("./"): info for info in archive if info.isfile()}
    except (tarfile.TarError, OSError, EOFError, ValueError) as err:
        file.close()
        raise cut_short(source.name, f"it is no tar archive, or one cut short ({err})") from err
    return replace(source, store=TarStore(archive, members, source), is_file=False, streamed=not source.is_remote)


def _download(source: Source, file: IO[bytes], size: int | None) -> None:
    at = 0
    while size is None or at < size:
        piece = source.head("", _STEP_BYTES, at)
        if at == 0:
            refuse_pointer(piece.data, "")
        file.write(piece.data)
        at += len(piece.data)
        if len(piece.data) < _STEP_BYTES:
            break
    file.seek(0)


def _unpacked(source: Source, file: IO[bytes]) -> IO[bytes]:
    """A seekable plain (or gzip, bzip2, xz) tar; zstandard is unpacked to another temporary file."""
    if file.read(4) != b"\x28\xb5\x2f\xfd":
        file.seek(0)
        return file
    import zstandard

    file.seek(0)
    plain = tempfile.TemporaryFile(prefix="noeira-inspect-")  # noqa: SIM115 - lives as long as the store
    written = 0
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(
            cast(BinaryIO, file), read_across_frames=True
        ) as reader:
            while chunk := reader.read(_STEP_BYTES):
                source.cancel.check()
                written += len(chunk)
                if written > _MAX_UNPACKED_BYTES:
                    raise ValueError("it unpacks to more than makes sense")
                plain.write(chunk)
    except zstandard.ZstdError as err:
        raise ValueError(str(err)) from err
    plain.seek(0)
    return plain


class TarStore:
    """The members of a tar on this box as files."""

    can_list = True

    def __init__(self, archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], outer: Source) -> None:
        self._archive = archive
        self._outer = outer
        self._lock = threading.Lock()
        tops = {name.partition("/")[0] for name in members}
        top = next(iter(tops), "")
        nested = len(tops) == 1 and all("/" in name for name in members) and top not in {"meta", "data", "videos"}
        self._members = {name[len(top) + 1 :] if nested else name: info for name, info in members.items()}

    def get(self, path: str, span: Span | None, max_bytes: int, cancel: CancelToken) -> Piece:
        cancel.check()
        info = self._members.get(path)
        if info is None:
            raise missing(path)
        start = 0 if span is None else span.start if span.start >= 0 else max(0, info.size + span.start)
        stop = info.size if span is None or span.stop is None else min(span.stop, info.size)
        start = min(start, stop)
        if stop - start > max_bytes:
            raise too_large(path, stop - start, max_bytes)
        try:
            with self._lock:
                member = self._archive.extractfile(info)
                if member is None:
                    raise missing(path)
                member.seek(start)
                data = member.read(stop - start)
        except (tarfile.TarError, OSError, EOFError) as err:
            raise cut_short(path, f"it cannot be read from the archive ({err})") from err
        return Piece(data, start, info.size)

    def size(self, path: str, cancel: CancelToken) -> int | None:
        info = self._members.get(path)
        if info is None:
            raise missing(path)
        return info.size

    def mark(self, path: str, cancel: CancelToken) -> FileMark:
        """A member changes with its archive only."""
        return self._outer.with_cancel(cancel).mark("")

    def listing(self, path: str, cancel: CancelToken) -> Listing:
        prefix = f"{path}/" if path else ""
        return Listing.among(((name, info.size) for name, info in self._members.items()), prefix)

    def close(self) -> None:
        self._archive.close()
        self._outer.close()
