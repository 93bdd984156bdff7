"""Our side of a benchmark, in a process of its own: does one thing and prints one line of JSON about it."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from noeira_tui.core.presigned import FixedUrl, PresignedUrl

# Like the commands themselves, each piece of work imports what it uses.


def pull(url: str, dest: str, sha256: str, size: str) -> dict[str, object]:
    """Download, verify, sync, publish."""
    from noeira_tui.transfer.download import download
    from noeira_tui.transfer.facts import Wanted

    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = download(FixedUrl(PresignedUrl(url)), Path(dest), Wanted(sha256, int(size)))
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"requests": done.requests, "extra_mib": (peak_kib - before_kib) / 1024}


def push(path: str, url: str) -> dict[str, object]:
    """Upload with the digest of what was sent."""
    from noeira_tui.transfer.upload import upload

    return {"sha256": upload(Path(path), FixedUrl(PresignedUrl(url))).sha256}


def catalog_pull(dataset_id: str, dest: str) -> dict[str, object]:
    """Pull by the catalog; how many bytes were read in all while it did, from files and sockets."""
    from noeira_tui.catalog.remote import RemoteCatalog

    with RemoteCatalog.from_env() as catalog:
        before = _bytes_read()
        done = catalog.fetch(dataset_id, dest)
        return {
            "requests": done.requests,
            "bytes_transferred": done.bytes_transferred,
            "bytes_read": _bytes_read() - before,
        }


def _bytes_read() -> int:
    try:
        counters = Path("/proc/self/io").read_text()
    except OSError:
        return 0
    return int(counters.split("rchar:")[1].split()[0])


def digests(folder: str, state: str) -> dict[str, object]:
    """The digest of every file below a folder, from the cache where it is known."""
    from noeira_tui.core.statedb import StateDb
    from noeira_tui.transfer.hashcache import HashCache

    began = time.perf_counter()
    cache = HashCache(StateDb(Path(state)))
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    found = cache.digest_many(paths)
    return {"files": len(found), "inner_s": time.perf_counter() - began}


def known(folder: str, state: str) -> dict[str, object]:
    """The digest of every file below a folder without reading any; what is not known is left out."""
    from noeira_tui.core.statedb import StateDb
    from noeira_tui.transfer.hashcache import HashCache

    began = time.perf_counter()
    cache = HashCache(StateDb(Path(state)))
    found = cache.lookup_tree(Path(folder))
    return {"files": len(found), "inner_s": time.perf_counter() - began}


WORK: dict[str, Callable[..., dict[str, object]]] = {
    "pull": pull,
    "push": push,
    "catalog-pull": catalog_pull,
    "digests": digests,
    "known": known,
}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
