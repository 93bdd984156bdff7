"""What an `assets.kv` declares, as frozen facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Provider(StrEnum):
    """Who serves a pack's bytes; it decides which credential is sent."""

    HTTPS = "https"
    HF = "hf"
    NOEIRA = "noeira"


@dataclass(frozen=True)
class Problem:
    """One fault of a declaration: the file, the line (from 1, 0 for the file as a whole), the key and what is wrong."""

    manifest: Path
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        place = f"{self.manifest}, line {self.line}" if self.line else str(self.manifest)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


@dataclass(frozen=True)
class Pack:
    """One pack that can be fetched. `dest` is where its files go; `line` is where its `pack=` line is.

    `url` is there for the providers https and hf, `id` for noeira. `size_bytes` is that of the archive, None where the
    declaration does not say.
    """

    name: str
    version: str
    provider: Provider
    url: str | None
    id: str | None
    token_env: str | None
    sha256: str
    size_bytes: int | None
    manifest: Path
    dest: Path
    line: int
    dest_line: int

    @property
    def title(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class BrokenPack:
    """A declaration that cannot be used, with what could be read of it and every fault found."""

    name: str
    version: str
    provider: str
    dest: Path
    sha256: str | None
    size_bytes: int | None
    manifest: Path
    line: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Manifest:
    """One parsed `assets.kv`: its packs in the order of the file, sound and broken ones, and the file's own keys."""

    path: Path
    packs: tuple[Pack | BrokenPack, ...]
    file_keys: tuple[tuple[str, str], ...] = ()
