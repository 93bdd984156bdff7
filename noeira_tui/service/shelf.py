"""How the embedded store writes an object: its bytes, its rename and its note in a thread, never beside other requests.

nanio waits for the disk (`fsync`) where it answers requests, so that one upload holds up all of them, and takes a write
that the disk cut short for a whole one. What is written here is the same: `<bucket>/<key>` by a rename, and
`.nanio-meta/<key>.json` where there is more to tell of it than its bytes.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import json
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from nanio.errors import BadDigest, S3Error
from nanio.etag import StreamingMd5
from nanio.keys import validate_object_key
from nanio.storage.backend import ObjectInfo
from nanio.storage.filesystem import FilesystemStorage
from nanio.storage.metadata import _to_dict as told_of
from nanio.storage.paths import assert_inside_data_dir, metadata_path, object_path

from noeira_tui.service.folderstore import STAGED

_PIECE_BYTES = 1024**2
_PLAIN = "application/octet-stream"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_ETAG = '""'


class NoRoomError(S3Error):  # type: ignore[misc]  # nanio has no types
    """The disk of the store is full: said as MinIO says it."""

    code = "StorageFull"
    message = "The object store has no room for this object."
    http_status = 507


class Shelf(FilesystemStorage):  # type: ignore[misc]  # nanio has no types
    """nanio's storage with uploads that do not hold each other up."""

    async def put_object(
        self,
        bucket: str,
        key: str,
        body: AsyncIterator[bytes],
        *,
        content_type: str = _PLAIN,
        user_metadata: Mapping[str, str] | None = None,
        content_encoding: str | None = None,
        content_disposition: str | None = None,
        cache_control: str | None = None,
        expected_md5: str | None = None,
    ) -> ObjectInfo:
        """Store an object; it appears whole and durable, or not at all. Raises S3 errors (NoRoomError too), OSError."""
        self._require_bucket_dir(bucket)
        validate_object_key(key)
        final = object_path(self._data_dir, bucket, key)
        wanted = _digest_of(expected_md5)
        staged = _Staged(self._data_dir, final)
        try:
            pieces: list[bytes] = []
            held = 0
            async for piece in body:
                pieces.append(piece)
                held += len(piece)
                if held >= _PIECE_BYTES:
                    await asyncio.to_thread(staged.write, pieces)
                    pieces, held = [], 0
            await asyncio.to_thread(staged.finish, pieces, wanted)
            info = ObjectInfo(
                key=key,
                size=staged.hasher.size,
                etag=staged.hasher.quoted_etag(),
                last_modified=datetime.now(UTC),
                content_type=content_type,
                user_metadata=dict(user_metadata or {}),
                content_encoding=content_encoding,
                content_disposition=content_disposition,
                cache_control=cache_control,
            )
            note = metadata_path(self._data_dir, bucket, key)
            await asyncio.to_thread(staged.publish, note, info if _says_more(info) else None)
        except BaseException as err:
            staged.discard()
            if isinstance(err, OSError) and err.errno in _NO_ROOM:
                raise NoRoomError from err
            raise
        return info

    def _read_or_synthesize_metadata(self, bucket: str, key: str, opath: Path) -> ObjectInfo:
        info = super()._read_or_synthesize_metadata(bucket, key, opath)
        if info.etag != _NO_ETAG:
            return info
        # All objects without a note would have the same one, and whoever compares ETags would take them for one object.
        stat = opath.stat(follow_symlinks=False)
        return replace(info, etag=f'"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"')


def _says_more(info: ObjectInfo) -> bool:
    """Whether a note would tell more than the file does. A plain presigned PUT brings nothing of the kind."""
    told = (info.user_metadata, info.content_encoding, info.content_disposition, info.cache_control)
    return info.content_type != _PLAIN or any(told)


class _Staged:
    """A file beside the place it is meant for."""

    def __init__(self, data_dir: Path, final: Path) -> None:
        self._data_dir = data_dir
        self._final = final
        self._path = final.parent / f"{STAGED}{secrets.token_hex(16)}"
        self._fd: int | None = None
        self.hasher = StreamingMd5()

    def write(self, pieces: list[bytes]) -> None:
        fd = self._open()
        for piece in pieces:
            self.hasher.update(piece)
            rest = memoryview(piece)
            while rest:
                # A disk that gets full takes a part first.
                rest = rest[os.write(fd, rest) :]

    def finish(self, pieces: list[bytes], wanted_md5: str | None) -> None:
        """The last pieces, made durable. Raises BadDigest when the client said another digest."""
        self.write(pieces)
        if wanted_md5 is not None and wanted_md5 != self.hasher.hexdigest():
            raise BadDigest()
        fd = self._open()
        os.fsync(fd)
        self._fd = None
        os.close(fd)

    def publish(self, note: Path, info: ObjectInfo | None) -> None:
        """Rename the file to its place; its note is written where there is something to note."""
        self._path.replace(self._final)
        if info is None:
            note.unlink(missing_ok=True)
            return
        note.parent.mkdir(parents=True, exist_ok=True)
        beside = note.parent / f"{STAGED}{secrets.token_hex(16)}"
        # Not made durable: without its note an object is served all the same.
        beside.write_text(json.dumps(told_of(info), separators=(",", ":")), "utf-8")
        beside.replace(note)

    def discard(self) -> None:
        """What the client did not send to the end, or the disk did not take."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._path.unlink(missing_ok=True)

    def _open(self) -> int:
        if self._fd is None:
            if self._final.parent.exists():
                assert_inside_data_dir(self._data_dir, self._final.parent)
            self._final.parent.mkdir(parents=True, exist_ok=True)
            assert_inside_data_dir(self._data_dir, self._final.parent)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        return self._fd


def _digest_of(header: str | None) -> str | None:
    """A `Content-MD5` header as hex. Raises BadDigest for one that is none."""
    if header is None:
        return None
    try:
        digest = base64.b64decode(header, validate=True)
    except (binascii.Error, ValueError) as err:
        raise BadDigest("Content-MD5 header is not valid base64") from err
    if len(digest) != 16:
        raise BadDigest("Content-MD5 must be 16 bytes")
    return digest.hex()
