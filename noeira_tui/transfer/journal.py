"""The note beside a `.part`: what it is meant to become, which of its bytes were written, and who writes it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from noeira_tui.core.owner import ProcessOwner
from noeira_tui.transfer.ranges import Range, Ranges

VERSION = 1
_MAX_BYTES = 4 << 20
_SWEPT_TIMES = 3


@dataclass(frozen=True)
class Journal:
    """`done` holds the written byte ranges in order; `token` names the one claim that writes this journal.

    The ranges are where to go on from, never a proof: what they cover is hashed again before anything is published.
    `owner` is None once the writer let go.
    """

    sha256: str
    size_bytes: int | None
    token: str
    owner: ProcessOwner | None
    done: tuple[Range, ...] = ()

    @property
    def done_bytes(self) -> int:
        return sum(end - first for first, end in self.done)


def read_journal(path: Path) -> Journal | None:
    """The journal, or None when there is none or it cannot be understood (another version, a torn write)."""
    try:
        with path.open("rb") as stream:
            loaded = json.loads(stream.read(_MAX_BYTES))
        if loaded["version"] != VERSION:
            return None
        owner = loaded["owner"]
        size = loaded["size"]
        return Journal(
            sha256=str(loaded["digest"]),
            size_bytes=None if size is None else int(size),
            token=str(loaded["token"]),
            owner=None if owner is None else _owner(owner),
            done=Ranges((int(first), int(end)) for first, end in loaded["done"]).frozen(),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_journal(path: Path, journal: Journal) -> None:
    """Replace the journal in one step. It is a hint, so it is not synced. Raises OSError."""
    text = json.dumps(
        {
            "version": VERSION,
            "digest": journal.sha256,
            "size": journal.size_bytes,
            "done": journal.done,
            "token": journal.token,
            "owner": None if journal.owner is None else asdict(journal.owner),
        }
    )
    beside = path.with_name(f"{path.name}.{journal.token}")
    try:
        for _ in range(_SWEPT_TIMES):
            beside.write_text(text, "utf-8")
            # Another process may take it for one that a killed process left.
            with suppress(FileNotFoundError):
                beside.replace(path)
                return
        beside.write_text(text, "utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def heartbeat_age_s(path: Path) -> float:
    """How long ago the journal was written."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def _owner(loaded: dict[str, object]) -> ProcessOwner:
    pid = loaded["pid"]
    if not isinstance(pid, int):
        raise TypeError("pid")
    words = [str(loaded[name]) for name in ("host", "boot_id", "pid_namespace", "start_time")]
    return ProcessOwner(words[0], words[1], words[2], pid, words[3])
