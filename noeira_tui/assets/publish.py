"""Making a pack of a folder: the same files give the same bytes, whoever packs them, when and where."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from noeira_tui.assets.facts import Provider
from noeira_tui.assets.names import Places, member_path
from noeira_tui.core.errors import ArchiveError, PackError
from noeira_tui.core.progress import CancelToken, Progress

_LEVEL = 10
# 1980-01-01, the earliest time that every tool unpacks without a remark.
_MTIME = 315_532_800
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class MadePack:
    """An archive that was made, and what is in it."""

    name: str
    version: str
    path: Path
    sha256: str
    size_bytes: int
    files: int

    @property
    def id(self) -> str:
        """Its id in the catalog once it is pushed."""
        return f"{self.name}-{self.version}"

    def stanza(self, *, pushed: bool) -> str:
        """The lines that declare it, to paste into an `assets.kv`."""
        where = (
            f"provider={Provider.NOEIRA}\nid={self.id}"
            if pushed
            else f"provider={Provider.HTTPS}\nurl=https://example.org/{self.path.name}"
        )
        return (
            f"pack={self.name}@{self.version}\n{where}\nsha256={self.sha256}\nbytes={self.size_bytes}\n"
            f"dest=assets/{self.name}\n"
        )


def make_pack(folder: Path, out: Path, *, name: str, version: str, progress: Progress, cancel: CancelToken) -> MadePack:
    """Pack a folder's files into `out`, a `.tar.zst`: sorted, without owners and times, links followed inside it.

    A file that is at `out` already must have the very same bytes. Raises PackError for what cannot be packed or is in
    the way, CancelledError.
    """
    part = out.with_name(f"{out.name}.part")
    try:
        files = list(_files(folder, {out, part}))
        if not files:
            raise PackError(f"There are no files in {folder}.", title="Nothing to pack")
        progress.expect(size_bytes=sum(path.stat().st_size for _, path in files), items=len(files))
        try:
            with part.open("wb") as stream:
                sink = _Hashed(stream)
                _write(sink, files, progress, cancel)
                stream.flush()
                os.fsync(stream.fileno())
            _publish(part, out, sink.sha256)
        finally:
            part.unlink(missing_ok=True)
        return MadePack(name, version, out, sink.sha256, out.stat().st_size, len(files))
    except OSError as err:
        raise PackError(f"{err.filename or out}: {err.strerror or err}.", title="Cannot pack") from err


def _files(folder: Path, leave_out: set[Path]) -> Iterator[tuple[str, Path]]:
    """Every file as (name in the archive, path), in the order of the names' bytes."""
    home = Path(os.path.realpath(folder))
    if not home.is_dir():
        raise PackError(f"{folder} is not a folder.", title="Nothing to pack")
    places = Places()
    found = sorted(_walk(home, "", (home,)), key=lambda pair: os.fsencode(pair[0]))
    skipped = {Path(os.path.realpath(path)) for path in leave_out}
    for name, path in found:
        real = Path(os.path.realpath(path))
        if real in skipped:
            continue
        if not real.is_relative_to(home):
            raise PackError(f"{path} is a link out of {folder}.", hint="Put the file itself there.")
        if not real.is_file():
            raise PackError(f"{path} is not a plain file.", hint="A pack holds files and folders only.")
        try:
            member_path(name)
            places.add_file(name)
        except ArchiveError as err:
            why = err.message.removesuffix(" Nothing of the pack was installed.")
            raise PackError(why, title="Cannot pack", hint="Rename it.") from err
        yield name, real


def _walk(folder: Path, prefix: str, above: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        name = f"{prefix}{path.name}"
        if not path.is_dir():
            yield name, path
            continue
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(above[0]):
            raise PackError(f"{path} is a link out of {above[0]}.", hint="Put the folder itself there.")
        if real in above:
            raise PackError(f"{path} is a link to a folder that it lies in.")
        yield from _walk(path, f"{name}/", (*above, real))


class _Hashed:
    """Writes on, and hashes what goes through."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._stream.write(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def _write(sink: _Hashed, files: list[tuple[str, Path]], progress: Progress, cancel: CancelToken) -> None:
    import zstandard

    # With workers the stream is cut into jobs of its own size: the bytes do not depend on how many there are.
    workers = max(1, os.cpu_count() or 1)
    compressor = zstandard.ZstdCompressor(level=_LEVEL, threads=workers, write_checksum=True, write_content_size=False)
    with (
        compressor.stream_writer(sink, closefd=False) as packed,  # type: ignore[arg-type]  # it only writes
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, path in files:
            _add(archive, name, path, progress, cancel)


def _add(archive: tarfile.TarFile, name: str, path: Path, progress: Progress, cancel: CancelToken) -> None:
    with path.open("rb") as stream:
        stat = os.fstat(stream.fileno())
        member = tarfile.TarInfo(name)
        member.size = stat.st_size
        member.mode = 0o755 if stat.st_mode & 0o100 else 0o644
        member.mtime = _MTIME
        archive.addfile(member, _Watched(stream, progress, cancel))  # type: ignore[arg-type]  # only read is called
        if stream.read(1) or os.fstat(stream.fileno()).st_mtime_ns != stat.st_mtime_ns:
            raise PackError(f"{path} changed while it was packed.", hint="Pack again when nothing writes to it.")
    progress.item_done()


class _Watched:
    """Reads on, counts, and stops when asked to."""

    def __init__(self, stream: BinaryIO, progress: Progress, cancel: CancelToken) -> None:
        self._stream = stream
        self._progress = progress
        self._cancel = cancel

    def read(self, size: int) -> bytes:
        self._cancel.check()
        data = self._stream.read(size)
        self._progress.advance(len(data))
        return data


def _publish(part: Path, out: Path, sha256: str) -> None:
    from noeira_tui.transfer.hashing import hash_file

    if out.exists():
        if hash_file(out)[0] == sha256:
            return
        raise PackError(
            f"{out} exists and holds something else; it was left as it is.",
            hint="A version never changes: give another --version, or remove the file first.",
        )
    part.replace(out)
