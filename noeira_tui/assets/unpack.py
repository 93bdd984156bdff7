"""Unpacking an archive into a fresh folder: every member is checked before anything of it is written.

No link is ever made on disk while members are written, so nothing can be written through one. What an archive gives as
a link inside its own tree becomes a second name of the same file, or a folder of such names; any other link is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from noeira_tui.assets.ahead import ahead
from noeira_tui.assets.archive import ArchiveKind, sniff
from noeira_tui.assets.compression import Compression, decompressed
from noeira_tui.assets.contents import SINGLE_FILE, Unpacked, UnpackedFile
from noeira_tui.assets.links import LinkTree
from noeira_tui.assets.names import Places, member_path, refused
from noeira_tui.assets.tarstream import Feed, Member, MemberKind, TarReader
from noeira_tui.assets.zipstream import zip_members
from noeira_tui.core.errors import ArchiveError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.quantity import show_size

RATIO = 200
SMALLEST_LIMIT_BYTES = 64 << 20
MAX_MEMBERS = 1_000_000
_SMALL_BYTES = 1 << 20
_ASK_ABOUT_SPACE_BYTES = 64 << 20
_OVERHEAD_BYTES = 2 << 30
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack(
    archive: Path,
    tree: Path,
    *,
    cancel: CancelToken,
    room_for: Callable[[int], None] = lambda size_bytes: None,
) -> Unpacked:
    """Unpack into `tree`, a new folder that this makes. What is no archive is linked or copied there as one file.

    `room_for` is asked before bytes are written and raises when they do not fit. Raises ArchiveError for an archive
    that attacks, is cut, damaged or a bomb (more than `RATIO` times its size), OSError for the disk, CancelledError.
    """
    tree.mkdir(mode=0o755)
    with archive.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        layout = sniff(stream)
        limit = max(SMALLEST_LIMIT_BYTES, size * RATIO)
        with _Writer(tree, limit, cancel, room_for) as writer:
            if layout.kind is ArchiveKind.ZIP:
                for member, body in zip_members(stream):
                    writer.add(member, body)
            elif layout.kind is ArchiveKind.TAR:
                stream_of = decompressed(stream, layout.compression)
                if layout.compression is not Compression.NONE:
                    stream_of = ahead(_at_most(stream_of, limit + _OVERHEAD_BYTES))
                with closing(stream_of):  # type: ignore[type-var]  # both are generators
                    _add_all(writer, stream_of)
            else:
                pieces = decompressed(stream, Compression.NONE)
                writer.add(Member(SINGLE_FILE, MemberKind.FILE, size, mtime_ns=0), lambda: map(memoryview, pieces))
            writer.make_links()
    return Unpacked(str(layout), tuple(writer.files.values()), tuple(sorted(writer.folders)))


def _add_all(writer: _Writer, pieces: Iterator[bytes]) -> None:
    reader = TarReader(Feed(pieces))
    for member in reader.members():
        if member.kind is MemberKind.FILE and member.size_bytes <= _SMALL_BYTES:
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


class _Writer:
    """Writes members below one fresh folder, and keeps account of them."""

    def __init__(self, tree: Path, limit: int, cancel: CancelToken, room_for: Callable[[int], None]) -> None:
        self.files: dict[str, UnpackedFile] = {}
        self.folders: set[str] = set()
        self._tree = tree
        self._fd = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._limit = limit
        self._cancel = cancel
        self._room_for = room_for
        self._places = Places()
        self._symlinks: dict[str, str] = {}
        self._spent = 0
        self._asked = 0
        self._members = 0

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def add(self, member: Member, body: Callable[[], Iterable[memoryview | bytes]]) -> None:
        """Check one member and write it. Raises ArchiveError, OSError, CancelledError."""
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
            target = self.files.get(member_path(member.target))
            if target is None:
                raise refused(member.name, f"it links to {member.target!r}, which is no file before it in the archive")
            self._make_folder(path.rpartition("/")[0])
            self._second_name(path, target)
        else:
            self._spend(member.size_bytes)
            self._make_folder(path.rpartition("/")[0])
            self._write(path, member, body())

    def make_links(self) -> None:
        """Give the files that symbolic links lead to their further names. Raises ArchiveError for any other link."""
        tree = LinkTree(frozenset(self.files), frozenset(self.folders), self._symlinks)
        originals = dict(self.files)
        for path in self._symlinks:
            for name, target in tree.names_for(path):
                self._count()
                if target is None:
                    self._make_folder(name)
                else:
                    self._make_folder(name.rpartition("/")[0])
                    self._second_name(name, originals[target])

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
        if self._spent > self._asked:
            # In helpings: asking costs more than a small file does.
            helping = max(size, min(_ASK_ABOUT_SPACE_BYTES, self._limit - self._spent))
            self._room_for(helping)
            self._asked = self._spent - size + helping

    def _make_folder(self, path: str) -> None:
        if not path or path in self.folders:
            return
        self._make_folder(path.rpartition("/")[0])
        os.mkdir(path, 0o755, dir_fd=self._fd)
        self.folders.add(path)

    def _write(self, path: str, member: Member, pieces: Iterable[memoryview | bytes]) -> None:
        # Read-only from the start, and without set-uid bits whatever the archive says.
        fd = os.open(path, _FLAGS, 0o555 if member.is_executable else 0o444, dir_fd=self._fd)
        try:
            digest = hashlib.sha256()
            left = member.size_bytes
            for piece in pieces:
                if len(piece) > left:
                    raise refused(member.name, "it is longer than it says")
                digest.update(piece)
                _write_all(fd, piece)
                left -= len(piece)
                if member.size_bytes > _SMALL_BYTES:
                    self._cancel.check()
            if left:
                raise refused(member.name, "it is shorter than it says")
            os.utime(fd, ns=(member.mtime_ns, member.mtime_ns))
            stat = os.fstat(fd)
        finally:
            os.close(fd)
        self.files[path] = UnpackedFile(path, stat.st_size, stat.st_mtime_ns, stat.st_ino, digest.hexdigest())

    def _second_name(self, path: str, target: UnpackedFile) -> None:
        try:
            os.link(target.path, path, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            # No hard links here, or too many of one file: a copy is as good.
            self._copy(path, target)
            return
        self.files[path] = UnpackedFile(path, target.size_bytes, target.mtime_ns, target.inode, target.sha256)

    def _copy(self, path: str, target: UnpackedFile) -> None:
        source = os.open(target.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            mode = os.fstat(source).st_mode
            self._spend(target.size_bytes)
            member = Member(path, MemberKind.FILE, target.size_bytes, bool(mode & 0o100), target.mtime_ns)
            self._write(path, member, iter(lambda: os.read(source, _SMALL_BYTES), b""))
        finally:
            os.close(source)


def _write_all(fd: int, piece: memoryview | bytes) -> None:
    written = os.write(fd, piece)
    while written < len(piece):
        written += os.write(fd, memoryview(piece)[written:])
