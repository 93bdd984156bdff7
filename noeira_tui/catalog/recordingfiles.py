"""`RecordingFiles`: offering, completing and committing the files of one recording, on any service.

Where a service has no batches the files go one by one; where it keeps no revisions, nothing is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypedDict

from noeira_tui.catalog.client import CatalogClient, FileRegistration, recording_route
from noeira_tui.catalog.retry import comparing_s
from noeira_tui.catalog.wire import (
    MAX_BATCH,
    FileAnswer,
    OfferedFile,
    RecordingAnswer,
    RecordingRow,
    RevisionRow,
    as_list,
    as_object,
)
from noeira_tui.core.errors import ProtocolError, RefusedError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.redact import without_query

_ONE_BY_ONE = 8
_NO_ROUTE = frozenset({404, 405})


class _Contents(TypedDict):
    sha256: str
    size_bytes: int
    base_sha256: str | None


@dataclass(frozen=True)
class NotStored:
    """Files that a revision names and the service does not have."""

    paths: tuple[str, ...]


class RecordingFiles:
    """The files of `project`/`dataset` on the service of `client`; may be shared between threads."""

    def __init__(self, client: CatalogClient, project: str, dataset: str) -> None:
        self.client = client
        self._project = project
        self._dataset = dataset
        self._route = recording_route(project, dataset)
        self._batches: bool | None = None

    @property
    def keeps_revisions(self) -> bool:
        return self.client.has("revisions")

    def working(self) -> RecordingAnswer | None:
        """The files as offered so far; None when the service does not know the recording."""
        return self.client.get_recording(self._project, self._dataset, "working" if self.keeps_revisions else None)

    def committed(self, revision: int | None = None) -> RecordingAnswer | None:
        """What a reader gets: the newest revision, or one of the older ones. None for an unknown recording.

        Raises RefusedError (404) for an unknown revision, or a service that keeps none.
        """
        if revision is None:
            return self.client.get_recording(self._project, self._dataset)
        self._need_revisions()
        answer = self.client.get_recording(self._project, self._dataset, revision)
        if answer is None or answer.revision != revision:
            raise RefusedError(
                f"{self._project}/{self._dataset} has no revision {revision} on {without_query(self.client.url)}.",
                status=404,
                title="No such revision",
                hint=f"`noeira-tui dataset revisions --project {self._project} --dataset {self._dataset}` lists them.",
            )
        return answer

    def row(self) -> RecordingRow | None:
        """The recording's row in the project's list; None when the service does not know it."""
        try:
            rows = self.client.list_recordings(self._project)
        except RefusedError as err:
            if err.status != 404:
                raise
            return None
        return next((row for row in rows if row.name == self._dataset), None)

    def announce(self, *, n_episodes: int | None, n_frames: int | None, fps: float | None) -> None:
        """Make the recording there, or tell its counts."""
        self.client.put_recording(self._project, self._dataset, n_episodes=n_episodes, n_frames=n_frames, fps=fps)

    def offer(self, files: Sequence[OfferedFile]) -> Sequence[FileAnswer]:
        """Say which files are there to be sent, at most 1,000; an answer for each, in the same order."""
        return self._ask("batch", files, self._offer_one)

    def complete(self, files: Sequence[OfferedFile]) -> Sequence[FileAnswer]:
        """Say that the bytes of offered files are there; an answer for each, in the same order."""
        return self._ask("complete-batch", files, self._complete_one)

    def offer_large(self, file: OfferedFile) -> FileRegistration:
        """Say that a file is there to be sent in parts. Raises RefusedError."""
        return self.client.register_file(self._project, self._dataset, file.path, **_contents(file), in_parts=True)

    def fresh_upload(self, file: OfferedFile) -> PresignedUrl | None:
        """A fresh URL for a file that is being sent; None when its contents have arrived by another way."""
        answer = self._offer_one(file)
        if answer.error is not None:
            raise RefusedError(f"{file.path}: {answer.error}", status=400)
        return answer.upload

    def commit(
        self, files: Mapping[str, str], *, n_episodes: int | None, n_frames: int | None
    ) -> RevisionRow | NotStored:
        """Make `files` (path → sha256) what readers get. Files that are not stored are an answer, not an error."""
        body = {"files": dict(files), "n_episodes": n_episodes, "n_frames": n_frames}
        answer = self.client.exchange("POST", f"{self._route}/revisions", body, expected=frozenset({409}))
        if answer.status == 409:
            missing = as_object(answer.data, "revision").get("missing")
            return NotStored(tuple(str(path) for path in missing) if isinstance(missing, list) else ())
        return RevisionRow.parse(answer.data)

    def revisions(self) -> tuple[RevisionRow, ...]:
        """The committed revisions, newest first. Raises RefusedError for a service that keeps none."""
        self._need_revisions()
        answer = self.client.exchange("GET", f"{self._route}/revisions")
        return tuple(RevisionRow.parse(row) for row in as_list(answer.data, "revisions"))

    def restore(self, revision: int) -> RevisionRow:
        """Make an old revision the newest again. Raises RefusedError."""
        self._need_revisions()
        return RevisionRow.parse(self.client.exchange("POST", f"{self._route}/revisions/{revision}/restore").data)

    def _need_revisions(self) -> None:
        if not self.keeps_revisions:
            raise RefusedError(
                f"{without_query(self.client.url)} keeps no revisions.",
                status=404,
                title="No revisions there",
                hint="Only its present files can be pulled.",
            )

    def _ask(
        self, route: str, files: Sequence[OfferedFile], one: Callable[[OfferedFile], FileAnswer]
    ) -> Sequence[FileAnswer]:
        if len(files) > MAX_BATCH:
            raise ValueError(f"at most {MAX_BATCH} files in one call")
        if self._batches is None:
            self._batches = self.client.has("batch")
        if len(files) > 1 and self._batches:
            answers = self._ask_batch(route, files)
            if answers is not None:
                return answers
        if len(files) == 1:
            return [one(files[0])]
        with ThreadPoolExecutor(_ONE_BY_ONE, thread_name_prefix="offer") as pool:
            return list(pool.map(one, files))

    def _ask_batch(self, route: str, files: Sequence[OfferedFile]) -> Sequence[FileAnswer] | None:
        body = {"files": [file.to_json() for file in files]}
        busy_s = comparing_s(sum(file.size_bytes for file in files)) if route == "complete-batch" else 0.0
        answer = self.client.exchange("POST", f"{self._route}/files/{route}", body, expected=_NO_ROUTE, busy_s=busy_s)
        if answer.status in _NO_ROUTE:
            # It said it could and cannot: from now on one by one, which also tells an unknown recording.
            self._batches = False
            return None
        rows = as_list(as_object(answer.data, route).get("files"), "files")
        answers = {parsed.path: parsed for parsed in map(FileAnswer.parse, rows)}
        lacking = [file.path for file in files if file.path not in answers]
        if lacking:
            raise ProtocolError(f"The answer to {route} says nothing about {lacking[0]}.")
        return [answers[file.path] for file in files]

    def _offer_one(self, file: OfferedFile) -> FileAnswer:
        try:
            told = self.client.register_file(self._project, self._dataset, file.path, **_contents(file))
        except RefusedError as err:
            return _refused(file, err)
        return FileAnswer(file.path, told.upload)

    def _complete_one(self, file: OfferedFile) -> FileAnswer:
        try:
            self.client.complete_file(self._project, self._dataset, file.path, **_contents(file))
        except RefusedError as err:
            return _refused(file, err)
        return FileAnswer(file.path)


def _contents(file: OfferedFile) -> _Contents:
    return {"sha256": file.sha256, "size_bytes": file.size_bytes, "base_sha256": file.base_sha256}


def is_refused_to_all(err: RefusedError) -> bool:
    """Whether a refusal would meet every file, not this one only."""
    return err.status in {401, 403, 429} or err.status >= 500


def _refused(file: OfferedFile, err: RefusedError) -> FileAnswer:
    """A refusal of one file is its answer; what would meet every file is raised."""
    if is_refused_to_all(err):
        raise err
    return FileAnswer(file.path, error=err.server_text or err.message)
