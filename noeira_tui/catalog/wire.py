"""The catalog protocol's messages, as frozen facts: parsed once at the edge, written once at the edge.

Requests use snake_case; rows in answers use camelCase and URLs beside them snake_case. This module has what is said of
the service and of catalog datasets, and is where everything of the protocol is imported from; `wirerecordings` has
projects and recordings, `wirejson` reads the JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noeira_tui.catalog.wirejson import Json as Json
from noeira_tui.catalog.wirejson import RowStatus as RowStatus
from noeira_tui.catalog.wirejson import as_list as as_list
from noeira_tui.catalog.wirejson import as_object as as_object
from noeira_tui.catalog.wirejson import format_time as format_time
from noeira_tui.catalog.wirejson import optional_int, optional_text, text
from noeira_tui.catalog.wirejson import parse_presigned as parse_presigned
from noeira_tui.catalog.wirejson import parse_time as parse_time
from noeira_tui.catalog.wirerecordings import FileAnswer as FileAnswer
from noeira_tui.catalog.wirerecordings import FileRow as FileRow
from noeira_tui.catalog.wirerecordings import OfferedFile as OfferedFile
from noeira_tui.catalog.wirerecordings import ProjectRow as ProjectRow
from noeira_tui.catalog.wirerecordings import RecordingAnswer as RecordingAnswer
from noeira_tui.catalog.wirerecordings import RecordingRow as RecordingRow
from noeira_tui.catalog.wirerecordings import RevisionRow as RevisionRow
from noeira_tui.core.errors import ProtocolError
from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES as MAX_SINGLE_PUT_BYTES
from noeira_tui.core.presigned import PresignedUrl

MAX_BATCH = 1000
"""Files in one `batch` call."""

EXTENSIONS = ("revisions", "batch", "pages", "filename", "multipart-key")


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
        status = text(row, "status")
        if status not in set(RowStatus):
            raise ProtocolError(f"Dataset {row.get('id')!r} has the unknown status {status!r}.")
        digest = optional_text(row, "sha256")
        return cls(
            id=text(row, "id"),
            name=text(row, "name"),
            version=text(row, "version"),
            status=RowStatus(status),
            size_bytes=optional_int(row, "sizeBytes"),
            sha256=digest.lower() if digest else None,
            env_id=optional_text(row, "envId"),
            n_rows=optional_int(row, "nRows"),
            n_episodes=optional_int(row, "nEpisodes"),
            seed=optional_int(row, "seed"),
            source_commit=optional_text(row, "sourceCommit"),
            columns=_columns_text(row.get("columns")),
            filename=optional_text(row, "filename"),
            created_at=optional_text(row, "createdAt"),
            updated_at=optional_text(row, "updatedAt"),
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
            text(answer, "id"),
            optional_text(answer, "object_key") or "",
            parse_presigned(answer, "upload_url"),
            optional_text(answer, "bucket"),
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
            optional_text(answer, "service"),
            optional_text(answer, "version"),
            frozenset(str(name) for name in extensions) if isinstance(extensions, list) else frozenset(),
        )
