"""The shapes of answers, for the OpenAPI document: they describe what the routes build, and build nothing themselves.

Row fields are camelCase and URLs beside them snake_case, as the protocol has it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Time = Annotated[str, Field(description="RFC 3339, UTC", json_schema_extra={"format": "date-time"})]
Url = Annotated[str, Field(description="presigned; send no Authorization with it", json_schema_extra={"format": "uri"})]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="sha256, lower-case hex")]
Status = Literal["pending", "ready"]


class Answer(BaseModel):
    """Fields as they are written here."""

    model_config = ConfigDict(extra="forbid")


class Row(BaseModel):
    """Fields in camelCase, unless an alias says otherwise."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class Error(BaseModel):
    error: str


class About(Answer):
    service: str
    version: str
    extensions: list[str]


class Alive(Answer):
    status: Literal["alive"]


class Ready(Answer):
    status: Literal["ready"]
    database: str
    object_store: str


class Dataset(Row):
    id: str
    name: str
    version: str
    status: Status
    size_bytes: int | None
    sha256: Digest | None
    env_id: str | None
    n_rows: int | None
    n_episodes: int | None
    seed: int | None
    source_commit: str | None
    columns: str | None
    filename: str | None
    created_at: Time
    updated_at: Time


class DatasetWithUrl(Dataset):
    download_url: Url = Field(alias="download_url")
    expires_at: Time = Field(alias="expires_at")


class Registration(Answer):
    id: str
    object_key: str
    bucket: str
    upload_url: Url
    expires_at: Time


class Completed(Answer):
    id: str
    status: Literal["ready"]


class Project(Row):
    slug: str
    description: str | None
    run_count: int
    dataset_count: int


class ProjectPut(Answer):
    slug: str
    description: str | None


class Counts(Row):
    name: str
    n_episodes: int | None
    n_frames: int | None
    fps: float | None


class Recording(Counts):
    file_count: int
    ready_count: int
    size_bytes: int
    updated_at: Time


class File(Row):
    path: str
    sha256: Digest | None
    size_bytes: int | None
    status: Status
    download_url: Url | None = Field(alias="download_url")
    expires_at: Time | None = Field(alias="expires_at")


class Files(Answer):
    dataset: Counts
    revision: int | None
    files: list[File]


class Unchanged(Answer):
    path: str
    unchanged: Literal[True]


class Offered(Answer):
    path: str
    upload_url: Url
    expires_at: Time


class OfferedInParts(Offered):
    """What was asked for with `in_parts`."""

    bucket: str
    object_key: str


class FileRefused(Answer):
    path: str
    error: str


class FileReady(Answer):
    path: str
    status: Literal["ready"]


class OfferedBatch(Answer):
    files: list[Unchanged | Offered | FileRefused]


class CompletedBatch(Answer):
    files: list[FileReady | FileRefused]


class Revision(Row):
    revision: int
    created_at: Time
    n_episodes: int | None
    n_frames: int | None
    fps: float | None
    file_count: int
    size_bytes: int


class Committed(Row):
    revision: int
    created_at: Time


class Definition(Row):
    path: str
    sha256: Digest
    size_bytes: int
    download_url: Url = Field(alias="download_url")
    expires_at: Time = Field(alias="expires_at")


class Definitions(Answer):
    project: str
    description: str | None
    max_file_bytes: int
    files: list[Definition]


class DefinitionReady(Answer):
    path: str
    sha256: Digest


class AuditEvent(Row):
    number: int
    at: Time
    key_id: str | None
    action: str
    subject: str
    paths: list[str]
    size_bytes: int | None


REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Error, "description": "A name or path that breaks the protocol's rules"},
    401: {"model": Error, "description": "Missing or invalid API key"},
    403: {"model": Error, "description": "This API key may not do that, or a bound of the account is reached"},
    404: {"model": Error, "description": "There is none that this API key may see"},
    408: {"model": Error, "description": "The body stopped coming"},
    409: {"model": Error, "description": "Pending, changed by somebody else, or taken; further fields say more"},
    413: {"model": Error, "description": "Larger than allowed"},
    422: {
        "model": Error,
        "description": "The request does not fit, or the stored object is another one",
    },
    429: {"model": Error, "description": "Too many requests: come again after `Retry-After` seconds"},
    503: {"model": Error, "description": "The database or the object store gives no answer: come again"},
}


def answers(model: Any, *others: tuple[int, Any], status: int = 200, words: str = "Done") -> dict[str, Any]:
    """The arguments of a route that describe its answers. FastAPI is kept from building them a second time."""
    told = {status: {"model": model, "description": words}} | {
        code: {"model": one, "description": "Done"} for code, one in others
    }
    return {"response_model": None, "responses": told}
