"""The service's answers as one frozen whole: asked for, remembered without URLs, and read back when it is offline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.memory import CatalogMemory
from noeira_tui.catalog.wire import (
    DatasetRow,
    FileRow,
    ProjectRow,
    RecordingAnswer,
    RecordingRow,
    as_list,
    as_object,
)
from noeira_tui.core.errors import ProtocolError, RefusedError, StateError

_WHAT = "everything"
_THREADS = 4


@dataclass(frozen=True)
class CatalogAnswer:
    """Everything a service said about datasets, projects and recordings.

    `files` has the file lists of the recordings that were asked for, by (project, dataset).
    """

    datasets: tuple[DatasetRow, ...] = ()
    projects: tuple[ProjectRow, ...] = ()
    recordings: Mapping[str, tuple[RecordingRow, ...]] = field(default_factory=dict)
    files: Mapping[tuple[str, str], RecordingAnswer] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON to remember; presigned URLs are left out, they are secrets and expire."""
        return {
            "datasets": [row.to_json() for row in self.datasets],
            "projects": [row.to_json() for row in self.projects],
            "recordings": {slug: [row.to_json() for row in rows] for slug, rows in self.recordings.items()},
            "files": [
                [project, dataset, {"dataset": files.recording.to_json(), "files": [_file(f) for f in files.files]}]
                for (project, dataset), files in self.files.items()
            ],
        }

    @classmethod
    def parse(cls, data: object) -> CatalogAnswer:
        """Read a remembered answer. Raises ProtocolError when it is none."""
        answer = as_object(data, "remembered answer")
        recordings = as_object(answer.get("recordings"), "recordings")
        return cls(
            datasets=tuple(DatasetRow.parse(row) for row in as_list(answer.get("datasets"), "datasets")),
            projects=tuple(ProjectRow.parse(row) for row in as_list(answer.get("projects"), "projects")),
            recordings={
                slug: tuple(RecordingRow.parse(row) for row in as_list(rows, slug)) for slug, rows in recordings.items()
            },
            files={
                (str(project), str(dataset)): RecordingAnswer.parse(files)
                for project, dataset, files in as_list(answer.get("files"), "files")
            },
        )


def _file(row: FileRow) -> dict[str, Any]:
    return {"path": row.path, "sha256": row.sha256, "sizeBytes": row.size_bytes, "status": row.status.value}


def ask(client: CatalogClient, here: Iterable[tuple[str, str]], before: CatalogAnswer | None = None) -> CatalogAnswer:
    """Ask the service for everything: datasets, projects, recordings, and the files of the recordings `here`.

    File lists are taken from `before` where the recording's row has not changed since. Raises ServiceError.
    """
    datasets = client.list_datasets()
    try:
        projects = client.list_projects()
    except RefusedError as err:
        if err.status != 404:
            raise
        projects = ()  # an older service has catalog datasets only
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="ask") as pool:
        slugs = [project.slug for project in projects]
        recordings = dict(zip(slugs, pool.map(client.list_recordings, slugs), strict=True))
        wanted = [
            (project, row.name)
            for project, rows in recordings.items()
            for row in rows
            if (project, row.name) in set(here)
        ]
        files = dict(zip(wanted, pool.map(lambda key: _files(client, recordings, before, *key), wanted), strict=True))
    return CatalogAnswer(
        datasets=datasets,
        projects=projects,
        recordings=recordings,
        files={key: answer for key, answer in files.items() if answer is not None},
    )


def _files(
    client: CatalogClient,
    recordings: Mapping[str, tuple[RecordingRow, ...]],
    before: CatalogAnswer | None,
    project: str,
    dataset: str,
) -> RecordingAnswer | None:
    known = before.files.get((project, dataset)) if before is not None else None
    if known is not None and before is not None:
        row_now = next(row for row in recordings[project] if row.name == dataset)
        row_then = next((row for row in before.recordings.get(project, ()) if row.name == dataset), None)
        complete = row_now.ready_count is not None and row_now.ready_count == row_now.file_count
        if row_now == row_then and row_now.updated_at is not None and complete:
            return known
    # What was sent so far counts, also while no revision names it yet.
    return client.get_recording(project, dataset, "working" if client.has("revisions") else None)


def remember(memory: CatalogMemory, answer: CatalogAnswer) -> None:
    """Keep an answer for when the service is offline. Raises StateError."""
    memory.remember_answer(_WHAT, answer.to_json())


def recall(memory: CatalogMemory) -> tuple[CatalogAnswer, float] | None:
    """The last answer and its time (seconds since the epoch); None when there is none that can be read."""
    kept = memory.answer(_WHAT)
    if kept is None:
        return None
    try:
        return CatalogAnswer.parse(kept[0]), kept[1]
    except (ProtocolError, TypeError, ValueError) as err:
        raise StateError(f"The remembered answer of the service is damaged: {err}.") from err
