"""The note beside a `.part`: what it is meant to become, which of its bytes were written, and who writes it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.transfer.owner import Owner

VERSION = 1
_MAX_BYTES = 4 << 20


@dataclass(frozen=True)
class Journal:
    """`done` holds the written byte ranges as (first, end) pairs in order, end excluded.

    They are where to go on from, never a proof: what they cover is hashed again before anything is published.
    """

    sha256: str
    size_bytes: int | None
    owner: Owner
    done: tuple[tuple[int, int], ...] = ()

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
            owner=Owner(str(owner["host"]), int(owner["pid"]), str(owner["start"]), str(owner["token"])),
            done=_merged([(int(first), int(end)) for first, end in loaded["done"]]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_journal(path: Path, journal: Journal) -> None:
    """Replace the journal in one step. It is a hint, so it is not synced. Raises OSError."""
    owner = journal.owner
    text = json.dumps(
        {
            "version": VERSION,
            "digest": journal.sha256,
            "size": journal.size_bytes,
            "done": journal.done,
            "owner": {"host": owner.host, "pid": owner.pid, "start": owner.start, "token": owner.token},
        }
    )
    beside = path.with_name(f"{path.name}.{owner.token}")
    try:
        beside.write_text(text, "utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def silent_s(path: Path) -> float:
    """How long ago the journal was written."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if first < 0 or end <= first:
            continue
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return tuple(merged)
