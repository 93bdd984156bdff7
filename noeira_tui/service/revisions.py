"""Committed states of a recording: what readers get, while a push changes the working set beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session, joinedload

from noeira_tui.service.contents import Contents, keep
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.tables import Blob, Recording, RecordingFile, Revision, RevisionFile, now

INFO_PATH = "meta/info.json"
_EXPLICIT_HOLDS = timedelta(hours=1)
_MAX_MISSING_SHOWN = 1000


@dataclass(frozen=True)
class Committed:
    """A revision and whether this call made it."""

    revision: Revision
    created: bool


def newest(session: Session, recording: Recording) -> Revision | None:
    """The newest revision of a recording."""
    query = select(Revision).where(Revision.recording_pk == recording.pk).order_by(Revision.number.desc()).limit(1)
    return session.scalar(query)


def numbered(session: Session, recording: Recording, number: int) -> Revision:
    """One revision of a recording; 404 when there is none of that number."""
    row = session.scalar(select(Revision).where(Revision.recording_pk == recording.pk, Revision.number == number))
    if row is None:
        raise RequestRefusedError(404, f"{recording.name} has no revision {number}")
    return row


def files_of(session: Session, revision: Revision) -> list[tuple[str, Blob]]:
    """The files of a revision, by path."""
    query = (
        select(RevisionFile)
        .where(RevisionFile.revision_pk == revision.pk)
        .options(joinedload(RevisionFile.blob))
        .order_by(RevisionFile.path)
    )
    return [(row.path, row.blob) for row in session.scalars(query)]


def commit_named(
    session: Session,
    recording: Recording,
    files: Mapping[str, str],
    stored_elsewhere: Callable[[Collection[str]], Mapping[Contents, Blob]],
    n_episodes: int | None,
    n_frames: int | None,
) -> Committed:
    """Commit exactly the named files (path → sha256); 409 naming those that are not stored.

    Contents may come from the working set, or from anything else that is stored and this key may read:
    `stored_elsewhere` finds those by digest.
    """
    working = {
        (row.path, row.blob.sha256): row.blob
        for row in session.scalars(
            select(RecordingFile)
            .where(RecordingFile.recording_pk == recording.pk, RecordingFile.blob_pk.is_not(None))
            .options(joinedload(RecordingFile.blob))
        )
        if row.blob is not None
    }
    elsewhere = {digest for path, digest in files.items() if (path, digest) not in working}
    stored: dict[str, Blob] = {}
    for some in _in_lots(sorted(elsewhere)):
        stored |= {contents.sha256: blob for contents, blob in stored_elsewhere(some).items()}
    named = {path: working.get((path, digest)) or stored.get(digest) for path, digest in files.items()}
    missing = sorted(path for path, blob in named.items() if blob is None)
    if missing:
        raise RequestRefusedError(
            409, f"{len(missing)} of the named files are not stored", missing=missing[:_MAX_MISSING_SHOWN]
        )
    for blob in stored.values():
        keep(blob)
    blobs = {path: blob.pk for path, blob in named.items() if blob is not None}
    for file, below in _below_files(blobs):
        raise RequestRefusedError(422, f"{file} is a file, so that there can be no {below}: no folder could hold both")
    return _commit(session, recording, blobs, n_episodes, n_frames, explicit=True)


def commit_working_set(session: Session, recording: Recording) -> Committed | None:
    """What completing `meta/info.json` does for clients that commit nothing: commit the files that are ready.

    None when there is nothing new, or when a client's own commit within the last hour says that it knows revisions.
    """
    recent = select(Revision.pk).where(
        Revision.recording_pk == recording.pk,
        Revision.explicit.is_(True),
        Revision.created_at > now() - _EXPLICIT_HOLDS,
    )
    if session.scalar(recent.limit(1)) is not None:
        return None
    ready = (
        select(RecordingFile.path, RecordingFile.blob_pk)
        .where(RecordingFile.recording_pk == recording.pk, RecordingFile.blob_pk.is_not(None))
        .order_by(RecordingFile.updated_at, RecordingFile.pk)
    )
    blobs = {path: blob_pk for path, blob_pk in session.execute(ready) if blob_pk is not None}
    newer = {path: number for number, path in enumerate(blobs)}
    for pair in list(_below_files(blobs)):
        # What was a file and is a folder now, or the other way round: readers get what came last.
        if all(path in blobs for path in pair):
            del blobs[min(pair, key=newer.__getitem__)]
    committed = _commit(session, recording, blobs, recording.n_episodes, recording.n_frames, explicit=False)
    return committed if committed.created else None


def restore(session: Session, recording: Recording, number: int) -> Committed:
    """Make an old revision the newest again; the working set becomes its files, so that a push goes on from there."""
    old = numbered(session, recording, number)
    blobs = {path: blob.pk for path, blob in files_of(session, old)}
    committed = _commit(session, recording, blobs, old.n_episodes, old.n_frames, explicit=False)
    session.execute(delete(RecordingFile).where(RecordingFile.recording_pk == recording.pk))
    if blobs:
        session.execute(
            insert(RecordingFile),
            [
                {"recording_pk": recording.pk, "path": path, "blob_pk": blob_pk, "updated_at": now()}
                for path, blob_pk in blobs.items()
            ],
        )
    recording.n_episodes, recording.n_frames, recording.updated_at = old.n_episodes, old.n_frames, now()
    return committed


def _commit(
    session: Session,
    recording: Recording,
    blobs: Mapping[str, int],
    n_episodes: int | None,
    n_frames: int | None,
    *,
    explicit: bool,
) -> Committed:
    last = newest(session, recording)
    if last is not None and (last.n_episodes, last.n_frames) == (n_episodes, n_frames):
        query = select(RevisionFile.path, RevisionFile.blob_pk).where(RevisionFile.revision_pk == last.pk)
        if {row.path: row.blob_pk for row in session.execute(query)} == blobs:
            # Said by a client now, it counts as that client's own commit.
            last.explicit = last.explicit or explicit
            return Committed(last, created=False)
    row = Revision(
        recording_pk=recording.pk,
        number=(last.number if last is not None else 0) + 1,
        n_episodes=n_episodes,
        n_frames=n_frames,
        fps=recording.fps,
        explicit=explicit,
        created_at=now(),
    )
    session.add(row)
    session.flush()
    if blobs:
        session.execute(
            insert(RevisionFile),
            [{"revision_pk": row.pk, "path": path, "blob_pk": blob_pk} for path, blob_pk in blobs.items()],
        )
    recording.updated_at = now()
    return Committed(row, created=True)


def _below_files(paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a path and another one that has it as a folder."""
    for path in paths:
        end = path.find("/")
        while end >= 0:
            if path[:end] in paths:
                yield path[:end], path
            end = path.find("/", end + 1)


def _in_lots(names: list[str], size: int = 5000) -> list[list[str]]:
    """Databases bound how many values one statement may name."""
    return [names[start : start + size] for start in range(0, len(names), size)]
