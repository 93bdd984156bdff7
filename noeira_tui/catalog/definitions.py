"""The routes of a project's definition files: small files, changed by compare-and-swap on their digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.wire import FileRow, RowStatus, as_list, as_object, parse_presigned
from noeira_tui.core.errors import RefusedError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.redact import without_query

DEFAULT_MAX_FILE_BYTES = 16 << 20
"""The bound for one file where the service names none: what is larger is no definition of anything."""

_NO_ROUTE = frozenset({404, 405})


@dataclass(frozen=True)
class DefinitionList:
    """`GET /projects/:slug/files`: the files the service has, and the size it takes at most.

    Paths are as the service wrote them: whoever writes them to a disk checks them first.
    """

    description: str | None
    max_file_bytes: int
    files: tuple[FileRow, ...]

    @classmethod
    def parse(cls, data: object) -> DefinitionList:
        """Read the answer. A definition file has no status on the wire: it is listed once it is complete."""
        answer = as_object(data, "definition files")
        description, cap = answer.get("description"), answer.get("max_file_bytes")
        rows = as_list(answer.get("files"), "files")
        return cls(
            description if isinstance(description, str) else None,
            cap if isinstance(cap, int) and not isinstance(cap, bool) and cap > 0 else DEFAULT_MAX_FILE_BYTES,
            tuple(FileRow.parse({**as_object(row, "file row"), "status": RowStatus.READY}) for row in rows),
        )


@dataclass(frozen=True)
class DefinitionOffer:
    """New contents for a path; `base_sha256` is what they replace, None for a path the service does not have."""

    path: str
    sha256: str
    size_bytes: int
    base_sha256: str | None

    def to_json(self) -> dict[str, Any]:
        """The request's body."""
        return {
            "path": self.path,
            "sha256": self.sha256,
            "size_bytes": self.size_bytes,
            "base_sha256": self.base_sha256,
        }


@dataclass(frozen=True)
class Conflict:
    """The service has other contents than the offer's base: somebody changed the file. None: it is gone there."""

    current_sha256: str | None


class DefinitionFiles:
    """The definition files of one project on a service.

    Every method raises what `CatalogClient` raises, and RefusedError with an explanation where the service has no such
    routes.
    """

    def __init__(self, client: CatalogClient, project: str) -> None:
        self._client = client
        self._project = project
        self._address = f"/projects/{quote(project, safe='')}/files"

    def list(self) -> DefinitionList | None:
        """The files on the service; None when it does not know the project."""
        answer = self._client.exchange("GET", self._address, expected=_NO_ROUTE)
        if answer.status not in _NO_ROUTE:
            return DefinitionList.parse(answer.data)
        if answer.status == 404 and not self._is_known():
            return None
        raise self._no_routes(f"GET {self._address}", answer.status)

    def offer(self, offer: DefinitionOffer) -> PresignedUrl | Conflict | None:
        """Offer new contents: where to put them, or the conflict, or None when the service has them already."""
        address = f"{self._address}/presign"
        answer = self._client.exchange("POST", address, offer.to_json(), expected=_NO_ROUTE | {409})
        if answer.status == 409:
            return _conflict(answer.data)
        if answer.status in _NO_ROUTE:
            raise self._no_routes(f"POST {address}", answer.status)
        facts = as_object(answer.data, "offer of a definition file")
        return None if facts.get("unchanged") is True else parse_presigned(facts, "upload_url")

    def complete(self, offer: DefinitionOffer) -> Conflict | None:
        """Say that the bytes are there; the conflict when the file was changed since it was offered."""
        answer = self._client.exchange("POST", f"{self._address}/complete", offer.to_json(), expected=frozenset({409}))
        return _conflict(answer.data) if answer.status == 409 else None

    def _is_known(self) -> bool:
        return any(row.slug == self._project for row in self._client.list_projects())

    def _no_routes(self, call: str, status: int) -> RefusedError:
        return RefusedError(
            f"{without_query(self._client.url)} does not keep the definition files of projects ({call}: {status}).",
            status=status,
            title="No definition files there",
            hint="An older service has no such routes. Recordings can still be pushed and pulled.",
        )


def _conflict(data: object) -> Conflict:
    current = data.get("current_sha256") if isinstance(data, dict) else None
    return Conflict(current.lower() if isinstance(current, str) and current else None)
