"""The catalog protocol's messages about projects and the recordings in them: rows, files, revisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noeira_tui.catalog.wirejson import (
    RowStatus,
    as_list,
    as_object,
    optional_int,
    optional_number,
    optional_text,
    parse_presigned,
    text,
)
from noeira_tui.core.errors import ProtocolError
from noeira_tui.core.paths import is_wire_path
from noeira_tui.core.presigned import PresignedUrl


@dataclass(frozen=True)
class ProjectRow:
    """One project on the service."""

    slug: str
    description: str | None = None
    run_count: int | None = None
    dataset_count: int | None = None

    @classmethod
    def parse(cls, data: object) -> ProjectRow:
        row = as_object(data, "project row")
        return cls(
            text(row, "slug"),
            optional_text(row, "description"),
            optional_int(row, "runCount"),
            optional_int(row, "datasetCount"),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "slug": self.slug,
            "description": self.description,
            "runCount": self.run_count or 0,
            "datasetCount": self.dataset_count or 0,
        }


@dataclass(frozen=True)
class RecordingRow:
    """One recording of a project on the service. `file_count` counts registered files, `ready_count` completed ones."""

    name: str
    n_episodes: int | None = None
    n_frames: int | None = None
    fps: float | None = None
    file_count: int | None = None
    ready_count: int | None = None
    size_bytes: int | None = None
    updated_at: str | None = None

    @classmethod
    def parse(cls, data: object) -> RecordingRow:
        row = as_object(data, "recording row")
        return cls(
            name=text(row, "name"),
            n_episodes=optional_int(row, "nEpisodes"),
            n_frames=optional_int(row, "nFrames"),
            fps=optional_number(row, "fps"),
            file_count=optional_int(row, "fileCount"),
            ready_count=optional_int(row, "readyCount"),
            size_bytes=optional_int(row, "sizeBytes"),
            updated_at=optional_text(row, "updatedAt"),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "nEpisodes": self.n_episodes,
            "nFrames": self.n_frames,
            "fps": self.fps,
            "fileCount": self.file_count,
            "readyCount": self.ready_count,
            "sizeBytes": self.size_bytes,
            "updatedAt": self.updated_at,
        }


@dataclass(frozen=True)
class FileRow:
    """One file of a recording on the service; digest and URL are None while it is pending."""

    path: str
    status: RowStatus
    sha256: str | None = None
    size_bytes: int | None = None
    download: PresignedUrl | None = None

    @classmethod
    def parse(cls, data: object) -> FileRow:
        """Read a file row. A path that breaks the protocol's rule is kept as it is: callers refuse it by name."""
        row = as_object(data, "file row")
        ready = optional_text(row, "status") == RowStatus.READY
        digest = optional_text(row, "sha256")
        return cls(
            path=text(row, "path"),
            status=RowStatus.READY if ready else RowStatus.PENDING,
            sha256=digest.lower() if digest else None,
            size_bytes=optional_int(row, "sizeBytes"),
            download=parse_presigned(row, "download_url") if row.get("download_url") else None,
        )

    @property
    def is_safe(self) -> bool:
        """Whether its path obeys the protocol and may be written below a folder of ours."""
        return is_wire_path(self.path)


@dataclass(frozen=True)
class RecordingAnswer:
    """`GET …/files`: a recording's counts and its files. `revision` is None for files that no revision holds."""

    recording: RecordingRow
    files: tuple[FileRow, ...]
    revision: int | None = None

    @classmethod
    def parse(cls, data: object) -> RecordingAnswer:
        answer = as_object(data, "recording")
        return cls(
            RecordingRow.parse(answer.get("dataset")),
            tuple(FileRow.parse(row) for row in as_list(answer.get("files"), "files")),
            optional_int(answer, "revision"),
        )


@dataclass(frozen=True)
class OfferedFile:
    """A file of a recording as a sender announces and completes it: `path`, lower-case hex sha256, size.

    `base_sha256` is what the service had when the sender compared ("" for nothing): a service that knows the field
    refuses to replace anything else. None to replace whatever is there.
    """

    path: str
    sha256: str
    size_bytes: int
    base_sha256: str | None = None

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"path": self.path, "sha256": self.sha256, "size_bytes": self.size_bytes}
        return body if self.base_sha256 is None else body | {"base_sha256": self.base_sha256}


@dataclass(frozen=True)
class FileAnswer:
    """What a service says of one offered or completed file: where to put it, why not, or with neither: it is there."""

    path: str
    upload: PresignedUrl | None = None
    error: str | None = None

    @classmethod
    def parse(cls, data: object) -> FileAnswer:
        answer = as_object(data, "file answer")
        error = optional_text(answer, "error")
        offered = error is None and bool(answer.get("upload_url"))
        return cls(text(answer, "path"), parse_presigned(answer, "upload_url") if offered else None, error)


@dataclass(frozen=True)
class RevisionRow:
    """One committed state of a recording; the counts are None on a service that does not tell them."""

    revision: int
    created_at: str | None = None
    n_episodes: int | None = None
    n_frames: int | None = None
    file_count: int | None = None
    size_bytes: int | None = None

    @classmethod
    def parse(cls, data: object) -> RevisionRow:
        row = as_object(data, "revision")
        number = optional_int(row, "revision")
        if number is None:
            raise ProtocolError("The answer has no 'revision' number.")
        return cls(
            revision=number,
            created_at=optional_text(row, "createdAt"),
            n_episodes=optional_int(row, "nEpisodes"),
            n_frames=optional_int(row, "nFrames"),
            file_count=optional_int(row, "fileCount"),
            size_bytes=optional_int(row, "sizeBytes"),
        )
