"""One process at a time for one piece of work, without trusting locks: a claim tells who holds it.

A claim is a file with the record of its holder. Whoever finds one waits while the holder lives and gives signs of
life, and takes over when it is gone, so nobody waits for ever. Two holders at once are possible where a file system
lies; that costs work done twice and nothing else, because all that is published is verified and renamed into place.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from noeira_tui.core.errors import PackError
from noeira_tui.core.owner import Life, ProcessOwner
from noeira_tui.core.progress import CancelToken

POLL_S = 0.05
BEAT_EVERY_S = 5.0
SILENT_S = 60.0
"""A holder that lives and gives no sign for this long (stopped, paused, hung on a dead disk) is taken over from."""


@contextmanager
def claimed(folder: Path, name: str, cancel: CancelToken) -> Iterator[None]:
    """Hold the claim `name` in `folder`; waits for another holder. Raises PackError, CancelledError."""
    with holding(folder, name, cancel, wait=True):
        yield


@contextmanager
def holding(folder: Path, name: str, cancel: CancelToken, *, wait: bool) -> Iterator[bool]:
    """Hold the claim where that is possible; False, at once, when another has it and `wait` is off."""
    path = folder / f"{name}.claim"
    mine = json.dumps({"token": secrets.token_hex(8), "owner": asdict(ProcessOwner.me())}).encode()
    try:
        while not (got := _try(path, mine)) and wait:
            cancel.sleep(POLL_S)
    except OSError as err:
        raise PackError(
            f"{path} cannot be written: {err.strerror or err}.", hint="Name a folder of yours with NOEIRA_CACHE."
        ) from err
    if not got:
        yield False
        return
    over = threading.Event()
    beat = threading.Thread(target=_beat, args=(path, over, cancel), name=f"claim-{name[:8]}", daemon=True)
    beat.start()
    try:
        yield True
    finally:
        over.set()
        beat.join()
        _release(path, mine)


def is_held(folder: Path, name: str) -> bool:
    """Whether a living process holds the claim."""
    path = folder / f"{name}.claim"
    found = _read(path)
    return found is not None and not _is_gone(path, found)


def dest_claim(dest: str) -> str:
    """The name of the claim on a destination."""
    return "dest-" + hashlib.sha256(os.fsencode(dest)).hexdigest()[:32]


def _try(path: Path, mine: bytes) -> bool:
    """Have the claim now, or not."""
    found = _read(path)
    if found is not None and not _is_gone(path, found):
        return False
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside.write_bytes(mine)
    try:
        os.link(beside, path)
    except FileExistsError:
        return _take_over(path, beside)
    except OSError:
        return _without_links(path, mine)
    finally:
        beside.unlink(missing_ok=True)
    return True


def _without_links(path: Path, mine: bytes) -> bool:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        found = _read(path)
        if found is not None and _is_gone(path, found):
            path.unlink(missing_ok=True)
        return False
    with os.fdopen(fd, "wb") as stream:
        stream.write(mine)
    return True


def _take_over(path: Path, beside: Path) -> bool:
    found = _read(path)
    if found is None or not _is_gone(path, found):
        return False
    away = path.with_name(f"{path.name}.gone-{secrets.token_hex(4)}")
    try:
        path.rename(away)
    except FileNotFoundError:
        return False
    try:
        if _read(away) != found:
            # Another process took it over in between: that one's claim goes back to its place.
            os.link(away, path)
            return False
        os.link(beside, path)
    except FileExistsError:
        return False
    finally:
        away.unlink(missing_ok=True)
    return True


def _is_gone(path: Path, found: bytes) -> bool:
    try:
        silent_s = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    try:
        owner = ProcessOwner(**json.loads(found)["owner"])
    except (ValueError, KeyError, TypeError):
        # Half written, by a process that was killed at it, or by one that is at it just now.
        return silent_s > BEAT_EVERY_S
    return owner.is_gone(silent_s) or (owner.life() is Life.ALIVE and silent_s > SILENT_S)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _beat(path: Path, over: threading.Event, cancel: CancelToken) -> None:
    """Signs of life; none while paused, so that others need not wait for a person."""
    while not over.wait(BEAT_EVERY_S):
        if not cancel.is_paused:
            try:
                os.utime(path)
            except OSError:
                # Taken over, or the disk is gone: the work itself will tell.
                return


def _release(path: Path, mine: bytes) -> None:
    try:
        if _read(path) == mine:
            path.unlink(missing_ok=True)
    except OSError:
        # It stays, and is taken over from once this process has ended.
        return
