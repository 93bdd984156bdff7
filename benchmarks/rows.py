"""The comparisons, each of which gives rows of the table."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.catalog import ID as CATALOG_ID
from benchmarks.catalog import counting_catalog
from benchmarks.measure import Side, compare, ours, resident_share, timed
from benchmarks.store import Store
from noeira_tui.transfer.hashing import hash_file

_READ_BESIDES_BYTES = 1 << 20
"""The answer of the catalog, the state database and modules; the file itself has a thousand times as many."""


@dataclass(frozen=True)
class Row:
    """One line of the table. `ratio` is None when it could not be measured; `met` when there is nothing to compare.

    `processor` is the time both sides had a core.
    """

    work: str
    against: str
    ours: str
    theirs: str
    ratio: str | None
    target: str
    met: bool | None
    processor: str = ""


@dataclass(frozen=True)
class Bench:
    """Where a run works and how large its files are."""

    folder: Path
    store: Store
    size_bytes: int
    rounds: int

    def file(self, name: str, size_bytes: int) -> tuple[Path, str]:
        """A file of random bytes that the store serves, and its digest."""
        path = self.store.www / name
        if not path.exists() or path.stat().st_size != size_bytes:
            write_random(path, size_bytes)
        return path, hash_file(path)[0]

    def fresh(self) -> Path:
        """A destination with nothing at it."""
        dest = self.folder / "out" / "file"
        dest.parent.mkdir(exist_ok=True)
        for path in dest.parent.iterdir():
            path.unlink()
        return dest


def write_random(path: Path, size_bytes: int) -> None:
    with path.open("wb") as stream:
        while (left := size_bytes - stream.tell()) > 0:
            stream.write(os.urandom(min(left, 16 << 20)))


def pull_rows(bench: Bench) -> list[Row]:
    """A verified pull over a link without a cap."""
    _, sha256 = bench.file("one", bench.size_bytes)
    url = bench.store.url("one")
    curl = ["curl", "-s", "-o"]

    def dest() -> str:
        return str(bench.fresh())

    def then_hash(*hasher: str) -> float:
        to = dest()
        return timed([*curl, to, url], [*hasher, to])

    def curl_and_sync() -> float:
        to = dest()
        return timed([*curl, to, url], ["sync", to])

    sides = compare(
        {
            "ours": lambda: ours("pull", url, dest(), sha256, str(bench.size_bytes))[0],
            "curl, then sha256sum": lambda: then_hash("sha256sum"),
            "curl, then openssl": lambda: then_hash("openssl", "dgst", "-sha256"),
            "curl and sync": curl_and_sync,
            "openssl alone": lambda: timed(["openssl", "dgst", "-sha256", str(bench.store.www / "one")]),
        },
        bench.rounds,
    )
    limit = max(sides["curl and sync"].seconds or 0, sides["openssl alone"].seconds or 0)
    work = "verified pull, no cap, fsync included"
    return [
        faster(work, sides["ours"], sides["curl, then sha256sum"], 2.5),
        faster(work, sides["ours"], sides["curl, then openssl"], 1.3),
        at_most(work, sides["ours"], Side("slower of curl and sync, openssl alone", limit), 1.6),
    ]


def capped_rows(bench: Bench) -> list[Row]:
    """A verified pull where every connection is capped, as object stores do."""
    _, sha256 = bench.file("one", bench.size_bytes)
    url = bench.store.url("one", capped=True)

    def dest() -> str:
        return str(bench.fresh())

    def curl() -> float:
        to = dest()
        return timed(["curl", "-s", "-o", to, url], ["sha256sum", to])

    def aria2c() -> float:
        to = bench.fresh()
        place = ["-d", str(to.parent), "-o", to.name]
        return timed(["aria2c", "-q", "-x16", "-s16", "-k1M", f"--checksum=sha-256={sha256}", *place, url])

    def rclone_copy() -> float:
        streams = ["--multi-thread-streams", "16", "--multi-thread-cutoff", "1M", "--ignore-checksum"]
        origin = url.rpartition("/")[0]
        return timed(["rclone", "copyto", *streams, "--http-url", origin, ":http:one", dest()])

    sides = compare(
        {
            "ours": lambda: ours("pull", url, dest(), sha256, str(bench.size_bytes))[0],
            "curl, then sha256sum": curl,
            "aria2c -x16 -s16 --checksum": aria2c,
            "rclone copyto, 16 streams, unverified": rclone_copy,
        },
        bench.rounds,
    )
    work = "verified pull, 50 MB/s a connection"
    return [
        faster(work, sides["ours"], sides["curl, then sha256sum"], 12),
        faster(work, sides["ours"], sides["aria2c -x16 -s16 --checksum"], 2),
        faster(work, sides["ours"], sides["rclone copyto, 16 streams, unverified"], 1),
    ]


def repull_rows(bench: Bench) -> list[Row]:
    """A pull of what is here already, by the catalog."""
    _, sha256 = bench.file("one", bench.size_bytes)
    dest = bench.fresh()
    reports: list[dict[str, float]] = []
    with counting_catalog(bench.store.url("one"), sha256, bench.size_bytes) as counted:
        environ = {
            "NOEIRA_CLOUD_URL": counted.origin,
            "NOEIRA_CLOUD_API_KEY": "benchmark",
            "NOEIRA_ROOT": str(bench.folder),
            "NOEIRA_STATE": str(bench.folder / "state-repull"),
        }
        ours("catalog-pull", CATALOG_ID, str(dest), environ=environ)
        counted.rows = counted.objects = 0

        def again() -> float:
            seconds, reported = ours("catalog-pull", CATALOG_ID, str(dest), environ=environ)
            reports.append(reported)
            return seconds

        sides = compare({"ours": again, "sha256sum": lambda: timed(["sha256sum", str(dest)])}, bench.rounds)
    read = max(reported["bytes_read"] for reported in reports)
    bare = (counted.rows, counted.objects) == (bench.rounds, 0) and read < _READ_BESIDES_BYTES
    asked = f"requests: {counted.rows / bench.rounds:g}, for the object: {counted.objects}; {read / 1000:.0f} kB read"
    row = faster("re-pull of a current file, hash known", sides["ours"], sides["sha256sum"], 1)
    target = "1 request, 0 body bytes, no read of the file"
    return [replace(row, ours=f"{row.ours}: {asked}", target=target, met=bare)]


def tree_rows(bench: Bench) -> list[Row]:
    """A tree of 10,000 files whose digests are known, against a bare listing of it."""
    tree = bench.folder / "tree"
    make_tree(tree, 10_000)
    state = str(bench.folder / "state")
    ours("digests", str(tree), state)
    inner: list[float] = []

    def known() -> float:
        reported = ours("known", str(tree), state)[1]
        assert reported["files"] == 10_000, "the tree must be older than two seconds to be remembered"
        inner.append(reported["inner_s"])
        return reported["inner_s"]

    sides = compare(
        {"ours": known, "find -printf": lambda: timed(["find", str(tree), "-printf", "%s %T@ %p\\n"])},
        max(5, bench.rounds),
    )
    return [at_most("10,000 files, digests known", sides["ours"], sides["find -printf"], 5)]


def hash_rows(bench: Bench) -> list[Row]:
    """Mixed files whose digests are not known."""
    folder = bench.folder / "mixed"
    folder.mkdir(exist_ok=True)
    total = 4 * bench.size_bytes
    sizes = [total // 4, total // 4, total // 8, *[total // 64] * 24]
    for number, size in enumerate(sizes):
        if not (folder / str(number)).exists():
            write_random(folder / str(number), size)
    files = sorted(str(path) for path in folder.iterdir())
    fresh_state = iter(range(1000))
    sides = compare(
        {
            "ours": lambda: ours("digests", str(folder), str(bench.folder / f"state-{next(fresh_state)}"))[0],
            "openssl dgst over the list": lambda: timed(["openssl", "dgst", "-sha256", *files]),
        },
        bench.rounds,
    )
    return [faster("hash mixed files, digests unknown", sides["ours"], sides["openssl dgst over the list"], 1.6)]


def upload_rows(bench: Bench) -> list[Row]:
    """An upload with the digest of what was sent."""
    path, _ = bench.file("one", bench.size_bytes)
    url = bench.store.put_url("one")
    sides = compare(
        {
            "ours": lambda: ours("push", str(path), url)[0],
            "sha256sum, then curl -T": lambda: timed(["sha256sum", str(path)], ["curl", "-s", "-T", str(path), url]),
        },
        bench.rounds,
    )
    return [faster("upload with digest", sides["ours"], sides["sha256sum, then curl -T"], 1.5)]


def footprint_rows(bench: Bench) -> list[Row]:
    """Memory and page cache of a large pull."""
    size = 4 * bench.size_bytes
    _, sha256 = bench.file("four", size)
    dest = bench.fresh()
    _, reported = ours("pull", bench.store.url("four", capped=True), str(dest), sha256, str(size))
    extra = reported["extra_mib"]
    share = resident_share(dest)
    cached = Row(
        "page cache after a large pull",
        "the file",
        "not measured: no fincore" if share is None else f"{share:.1%} resident",
        "",
        None,
        "under 10 %",
        None if share is None else share < 0.10,
    )
    bench.fresh()
    return [
        Row("memory of a large pull", "idle", f"{extra:.0f} MiB more", "", None, "under 96 MiB", extra < 96),
        cached,
    ]


ALL: tuple[Callable[[Bench], list[Row]], ...] = (
    pull_rows,
    capped_rows,
    repull_rows,
    upload_rows,
    hash_rows,
    tree_rows,
    footprint_rows,
)


def make_tree(folder: Path, count: int) -> None:
    """`count` small files in folders of a hundred, written once and old enough to be remembered."""
    for number in range(count):
        path = folder / f"{number // 100:03d}" / f"{number:05d}.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"%d" % number)
    newest = max(path.stat().st_ctime for path in folder.rglob("*"))
    time.sleep(max(0.0, newest + 2.5 - time.time()))


def faster(work: str, mine: Side, theirs: Side, target: float) -> Row:
    """How many times faster ours is than theirs."""
    return _row(work, mine, theirs, lambda a, b: b / a, f"at least {target:g}× faster", lambda ratio: ratio >= target)


def at_most(work: str, mine: Side, theirs: Side, target: float) -> Row:
    """How many times as long as theirs ours takes."""
    return _row(work, mine, theirs, lambda a, b: a / b, f"at most {target:g}× as long", lambda ratio: ratio <= target)


def _row(
    work: str,
    mine: Side,
    theirs: Side,
    ratio_of: Callable[[float, float], float],
    target: str,
    meets: Callable[[float], bool],
) -> Row:
    if mine.seconds is None or not theirs.seconds:
        return Row(work, theirs.name, "", "not installed", None, target, None)
    # The two sides of one round met the same mood of the machine: their ratio is worth more than that of the medians.
    rounds = zip(mine.runs, theirs.runs, strict=False)
    ratios = [ratio_of(one, other) for one, other in rounds] or [ratio_of(mine.seconds, theirs.seconds)]
    ratio = statistics.median(ratios)
    return Row(
        work,
        theirs.name,
        f"{mine.seconds:.2f} s",
        f"{theirs.seconds:.2f} s",
        f"{ratio:.2f}×",
        target,
        meets(ratio),
        "" if theirs.processor_s is None else f"{mine.processor_s:.2f} s : {theirs.processor_s:.2f} s",
    )
