"""Two boxes that share a project: two folders, one service."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noeira_tui.catalog.client import Answer, CatalogClient
from noeira_tui.core.progress import CancelToken
from noeira_tui.recordings.definition_bases import SYNC_FILE
from noeira_tui.recordings.definition_outcome import DefinitionOutcome
from noeira_tui.recordings.definition_plan import DefinitionPlan, Direction
from noeira_tui.recordings.definition_sync import DefinitionSync
from noeira_tui.transfer.facts import FileStamp


def unique(text: str = "") -> bytes:
    """Contents that no other test has: the service keeps equal contents once."""
    return f"# {secrets.token_hex(16)}\n{text}\n".encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Box:
    """One machine: its projects folder, and its way to the service."""

    projects: Path
    client: CatalogClient
    project: str

    @property
    def folder(self) -> Path:
        return self.projects / self.project

    def write(self, path: str, data: bytes) -> bytes:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return data

    def read(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def bases(self) -> dict[str, str]:
        lines = (self.folder / SYNC_FILE).read_text().splitlines()
        return {path: digest for path, _, digest in (line.partition("=") for line in lines)}

    def files(self) -> set[str]:
        found = self.folder.rglob("*") if self.folder.exists() else ()
        return {str(path.relative_to(self.folder)) for path in found if path.is_file()}

    def stamps(self) -> dict[str, FileStamp]:
        return {path: FileStamp.of((self.folder / path).stat()) for path in self.files()}

    def sync(self, *, force: bool = False, cancel: CancelToken | None = None) -> DefinitionSync:
        return DefinitionSync(self.client, self.projects, self.project, force=force, cancel=cancel)

    def plan(self, direction: Direction, *, force: bool = False) -> DefinitionPlan:
        return self.sync(force=force).plan(direction)

    def push(self, *, force: bool = False) -> DefinitionOutcome:
        sync = self.sync(force=force)
        return sync.run(sync.plan(Direction.PUSH))

    def pull(self, *, force: bool = False) -> DefinitionOutcome:
        sync = self.sync(force=force)
        return sync.run(sync.plan(Direction.PULL))


class Meddling(CatalogClient):
    """A client whose calls are counted, and whose answers may be changed on the way, as a wrong service would."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda call: None
        self.change: Callable[[str, Answer], Answer] = lambda call, answer: answer

    def exchange(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        expected: frozenset[int] = frozenset(),
    ) -> Answer:
        call = f"{method} {path}"
        self.calls.append(call)
        self.before(call)
        return self.change(call, super().exchange(method, path, body, expected=expected))
