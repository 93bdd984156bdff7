"""The catalog protocol's messages, as frozen facts: parsed once at the edge, written once at the edge.

Requests use snake_case; rows in answers use camelCase and URLs beside them snake_case. Readers ignore unknown fields
and treat an absent or null optional as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from noeira_tui.core.errors import ProtocolError
from noeira_tui.core.paths import is_wire_path
from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES as MAX_SINGLE_PUT_BYTES
from noeira_tui.core.presigned import PresignedUrl

Json = Mapping[str, Any]
"""A parsed JSON object; it does not travel past the functions of this module."""

MAX_BATCH = 1000
"""Files in one `batch` call."""

EXTENSIONS = ("revisions", "batch", "pages", "filename", "multipart-key")


class RowStatus(StrEnum):
    PENDING = "pending"
    READY = "ready"


def _text(data: Json, key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise ProtocolError(f"The answer has no {key!r} text.")
    return value


def _optional_text(data: Json, key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _optional_int(data: Json, key: str) -> int | None:
    value = data.get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def _optional_number(data: Json, key: str) -> float | None:
    value = data.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_object(data: object, what: str) -> Json:
    """`data` as a JSON object. Raises ProtocolError naming `what` was expected."""
    if not isinstance(data, dict):
        raise ProtocolError(f"{what}: expected a JSON object, got {type(data).__name__}.")
    return data


def as_list(data: object, what: str) -> list[Any]:
    """`data` as a JSON array. Raises ProtocolError naming `what` was expected."""
    if not isinstance(data, list):
        raise ProtocolError(f"{what}: expected a JSON array, got {type(data).__name__}.")
    return data


def parse_time(text: str | None) -> datetime | None:
    """An RFC 3339 time as an aware datetime; None for an absent or unreadable one."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def format_time(moment: datetime) -> str:
    """A time as the wire has it: RFC 3339, UTC, with a `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class DatasetRow:
    """One catalog dataset. `size_bytes` and `sha256` are None while it is pending; `seed` and `source_commit` are the
    recipe it can be regenerated from."""

    id: str
    name: str
    version: str
    status: RowStatus
    size_bytes: int | None = None
    sha256: str | None = None
    env_id: str | None = None
    n_rows: int | None = None
    n_episodes: int | None = None
    seed: int | None = None
    source_commit: str | None = None
    columns: str | None = None
    filename: str | None = None
    created_at: str | None = None
    updated_at: str | None = None

    @classmethod
    def parse(cls, data: object) -> DatasetRow:
        """Read a row. Raises ProtocolError when it is not one."""
        row = as_object(data, "dataset row")
        status = _text(row, "status")
        if status not in set(RowStatus):
            raise ProtocolError(f"Dataset {row.get('id')!r} has the unknown status {status!r}.")
        digest = _optional_text(row, "sha256")
        return cls(
            id=_text(row, "id"),
            name=_text(row, "name"),
            version=_text(row, "version"),
            status=RowStatus(status),
            size_bytes=_optional_int(row, "sizeBytes"),
            sha256=digest.lower() if digest else None,
            env_id=_optional_text(row, "envId"),
            n_rows=_optional_int(row, "nRows"),
            n_episodes=_optional_int(row, "nEpisodes"),
            seed=_optional_int(row, "seed"),
            source_commit=_optional_text(row, "sourceCommit"),
            columns=_columns_text(row.get("columns")),
            filename=_optional_text(row, "filename"),
            created_at=_optional_text(row, "createdAt"),
            updated_at=_optional_text(row, "updatedAt"),
        )

    def to_json(self) -> dict[str, Any]:
        """The row as an answer has it; absent facts are null."""
        return {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "status": self.status.value,
            "sizeBytes": self.size_bytes,
            "sha256": self.sha256,
            "envId": self.env_id,
            "nRows": self.n_rows,
            "nEpisodes": self.n_episodes,
            "seed": self.seed,
            "sourceCommit": self.source_commit,
            "columns": self.columns,
            "filename": self.filename,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }


def _columns_text(value: object) -> str | None:
    if isinstance(value, list):
        return ",".join(str(column) for column in value)
    return value if isinstance(value, str) else None


def parse_presigned(data: object, key: str) -> PresignedUrl:
    """Read the URL under `key` and the expiry beside it. Raises ProtocolError when it is not an http(s) URL."""
    answer = as_object(data, key)
    url = _text(answer, key)
    if not url.startswith(("http://", "https://")):
        raise ProtocolError(f"{key!r} in the answer is no http(s) URL.")
    return PresignedUrl(url, parse_time(_optional_text(answer, "expires_at")))


@dataclass(frozen=True)
class DatasetAnswer:
    """`GET /datasets/:id`: the row and where its bytes are."""

    row: DatasetRow
    download: PresignedUrl

    @classmethod
    def parse(cls, data: object) -> DatasetAnswer:
        return cls(DatasetRow.parse(data), parse_presigned(data, "download_url"))


@dataclass(frozen=True)
class NewDataset:
    """`POST /datasets`: what a pusher says about a dataset before its bytes."""

    name: str
    version: str
    env_id: str | None = None
    n_rows: int | None = None
    n_episodes: int | None = None
    seed: int | None = None
    source_commit: str | None = None
    columns: str | None = None
    filename: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The request's body; absent facts are left out, as an older service may refuse a null."""
        body = {
            "name": self.name,
            "version": self.version,
            "env_id": self.env_id,
            "n_rows": self.n_rows,
            "n_episodes": self.n_episodes,
            "seed": self.seed,
            "source_commit": self.source_commit,
            "columns": self.columns,
            "filename": self.filename,
        }
        return {key: value for key, value in body.items() if value is not None}


@dataclass(frozen=True)
class Registration:
    """The answer to `POST /datasets`. `bucket` is there with the `multipart-key` extension."""

    id: str
    object_key: str
    upload: PresignedUrl
    bucket: str | None = None

    @classmethod
    def parse(cls, data: object) -> Registration:
        answer = as_object(data, "registration")
        return cls(
            _text(answer, "id"),
            _optional_text(answer, "object_key") or "",
            parse_presigned(answer, "upload_url"),
            _optional_text(answer, "bucket"),
        )


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
            _text(row, "slug"),
            _optional_text(row, "description"),
            _optional_int(row, "runCount"),
            _optional_int(row, "datasetCount"),
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
            name=_text(row, "name"),
            n_episodes=_optional_int(row, "nEpisodes"),
            n_frames=_optional_int(row, "nFrames"),
            fps=_optional_number(row, "fps"),
            file_count=_optional_int(row, "fileCount"),
            ready_count=_optional_int(row, "readyCount"),
            size_bytes=_optional_int(row, "sizeBytes"),
            updated_at=_optional_text(row, "updatedAt"),
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
        ready = _optional_text(row, "status") == RowStatus.READY
        digest = _optional_text(row, "sha256")
        return cls(
            path=_text(row, "path"),
            status=RowStatus.READY if ready else RowStatus.PENDING,
            sha256=digest.lower() if digest else None,
            size_bytes=_optional_int(row, "sizeBytes"),
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
            _optional_int(answer, "revision"),
        )


@dataclass(frozen=True)
class OfferedFile:
    """A file of a recording as a sender announces and completes it: `path`, lower-case hex sha256, size."""

    path: str
    sha256: str
    size_bytes: int

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "sha256": self.sha256, "size_bytes": self.size_bytes}


@dataclass(frozen=True)
class FileAnswer:
    """What a service says of one offered or completed file: where to put it, why not, or with neither: it is there."""

    path: str
    upload: PresignedUrl | None = None
    error: str | None = None

    @classmethod
    def parse(cls, data: object) -> FileAnswer:
        answer = as_object(data, "file answer")
        error = _optional_text(answer, "error")
        offered = error is None and bool(answer.get("upload_url"))
        return cls(_text(answer, "path"), parse_presigned(answer, "upload_url") if offered else None, error)


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
        number = _optional_int(row, "revision")
        if number is None:
            raise ProtocolError("The answer has no 'revision' number.")
        return cls(
            revision=number,
            created_at=_optional_text(row, "createdAt"),
            n_episodes=_optional_int(row, "nEpisodes"),
            n_frames=_optional_int(row, "nFrames"),
            file_count=_optional_int(row, "fileCount"),
            size_bytes=_optional_int(row, "sizeBytes"),
        )


@dataclass(frozen=True)
class ServiceFacts:
    """`GET /`: what the service calls itself and which extensions it has; nothing for a service without the route."""

    service: str | None = None
    version: str | None = None
    extensions: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, data: object) -> ServiceFacts:
        answer = as_object(data, "service")
        extensions = answer.get("extensions")
        return cls(
            _optional_text(answer, "service"),
            _optional_text(answer, "version"),
            frozenset(str(name) for name in extensions) if isinstance(extensions, list) else frozenset(),
        )
