"""The embedded store seen from its own box: its objects are plain files, which tells and allows what S3 does not."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from datetime import datetime
from io import FileIO
from itertools import islice
from pathlib import Path

from noeira_tui.core.files import fsync_folder
from noeira_tui.service.presign import Signer
from noeira_tui.service.store import OWN_KEY, ObjectStore, StoredObject
from noeira_tui.service.storerefusal import StoreError

STAGED = ".tmp."
"""How the names of files begin that are not whole yet."""

_PIECE_BYTES = 1024**2
_NOTES = ".nanio-meta"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV})
"""What file systems answer that have no hard links, or none for this file."""


class FolderStore(ObjectStore):
    """The embedded store, whose objects are plain files below `folder`: they are looked at without a request each."""

    is_listed = True

    def __init__(
        self,
        endpoint: str,
        bucket: str,
        signer: Signer,
        folder: Path,
        hash_up_to_bytes: int,
        public_endpoint: str | None = None,
    ) -> None:
        super().__init__(endpoint, bucket, signer, public_endpoint, hash_up_to_bytes=hash_up_to_bytes)
        self._folder = folder / bucket
        self.digests_copies = False

    def head(self, key: str) -> StoredObject | None:
        """What is stored under a key: objects appear whole, by a rename, so the file is asked and not its server."""
        try:
            return StoredObject((self._folder / key).stat(follow_symlinks=False).st_size)
        except FileNotFoundError:
            return None
        except OSError as err:
            raise self._unreadable(key, err) from err

    def read_through(self, key: str) -> StoredObject | None:
        try:
            digest, size_bytes = hashlib.sha256(), 0
            with (self._folder / key).open("rb", buffering=0) as stream:
                for piece in self._pieces(stream):
                    digest.update(piece)
                    size_bytes += len(piece)
            return StoredObject(size_bytes, digest.hexdigest())
        except FileNotFoundError:
            return None
        except OSError as err:
            raise self._unreadable(key, err) from err

    def _pieces(self, stream: FileIO) -> Iterator[memoryview]:
        """What a file holds, until its end or ours: reading it may take hours."""
        buffer = memoryview(bytearray(_PIECE_BYTES))
        while length := stream.readinto(buffer):
            if self._closing:
                raise StoreError("The service is being stopped.")
            yield buffer[:length]

    def _unreadable(self, key: str, err: OSError) -> StoreError:
        return StoreError(f"{self._folder / key} cannot be read: {err.strerror or err}.")

    def delete(self, key: str) -> None:
        """Remove an object and the server's note of it; thousands of them without a request each."""
        try:
            (self._folder / key).unlink(missing_ok=True)
            (self._folder / _NOTES / f"{key}.json").unlink(missing_ok=True)
        except OSError as err:
            raise StoreError(f"{self._folder / key} cannot be removed: {err.strerror or err}.") from err

    def settle(self, key: str, target: str, size_bytes: int) -> bool:
        """A second name for the stored file: an upload that comes later replaces the first name only."""
        try:
            os.link(self._folder / key, self._folder / target, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as err:
            if err.errno not in _NO_LINKS:
                raise self._unreadable(key, err) from err
            self._copy(key, target)
        return True

    def _copy(self, key: str, target: str) -> None:
        """What `settle` does on a file system without hard links. The target appears whole, or not at all."""
        staged = self._folder / f"{STAGED}{target}"
        try:
            with (self._folder / key).open("rb", buffering=0) as source, staged.open("wb") as copy:
                for piece in self._pieces(source):
                    copy.write(piece)
                copy.flush()
                os.fsync(copy.fileno())
            staged.replace(self._folder / target)
        except OSError as err:
            staged.unlink(missing_ok=True)
            raise StoreError(f"{self._folder / key} cannot be copied: {err.strerror or err}.") from err
        except StoreError:
            staged.unlink(missing_ok=True)
            raise

    def flush(self) -> None:
        try:
            fsync_folder(self._folder)
        except OSError as err:
            raise StoreError(f"{self._folder} cannot be written: {err.strerror or err}.") from err

    def keys_older_than(self, moment: datetime, lot: int) -> Iterator[list[str]]:
        with os.scandir(self._folder) as entries:
            old = (entry.name for entry in entries if OWN_KEY.fullmatch(entry.name) and _is_older(entry, moment))
            while keys := list(islice(old, lot)):
                yield keys


def _is_older(entry: os.DirEntry[str], moment: datetime) -> bool:
    try:
        return entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_ctime < moment.timestamp()
    except FileNotFoundError:
        # Removed since the folder was read.
        return False
