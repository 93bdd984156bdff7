"""The bodies of requests, checked once at the edge. Unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints

from noeira_tui.catalog.wire import MAX_BATCH, NewDataset
from noeira_tui.service.contents import Contents

_MAX_INT = 2**63 - 1


def _printable(text: str) -> str:
    if any(ord(character) < 32 and character not in "\t\n\r" for character in text) or "\x7f" in text:
        raise ValueError("control characters are not allowed")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise ValueError("lone surrogates are not allowed")
    return text


def _joined(value: object) -> object:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ",".join(value)
    return value


def _number(value: object) -> object:
    # JSON has numbers: `true` and `"5"` are none.
    if isinstance(value, bool | str):
        raise ValueError("a number is expected")
    return value


Text = Annotated[str, StringConstraints(max_length=4096), AfterValidator(_printable)]
Columns = Annotated[str, StringConstraints(max_length=65536), AfterValidator(_printable)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=0, le=_MAX_INT)]


class DatasetBody(BaseModel):
    name: Text
    version: Text
    env_id: Text | None = None
    n_rows: Count | None = None
    n_episodes: Count | None = None
    seed: Annotated[int, BeforeValidator(_number), Field(ge=-_MAX_INT, le=_MAX_INT)] | None = None
    source_commit: Text | None = None
    columns: Annotated[Columns | None, BeforeValidator(_joined)] = None
    filename: Text | None = None

    def facts(self) -> NewDataset:
        return NewDataset(**self.model_dump())


class CompleteBody(BaseModel):
    size_bytes: Count
    sha256: Digest
    object_key: Text | None = None

    @property
    def contents(self) -> Contents:
        return Contents(self.sha256, self.size_bytes)


class ProjectBody(BaseModel):
    description: Text | None = None


class RecordingBody(BaseModel):
    n_episodes: Count | None = None
    n_frames: Count | None = None
    fps: Annotated[float, BeforeValidator(_number), Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None


class FileBody(BaseModel):
    """`in_parts` asks where in the store the file belongs, because one PUT cannot carry it.

    `base_sha256` is what the sender compared with (empty for nothing): other contents are not replaced. Without it,
    whatever is there is.
    """

    path: Text
    sha256: Digest
    size_bytes: Count
    object_key: Text | None = None
    in_parts: bool = False
    base_sha256: Digest | Annotated[str, StringConstraints(max_length=0)] | None = None

    @property
    def contents(self) -> Contents:
        return Contents(self.sha256, self.size_bytes)


class BatchBody(BaseModel):
    files: Annotated[list[FileBody], Field(max_length=MAX_BATCH)]


class RevisionBody(BaseModel):
    files: Annotated[dict[Text, Digest], Field(min_length=1, max_length=200_000)]
    n_episodes: Count | None = None
    n_frames: Count | None = None


class DefinitionBody(FileBody):
    @property
    def base(self) -> str | None:
        """The digest the client's change is based on; None for a file that is new."""
        return self.base_sha256 or None
