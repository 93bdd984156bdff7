"""Unpacking an archive into a fresh folder: every member is checked before anything of it is written.

No link is ever made on disk while members are written, so nothing can be written through one. What an archive gives as
a link inside its own tree becomes a second name of the same file, or a folder of such names; any other link is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from noeira_tui.assets.ahead import ahead
from noeira_tui.assets.archive import ArchiveKind, Layout, sniff
from noeira_tui.assets.compression import Compression, Readable, check_whole, compression_of, decompressed
from noeira_tui.assets.contents import SINGLE_FILE, Unpacked, UnpackedFile
from noeira_tui.assets.links import LinkTree
from noeira_tui.assets.names import Places, member_path, refused
from noeira_tui.assets.tarstream import Feed, Member, MemberKind, TarReader
from noeira_tui.assets.twin import Twin
from noeira_tui.assets.writers import NewFile, Writers
from noeira_tui.assets.zipstream import zip_members
from noeira_tui.core.errors import ArchiveError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.quantity import show_size

RATIO = 200
SMALLEST_LIMIT_BYTES = 64 << 20
MAX_MEMBERS = 1_000_000
SMALL_BYTES = 512 << 10
_ASK_ABOUT_SPACE_BYTES = 64 << 20
_OVERHEAD_BYTES = 2 << 30


RoomFor = Callable[[int], None]


def no_questions(size_bytes: int) -> None:
    """There is always room."""


def unpack(
    archive: Path,
    tree: Path,
    *,
    cancel: CancelToken,
    room_for: RoomFor = no_questions,
    twin: Twin | None = None,
) -> Unpacked:
    """Unpack into `tree`, a new folder that this makes. What is no archive becomes one file there.

    Every folder and file is given to the `twin` too. `room_for` is asked before bytes are written and raises when they
    do not fit. Raises ArchiveError for an archive that attacks, is cut, damaged or a bomb (more than `RATIO` times its
    size), OSError for the disk, CancelledError.
    """
    with archive.open("rb") as stream:
        check_whole(stream, compression_of(stream.read(8)))
        size = os.fstat(stream.fileno()).st_size
        layout = sniff(stream)
        if layout.kind is ArchiveKind.TAR:
            return _unpack_tar(stream, layout, size, _new_tree(tree, size, cancel, room_for, twin))
        with _new_tree(tree, size, cancel, room_for, twin) as new:
            if layout.kind is ArchiveKind.ZIP:
                for member, body in zip_members(stream):
                    new.add(member, body)
            else:
                pieces = decompressed(stream, Compression.NONE)
                new.add(Member(SINGLE_FILE, MemberKind.FILE, size, mtime_ns=0), lambda: pieces)
            return new.finish(layout)


def unpack_arriving(
    stream: Readable,
    size_bytes: int,
    tree: Path,
    *,
    cancel: CancelToken,
    room_for: RoomFor = no_questions,
    twin: Twin | None = None,
) -> Unpacked | None:
    """Unpack a tar while it arrives; None for what has to be there as a whole first. Raises as `unpack` does.

    Nothing of it may be used before the whole file was verified, and `check_whole` has looked at it.
    """
    layout = sniff(stream)
    if layout.kind is not ArchiveKind.TAR:
        return None
    return _unpack_tar(stream, layout, size_bytes, _new_tree(tree, size_bytes, cancel, room_for, twin))


def _unpack_tar(stream: Readable, layout: Layout, size: int, tree: _Tree) -> Unpacked:
    with tree as new:
        pieces = decompressed(stream, layout.compression)
        if layout.compression is not Compression.NONE:
            pieces = ahead(_at_most(pieces, _limit(size) + _OVERHEAD_BYTES))
        with closing(pieces):  # type: ignore[type-var]  # both are generators
            _add_all(new, pieces)
        return new.finish(layout)


def _new_tree(tree: Path, size: int, cancel: CancelToken, room_for: RoomFor, twin: Twin | None) -> _Tree:
    tree.mkdir(mode=0o755)
    return _Tree(tree, _limit(size), cancel, room_for, twin)


def _limit(archive_bytes: int) -> int:
    return max(SMALLEST_LIMIT_BYTES, archive_bytes * RATIO)


def _add_all(writer: _Tree, pieces: Iterator[bytes]) -> None:
    reader = TarReader(Feed(pieces))
    for member in reader.members():
        if member.kind is MemberKind.FILE and member.size_bytes <= SMALL_BYTES:
            writer.add(member, lambda: (reader.whole_body(),))
        else:
            writer.add(member, reader.body)


def _at_most(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    left = limit
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise _too_large(limit)
        yield piece


def _too_large(limit: int) -> ArchiveError:
    return ArchiveError(
        f"Unpacked it would be larger than {show_size(limit)}, {RATIO} times its size: this looks like an archive made "
        "to fill the disk. Nothing of the pack was installed.",
        title="Archive too large",
        hint="Ask whoever published the pack.",
    )


class _Tree:
    """The tree that members go to: checks each, has it written, and keeps account."""

    def __init__(self, tree: Path, limit: int, cancel: CancelToken, room_for: RoomFor, twin: Twin | None) -> None:
        self.folders: set[str] = set()
        self._fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._twin = twin
        self._writers = Writers(self._fd, twin=twin)
        self._limit = limit
        self._cancel = cancel
        self._room_for = room_for
        self._places = Places()
        self._files: set[str] = set()
        self._hardlinks: list[tuple[str, str]] = []
        self._symlinks: dict[str, str] = {}
        self._spent = 0
        self._asked = 0
        self._members = 0
        self._is_finished = False

    def __enter__(self) -> _Tree:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_finished:
            self._writers.abandon()
        os.close(self._fd)

    def add(self, member: Member, body: Callable[[], Iterable[memoryview | bytes]]) -> None:
        """Check one member and have it written. Raises ArchiveError, OSError, CancelledError."""
        self._count()
        path = member_path(member.name)
        if member.kind is MemberKind.FOLDER:
            self._places.add_folder(path)
            self._make_folder(path)
            return
        if not path:
            raise refused(member.name, "it takes the place of the whole tree")
        if member.kind is MemberKind.SYMLINK and member.target.startswith("/"):
            raise refused(member.name, f"it links to {member.target!r}, out of the tree")
        self._places.add_file(path)
        if member.kind is MemberKind.SYMLINK:
            self._symlinks[path] = member.target
        elif member.kind is MemberKind.HARDLINK:
            target = member_path(member.target)
            if target not in self._files:
                raise refused(member.name, f"it links to {member.target!r}, which is no file before it in the archive")
            self._hardlinks.append((path, target))
            self._files.add(path)
        else:
            self._spend(member.size_bytes)
            self._make_folder(path.rpartition("/")[0])
            self._files.add(path)
            self._write(NewFile(path, member.size_bytes, member.is_executable, member.mtime_ns), body())

    def finish(self, layout: Layout) -> Unpacked:
        """What was unpacked, once all of it is written. Raises as `_finish` does."""
        files = self._finish()
        return Unpacked(str(layout), tuple(files[path] for path in sorted(files)), tuple(sorted(self.folders)))

    def _finish(self) -> dict[str, UnpackedFile]:
        """Wait for the writers, then give the files that links lead to their further names.

        Raises ArchiveError for a link that leads anywhere but to files and folders of the tree.
        """
        written = self._writers.finish()
        self._is_finished = True
        files = {file.path: file for file in written}
        for path, target in self._hardlinks:
            self._make_folder(path.rpartition("/")[0])
            files[path] = self._second_name(path, files[target])
        tree = LinkTree(frozenset(files), frozenset(self.folders), self._symlinks)
        originals = dict(files)
        for link in self._symlinks:
            for name, meant in tree.names_for(link):
                self._count()
                self._make_folder(name if meant is None else name.rpartition("/")[0])
                if meant is not None:
                    files[name] = self._second_name(name, originals[meant])
        return files

    def _count(self) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise ArchiveError(f"It holds more than {MAX_MEMBERS:,} members. Nothing of the pack was installed.")
        if not self._members & 63:
            self._cancel.check()

    def _spend(self, size: int) -> None:
        self._spent += size
        if self._spent > self._limit:
            raise _too_large(self._limit)
        if self._spent >= self._asked:
            # Not at every one of thousands of small files: a full disk in between is told by the write.
            self._room_for(size)
            self._asked = self._spent + _ASK_ABOUT_SPACE_BYTES

    def _make_folder(self, path: str) -> None:
        if not path or path in self.folders:
            return
        self._make_folder(path.rpartition("/")[0])
        os.mkdir(path, 0o755, dir_fd=self._fd)
        if self._twin is not None:
            self._twin.make_folder(path)
        self.folders.add(path)

    def _write(self, new: NewFile, pieces: Iterable[memoryview | bytes]) -> None:
        if new.size_bytes <= SMALL_BYTES:
            self._writers.whole(new, b"".join(pieces))
            return
        file = self._writers.begin(new)
        for piece in pieces:
            self._cancel.check()
            file.write(piece)
        file.close()

    def _second_name(self, path: str, target: UnpackedFile) -> UnpackedFile:
        try:
            os.link(target.path, path, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            # No hard links here, or too many of one file: a copy is as good.
            return self._copy(path, target)
        if self._twin is not None:
            self._twin.add(path, self._fd)
        return replace(target, path=path)

    def _copy(self, path: str, target: UnpackedFile) -> UnpackedFile:
        source = os.open(target.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            is_executable = bool(os.fstat(source).st_mode & 0o100)
            self._spend(target.size_bytes)
            writers = Writers(self._fd, threads=1, twin=self._twin)
            file = writers.begin(NewFile(path, target.size_bytes, is_executable, target.mtime_ns))
            while piece := os.read(source, SMALL_BYTES):
                file.write(piece)
            file.close()
            return writers.finish()[0]
        finally:
            os.close(source)
