"""The members of a zip as they are told, before anything is done with them."""

from __future__ import annotations

import calendar
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from noeira_tui.assets.compression import damaged
from noeira_tui.assets.names import refused
from noeira_tui.assets.tarstream import Member, MemberKind
from noeira_tui.core.errors import ArchiveError

_PIECE_BYTES = 1 << 20
_MAX_LINK_BYTES = 4096
_UNIX = 3
_UTF8 = 0x800
# Anything else either has no bound on the memory it takes, or is not read by the standard library.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2})
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, struct.error, ValueError)

Body = Callable[[], Iterator[bytes]]


def zip_members(stream: BinaryIO) -> Iterator[tuple[Member, Body]]:
    """Every member with a way to its contents. Raises ArchiveError for a cut or damaged archive."""
    stream.seek(0)
    try:
        archive = zipfile.ZipFile(stream)
    except _DAMAGE as err:
        raise damaged(str(err)) from err
    with archive:
        for info in archive.infolist():
            yield _member(archive, info), _body_of(archive, info)


def _body_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Body:
    return lambda: _pieces(archive, info)


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(info) as body:
            yield from iter(lambda: body.read(_PIECE_BYTES), b"")
    except ArchiveError:
        raise
    except _DAMAGE as err:
        raise damaged(f"{info.filename!r}: {err}") from err


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = _name(info)
    if info.flag_bits & 0x41:
        raise refused(name, "it is encrypted")
    if info.compress_type not in _METHODS:
        raise refused(name, f"it is compressed by method {info.compress_type}, which is not read here")
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    kind = _kind(name, mode)
    target = ""
    if kind is MemberKind.SYMLINK:
        if info.file_size > _MAX_LINK_BYTES:
            raise refused(name, "it is a link with a very long target")
        target = b"".join(_pieces(archive, info)).decode("utf-8", "surrogateescape")
    return Member(
        name=name,
        kind=kind,
        size_bytes=info.file_size if kind is MemberKind.FILE else 0,
        is_executable=bool(mode & 0o100),
        mtime_ns=_time_ns(info),
        target=target,
    )


def _name(info: zipfile.ZipInfo) -> str:
    """The name as it is written, not as the library made it presentable.

    The library reads names without the flag for UTF-8 as code page 437, but Unix tools write them as they are on disk
    (Info-ZIP adds the same name as field 0x7075, for those who read the flag only).
    """
    name = info.orig_filename
    if info.flag_bits & _UTF8 or name.isascii() or info.create_system != _UNIX:
        return name
    return name.encode("cp437").decode("utf-8", "surrogateescape")


def _kind(name: str, mode: int) -> MemberKind:
    if name.endswith("/"):
        return MemberKind.FOLDER
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        return MemberKind.SYMLINK
    if kind == stat.S_IFDIR:
        return MemberKind.FOLDER
    if kind not in {0, stat.S_IFREG}:
        raise refused(name, "it is a device, a pipe, or of a kind that packs have no use for")
    return MemberKind.FILE


def _time_ns(info: zipfile.ZipInfo) -> int:
    """The time in a zip has no zone; taken as UTC, it is the same on every box."""
    try:
        return calendar.timegm((*info.date_time, 0, 0, 0)) * 10**9
    except (ValueError, OverflowError):
        return 0
