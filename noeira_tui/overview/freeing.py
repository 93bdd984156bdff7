"""Freeing the copies here that the service holds byte for byte: first the proof, then, once agreed to, the removal."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import DestinationError, StorageRefusedError, VerificationError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import API_KEY, Settings
from noeira_tui.core.statedb import StateDb, or_without
from noeira_tui.recordings.tree import Stamp
from noeira_tui.transfer.facts import FileStamp


@dataclass(frozen=True)
class ProvenFile:
    """A catalog dataset's file here when it was proven; it is removed only while `stamp` and `sha256` still hold."""

    dataset_id: str
    path: Path
    stamp: FileStamp
    sha256: str

    @property
    def name(self) -> str:
        return self.dataset_id

    @property
    def size_bytes(self) -> int:
        return self.stamp.size_bytes

    @property
    def files(self) -> int:
        return 1


@dataclass(frozen=True)
class ProvenRecording:
    """A recording's files here when they were proven: each one's path below `path`, what it was like, its sha256."""

    project: str
    dataset: str
    path: Path
    size_bytes: int
    stamps: tuple[tuple[str, Stamp | None], ...]
    digests: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return f"{self.project}/{self.dataset}"

    @property
    def files(self) -> int:
        return len(self.stamps)


_STORED_ASKED = 16
"""Of a recording's files, the store is asked for so many; the service saw each of them arrive."""

Proven = ProvenFile | ProvenRecording


def prove_file(settings: Settings, dataset_id: str, progress: Progress, cancel: CancelToken) -> ProvenFile:
    """Hash a dataset's copy from end to end, hear the same digest from the service, and the same size from its store.

    Raises DestinationError when there is no copy, VerificationError when it differs, StorageRefusedError when the store
    does not hold it, CancelledError, and what asking the service raises.
    """
    from noeira_tui.catalog.memory import CatalogMemory
    from noeira_tui.catalog.remote import RemoteCatalog
    from noeira_tui.transfer.hashing import hash_file

    with RemoteCatalog(settings) as catalog:
        row = catalog.describe(dataset_id)
        path = catalog.local_path(row)
        if path is None or not path.is_file():
            raise DestinationError(f"There is no copy of {dataset_id} here.", title="Nothing to free")
        stamp = FileStamp.of(path.stat())
        progress.expect(size_bytes=stamp.size_bytes)
        progress.enter("comparing")
        digest = hash_file(path, progress=progress, cancel=cancel)[0]
        if digest != row.sha256:
            # Size and time may say that it did not change: every later look has to read it.
            memory = CatalogMemory(StateDb(settings.state_dir), settings.service_url)
            or_without(lambda: memory.doubt(path), None)
            raise VerificationError(
                f"{path} is not what the service has: nothing was removed.",
                expected=row.sha256 or "",
                actual=digest,
                hint="Push it first, or delete it yourself if it is not wanted.",
            )
    proven = ProvenFile(row.id, path, stamp, digest)
    _ask_for_file(settings, proven)
    return proven


def _ask_for_file(settings: Settings, proven: ProvenFile) -> None:
    """Hear from the service that it has this digest now, and from its store that it has as many bytes."""
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.catalog.stored import stored_size

    with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
        got = client.get_dataset(proven.dataset_id)
        if got.row.sha256 != proven.sha256:
            raise _changed_there(proven.name)
        _need_size(proven.name, stored_size(got.download), proven.size_bytes)


def _need_size(name: str, stored: int, size_bytes: int) -> None:
    if stored != size_bytes:
        raise StorageRefusedError(
            f"The store holds {stored:,} bytes of {name}, not {size_bytes:,}: nothing was removed.",
            status=200,
            hint="Push it again, then free it.",
        )


def prove_recording(
    settings: Settings, project: str, dataset: str, progress: Progress, cancel: CancelToken
) -> ProvenRecording:
    """Hash every file of a recording, and hear the same digests from the service.

    Raises DestinationError when there is none, VerificationError when any file differs or is being written,
    CancelledError, and what asking the service raises.
    """
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.recordings.compare import FileState
    from noeira_tui.recordings.mirror import Mirror, Work
    from noeira_tui.transfer.hashing import hash_files

    with CatalogClient(settings.service_url, settings.require(API_KEY), sleep=cancel.sleep) as client:
        work = Work(progress, cancel)
        mirror = Mirror(client, StateDb(settings.state_dir), settings.projects_dir, project, dataset, work)
        local, compared = mirror.compare(mirror.look(), mirror.files.committed(), thorough=True)
    if not local.files:
        raise DestinationError(f"There is no recording in {mirror.folder}.", title="Nothing to free")
    unproven = [file for file in compared.files if file.state not in {FileState.CURRENT, FileState.MISSING}]
    if unproven or local.is_recording:
        what = f"{unproven[0].path} is {unproven[0].state}" if unproven else "it is being recorded"
        raise VerificationError(
            f"{mirror.folder} is not what the service has ({what}): nothing was removed.",
            expected="",
            actual="",
            hint="Push it first, or delete it yourself if it is not wanted.",
        )
    # What the comparison knew from earlier is read all the same.
    progress.expect(size_bytes=local.size_bytes)
    progress.enter("comparing")
    hashed = hash_files([mirror.folder / file.path for file in local.files], progress=progress, cancel=cancel)
    proven = ProvenRecording(
        project,
        dataset,
        mirror.folder,
        local.size_bytes,
        tuple((file.path, file.stamp) for file in local.files),
        tuple((file.path, hashed[mirror.folder / file.path][0]) for file in local.files),
    )
    _ask_for_recording(settings, proven)
    return proven


def _ask_for_recording(settings: Settings, proven: ProvenRecording) -> None:
    """Hear from the service that it has these digests now, and from its store that it has the largest of the files."""
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.catalog.stored import stored_size
    from noeira_tui.recordings.mirror import ready_rows

    with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
        answer = client.get_recording(proven.project, proven.dataset)
    there = ready_rows(answer)
    for path, digest in proven.digests:
        if path not in there or there[path].sha256 != digest:
            raise _changed_there(f"{path} of {proven.name}")
    sizes = {path: stamp.size_bytes for path, stamp in proven.stamps if stamp is not None}
    for path in sorted(sizes, key=lambda path: -sizes[path])[:_STORED_ASKED]:
        download = there[path].download
        if download is not None:
            _need_size(f"{path} of {proven.name}", stored_size(download), sizes[path])


def free(settings: Settings, proven: Proven) -> None:
    """Remove what was proven, after hearing once more that the service holds it: a yes may come hours after the proof.

    Raises DestinationError when it changed meanwhile, here or there, and what asking the service raises: then nothing
    is removed.
    """
    try:
        if isinstance(proven, ProvenFile):
            _ask_for_file(settings, proven)
            _free_file(settings, proven)
        else:
            _ask_for_recording(settings, proven)
            _free_recording(settings, proven)
    except OSError as err:
        raise DestinationError(f"{proven.path} cannot be removed: {err.strerror or err}.") from err


def _free_file(settings: Settings, proven: ProvenFile) -> None:
    from noeira_tui.catalog.memory import CatalogMemory

    if FileStamp.of(proven.path.stat()) != proven.stamp:
        raise _changed(proven.path)
    proven.path.unlink()
    # Freed on purpose, it is not missing.
    memory = CatalogMemory(StateDb(settings.state_dir), settings.service_url)
    or_without(lambda: memory.forget(proven.dataset_id, proven.path), None)


def _free_recording(settings: Settings, proven: ProvenRecording) -> None:
    from noeira_tui.catalog.synced import SyncedFiles
    from noeira_tui.recordings.tree import scan

    if dict(scan(proven.path).files) != dict(proven.stamps):
        raise _changed(proven.path)
    remove_files(proven.path, [path for path, _ in proven.stamps])
    db = StateDb(settings.state_dir)
    SyncedFiles(db, settings.service_url, proven.project, proven.dataset, proven.path, None).forget()


def remove_files(folder: Path, paths: Iterable[str]) -> None:
    """Remove the files that were proven, and the folders that this leaves empty; what else lies there stays."""
    for path in paths:
        (folder / path).unlink()
    for place, _, _ in os.walk(folder, topdown=False):
        if not any(os.scandir(place)) and not Path(place).is_symlink():
            Path(place).rmdir()


def _changed_there(name: str) -> DestinationError:
    return DestinationError(
        f"The service has other contents of {name} by now: nothing was removed.", title="Changed on the service"
    )


def _changed(path: Path) -> DestinationError:
    return DestinationError(f"{path} changed meanwhile: nothing was removed.", title="File changed")
