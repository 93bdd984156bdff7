"""What an `assets.kv` declares, as frozen facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit


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

    @property
    def locator(self) -> str:
        """Where it is: the URL, or the id in the catalog. A URL may carry a signature: show it without its query."""
        return (self.id if self.provider is Provider.NOEIRA else self.url) or ""

    @property
    def file_name(self) -> str:
        """What it is installed as when it is no archive: the last segment of the URL's path, or the id."""
        if self.provider is Provider.NOEIRA:
            return self.id or ""
        return unquote(urlsplit(self.url or "").path.rpartition("/")[2])


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

    @property
    def title(self) -> str:
        """`name@version`, as far as it could be read."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class Manifest:
    """One parsed `assets.kv`: its packs in the order of the file, sound and broken ones, and the file's own keys."""

    path: Path
    packs: tuple[Pack | BrokenPack, ...]
    file_keys: tuple[tuple[str, str], ...] = ()
