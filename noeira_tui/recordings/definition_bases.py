"""The digests that a project's definition files had when they were last synced, in `<project>/.sync.kv`.

One `path=sha256` line a file. With the digest here and the one on the service they tell "I edited it" from "they edited
it". Losing the file loses no data: contents that differ are conflicts until they are synced again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from noeira_tui.core.errors import StateError
from noeira_tui.core.files import write_atomically
from noeira_tui.core.paths import is_wire_path

SYNC_FILE = ".sync.kv"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 8 << 20


class BaseDigests:
    """The remembered digests of one project. `warning` says that they were damaged and are treated as absent."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / SYNC_FILE
        self.warning: str | None = None
        self._digests: dict[str, str] = {}
        self._read()

    def get(self, path: str) -> str | None:
        """The digest of a file when it was last synced; None when it never was."""
        return self._digests.get(path)

    def remember(self, synced: Mapping[str, str]) -> None:
        """Keep the digests of files that are now equal on both sides, path → sha256. Raises StateError.

        The file is read again before, so that another sync of the same project loses as little as can be.
        """
        if all(self._digests.get(path) == digest for path, digest in synced.items()):
            return
        self._read()
        self._digests.update(synced)
        lines = "".join(f"{path}={digest}\n" for path, digest in sorted(self._digests.items()))
        try:
            write_atomically(self._file, lines.encode("ascii"))
        except OSError as err:
            raise StateError(
                f"{self._file} cannot be written: {err.strerror or err}.",
                title="Sync state",
                hint="What was synced is not remembered, so a later change may look like a conflict.",
            ) from err

    def _read(self) -> None:
        self._digests, self.warning = {}, None
        try:
            with self._file.open("rb") as stream:
                self._digests = parse_bases(stream.read(_MAX_BYTES + 1))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as err:
            self.warning = f"{self._file} is damaged ({err}): nothing is known of the last sync."


def parse_bases(data: bytes) -> dict[str, str]:
    """The digests in a `.sync.kv`, path → sha256; blank lines and `#` lines are skipped. Raises ValueError."""
    if len(data) > _MAX_BYTES:
        raise ValueError("it is too large")
    digests: dict[str, str] = {}
    for number, line in enumerate(data.decode("utf-8-sig").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        path, _, digest = line.strip().partition("=")
        if not is_wire_path(path) or not is_digest(digest):
            raise ValueError(f"line {number} is no path=sha256 line")
        digests[path] = digest
    return digests


def is_digest(text: str | None) -> bool:
    """Whether a text is a lower-case hex sha256."""
    return text is not None and _DIGEST.fullmatch(text) is not None
