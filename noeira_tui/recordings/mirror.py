"""`Mirror`: one recording here and on one service, compared by three digests; push, pull, watch and status use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.recordingfiles import RecordingFiles
from noeira_tui.catalog.synced import SyncedFile, SyncedFiles
from noeira_tui.catalog.wire import FileRow, RecordingAnswer, RowStatus
from noeira_tui.core.errors import ConfigError, SourceChangedError, StateError
from noeira_tui.core.paths import SEGMENT_RULE, is_segment, is_wire_path
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb
from noeira_tui.recordings.compare import FileComparison, FileState, RecordingState, compare
from noeira_tui.recordings.files import CHANGING, Verdicts
from noeira_tui.recordings.large import LargeFiles
from noeira_tui.recordings.obstacles import BAD_NAME
from noeira_tui.recordings.outcome import MirrorConflict
from noeira_tui.recordings.projects import DATASETS, DEFINITION
from noeira_tui.recordings.read import LocalFile, LocalRecording, read_recording
from noeira_tui.recordings.settle import CLOSING, waiting
from noeira_tui.recordings.tables import TableReader
from noeira_tui.recordings.tree import Stamp, Tree, scan
from noeira_tui.transfer.facts import ALONE, FileStamp, TransferContext
from noeira_tui.transfer.hashcache import HashCache
from noeira_tui.transfer.hashing import YOUNG_NS, hash_file

_SMALL_BYTES = 1 << 20
_LOT = 64
_HASHERS = 2


@dataclass(frozen=True)
class Work:
    """What a mirror shares with whoever runs it. `warn` hears once of a state folder that cannot be used."""

    progress: Progress
    cancel: CancelToken
    context: TransferContext = ALONE
    warn: Callable[[StateError], None] | None = None


@dataclass(frozen=True)
class Digest:
    """The digest of a file when it had `stamp`; one of a young file proves nothing about the file later."""

    sha256: str
    stamp: Stamp
    is_old: bool


class Mirror:
    """`<projects_dir>/<project>/datasets/<dataset>` and the same recording on the service of `client`.

    Not for use by two threads at once. Raises ConfigError for names that no project or recording can have.
    """

    def __init__(
        self,
        client: CatalogClient,
        db: StateDb,
        projects_dir: Path,
        project: str,
        dataset: str,
        work: Work | None = None,
    ) -> None:
        for what, name in (("project", project), ("recording", dataset)):
            if not is_segment(name):
                raise ConfigError(f"{name!r} cannot be a {what}'s name.", hint=f"A name is {SEGMENT_RULE}.")
        self.client = client
        self.project = project
        self.dataset = dataset
        self.projects_dir = projects_dir
        self.folder = projects_dir / project / DATASETS / dataset
        self.files = RecordingFiles(client, project, dataset)
        self.work = work or Work(Progress(), CancelToken())
        self.synced = SyncedFiles(db, client.url, project, dataset, self.folder, self.work.warn)
        self.large = LargeFiles(client, self.work.context)
        self._hashes = HashCache(db)
        self._tables = TableReader()
        self._verdicts = Verdicts()
        self._digests: dict[str, Digest] = {}
        self.hashed_bytes = 0

    @property
    def definition(self) -> Path:
        """The file that makes the project's folder a project."""
        return self.projects_dir / self.project / DEFINITION

    def look(self, tree: Tree | None = None) -> LocalRecording:
        """The recording here, its tables read, every file's completeness told."""
        tree = scan(self.folder) if tree is None else tree
        local = read_recording(
            self.folder,
            time.time(),
            verdicts=self._verdicts,
            tables=self._tables,
            tree=tree,
            known=self._known_stamps(),
            is_copy=self.synced.is_copy,
        )
        obstacles = {file.path: why for file in local.files if (why := self._obstacle(file)) is not None}
        if not obstacles:
            return local
        files = tuple(replace(file, obstacle=obstacles.get(file.path)) for file in local.files)
        return replace(local, files=files)

    def _obstacle(self, file: LocalFile) -> str | None:
        if not is_wire_path(file.path):
            return BAD_NAME
        if file.size_bytes <= self.work.context.single_put_limit_bytes:
            return None
        return self.large.obstacle(file.size_bytes)

    def incompleteness(self, path: str, stamp: Stamp) -> str | None:
        """Why one file is not complete now; None when it is. Raises OSError."""
        return self._verdicts.reason(self.folder / path, stamp, time.time())

    def compare(
        self,
        local: LocalRecording,
        answer: RecordingAnswer | None,
        *,
        force_push: bool = False,
        thorough: bool = False,
    ) -> tuple[LocalRecording, RecordingState]:
        """Both sides file by file; what has no known digest is hashed. Also the recording with what changed meanwhile.

        With `force_push` whatever differs is taken for newer here. A video that is still being extended is hashed only
        when `thorough`. Raises CancelledError.
        """
        there = ready_rows(answer)
        digests_there = {path: row.sha256 or "" for path, row in there.items()}
        held = frozenset() if thorough else waiting(local, there.keys()).keys() - CLOSING
        troubled = self._hash(
            file
            for file in local.files
            if file.complete and file.path not in held and (file.obstacle is None or _may_be(file, there))
        )
        if troubled:
            files = tuple(
                replace(file, complete=False, reason=troubled[file.path]) if file.path in troubled else file
                for file in local.files
            )
            local = replace(local, files=files)
        arrived = {
            file.path for file in local.files if file.obstacle is not None and self._is_there(file, digests_there)
        }
        if arrived:
            files = tuple(replace(file, obstacle=None) if file.path in arrived else file for file in local.files)
            local = replace(local, files=files)
        stamps = {file.path: file.stamp for file in local.files}

        def digest_of(path: Path) -> str | None:
            name = str(path)[len(str(self.folder)) + 1 :]
            return self.digest(name, stamps.get(name))

        if force_push:
            return local, compare(local, answer, digest_of, digests_there)
        compared = compare(local, answer, digest_of, self.synced.bases(digests_there))
        if any(file.state is FileState.DIVERGED for file in compared.files):
            # A push beside this watch may have sent what looks like somebody else's.
            self.synced.reload()
            compared = compare(local, answer, digest_of, self.synced.bases(digests_there))
        return local, compared

    def _is_there(self, file: LocalFile, digests_there: Mapping[str, str]) -> bool:
        digest = self.digest(file.path, file.stamp)
        return digest is not None and digest == digests_there.get(file.path)

    def digest(self, path: str, stamp: Stamp | None) -> str | None:
        """The digest of a file with this stamp, as far as it is known."""
        known = self._digests.get(path)
        if known is not None and known.stamp == stamp:
            return known.sha256
        base = self.synced.files.get(path)
        return base.sha256 if base is not None and stamp is not None and _same(base.stamp, stamp) else None

    def equal(self, path: str, sha256: str, stamp: Stamp | None) -> SyncedFile:
        """The note that both sides have these contents; it holds on to the stamp only where that proves something."""
        known = self._digests.get(path)
        if known is not None and known.stamp == stamp and known.sha256 == sha256:
            return SyncedFile(path, sha256, FileStamp(*known.stamp) if known.is_old else None)
        base = self.synced.files.get(path)
        return base if base is not None and base.sha256 == sha256 else SyncedFile(path, sha256)

    def note_equal(self, local: LocalRecording, compared: RecordingState) -> None:
        """Remember the contents that both sides have now."""
        stamps = {file.path: file.stamp for file in local.files}
        self.synced.synced(
            self.equal(file.path, file.sha256, stamps.get(file.path))
            for file in compared.files
            if file.state is FileState.CURRENT and file.sha256 is not None
        )

    def conflicts(self, files: Iterable[FileComparison], answer: RecordingAnswer | None) -> tuple[MirrorConflict, ...]:
        """Files that both sides changed, each with its digests here, in the service's answer, and at the last sync."""
        there, bases = ready_rows(answer), self.synced.files
        return tuple(
            MirrorConflict(
                path=file.path,
                here=file.sha256,
                there=there[file.path].sha256 if file.path in there else None,
                base=bases[file.path].sha256 if file.path in bases else None,
                reason=file.reason or "",
            )
            for file in files
        )

    def is_proven(self, path: str, stamp: Stamp) -> bool:
        """Whether a file is known to have the common contents, by a stamp that proves it."""
        base = self.synced.files.get(path)
        return base is not None and _same(base.stamp, stamp)

    @property
    def young(self) -> bool:
        """Whether the digest of some file proves nothing any more: it was hashed just after it had changed."""
        return any(not digest.is_old for digest in self._digests.values())

    def forget_young(self) -> None:
        """Forget the digests of files that were hashed just after they had changed, so that they are hashed again."""
        self._digests = {path: digest for path, digest in self._digests.items() if digest.is_old}

    def _known_stamps(self) -> Mapping[str, Stamp]:
        known = {path: digest.stamp for path, digest in self._digests.items()}
        for path, base in self.synced.files.items():
            if path not in known and base.stamp is not None:
                stamp = base.stamp
                known[path] = Stamp(stamp.device, stamp.inode, stamp.size_bytes, stamp.mtime_ns, stamp.ctime_ns)
        return known

    def _hash(self, files: Iterable[LocalFile]) -> dict[str, str]:
        """Find the digests that are not known; returns why some could not be had."""
        wanted = [file for file in files if self.digest(file.path, file.stamp) is None and file.stamp is not None]
        if not wanted:
            return {}
        known = self._hashes.lookup_many(self.folder / file.path for file in wanted)
        left = []
        for file in wanted:
            digest = known.get(self.folder / file.path)
            if digest is not None and file.stamp is not None:
                self._digests[file.path] = Digest(digest, file.stamp, True)
            else:
                left.append(file)
        if not left:
            return {}
        self.work.progress.enter("hashing")
        small = [file for file in left if file.size_bytes <= _SMALL_BYTES]
        lots = [[file] for file in left if file.size_bytes > _SMALL_BYTES]
        lots += [small[start : start + _LOT] for start in range(0, len(small), _LOT)]
        troubled: dict[str, str] = {}
        with ThreadPoolExecutor(_HASHERS, thread_name_prefix="hash") as pool:
            for found in pool.map(self._hash_lot, lots):
                troubled |= found
        digests = [self._digests[file.path] for file in left if file.path in self._digests]
        self._hashes.remember_many((FileStamp(*one.stamp), one.sha256) for one in digests if one.is_old)
        return troubled

    def _hash_lot(self, files: Iterable[LocalFile]) -> dict[str, str]:
        troubled: dict[str, str] = {}
        for file in files:
            self.work.cancel.check()
            began_ns = time.time_ns()
            try:
                sha256, stamp = hash_file(self.folder / file.path, cancel=self.work.cancel)
            except SourceChangedError:
                troubled[file.path] = CHANGING
            except FileNotFoundError:
                troubled[file.path] = "it vanished"
            except OSError as err:
                troubled[file.path] = f"cannot be read: {err.strerror or err}"
            else:
                self.hashed_bytes += file.size_bytes
                if file.stamp is None or not _same(stamp, file.stamp):
                    troubled[file.path] = CHANGING
                    continue
                is_old = began_ns - max(stamp.mtime_ns, stamp.ctime_ns) >= YOUNG_NS
                self._digests[file.path] = Digest(sha256, file.stamp, is_old)
        return troubled


def ready_rows(answer: RecordingAnswer | None) -> dict[str, FileRow]:
    """The files that the service holds, by path; paths that break the protocol's rule are left out."""
    if answer is None:
        return {}
    return {row.path: row for row in answer.files if row.is_safe and row.status is RowStatus.READY and row.sha256}


def _same(stamp: FileStamp | None, other: Stamp) -> bool:
    return stamp is not None and (
        stamp.inode,
        stamp.size_bytes,
        stamp.mtime_ns,
        stamp.ctime_ns,
        stamp.device,
    ) == (other.inode, other.size_bytes, other.mtime_ns, other.ctime_ns, other.device)


def _may_be(file: LocalFile, there: Mapping[str, FileRow]) -> bool:
    """Whether the service may hold the very contents of a file, which only its digest can tell."""
    row = there.get(file.path)
    return row is not None and row.size_bytes in {None, file.size_bytes}
