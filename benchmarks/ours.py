"""Our side of a benchmark, in a process of its own: does one thing and prints one line of JSON about it."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.core.statedb import StateDb
from noeira_tui.transfer.download import download
from noeira_tui.transfer.facts import Wanted
from noeira_tui.transfer.hashcache import HashCache
from noeira_tui.transfer.upload import upload


def pull(url: str, dest: str, sha256: str, size: str) -> dict[str, object]:
    """Download, verify, sync, publish."""
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = download(FixedUrl(PresignedUrl(url)), Path(dest), Wanted(sha256, int(size)))
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"requests": done.requests, "extra_mib": (peak_kib - before_kib) / 1024}


def push(path: str, url: str) -> dict[str, object]:
    """Upload with the digest of what was sent."""
    return {"sha256": upload(Path(path), FixedUrl(PresignedUrl(url))).sha256}


def digests(folder: str, state: str) -> dict[str, object]:
    """The digest of every file below a folder, from the cache where it is known."""
    began = time.perf_counter()
    cache = HashCache(StateDb(Path(state)))
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    found = cache.digest_many(paths)
    return {"files": len(found), "inner_s": time.perf_counter() - began}


def known(folder: str, state: str) -> dict[str, object]:
    """The digest of every file below a folder without reading any; what is not known is left out."""
    began = time.perf_counter()
    cache = HashCache(StateDb(Path(state)))
    found = cache.lookup_tree(Path(folder))
    return {"files": len(found), "inner_s": time.perf_counter() - began}


WORK: dict[str, Callable[..., dict[str, object]]] = {"pull": pull, "push": push, "digests": digests, "known": known}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
