"""Looking at a 400 MB dataset on S3: `python -m benchmarks.inspect`. Bytes and requests are counted at the server.

The stores are nanio and, where it is installed, MinIO (`juicefs gateway`); s3fs is compared with where it is installed
(`--with-s3fs DIR` names a folder it was installed into with `pip install --target`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_build import write_v3
from tests.support.datasets_http import CountingProxy
from tests.support.datasets_stores import S3Store, running_nanio
from tests.support.service_minio import KEYS, minio_program, running_minio

EPISODES = "meta/episodes/chunk-000/file-000.parquet"
DATA = "data/chunk-000/file-000.parquet"
CAMERA = "observation.images.front"
NEEDED = ("episode_index", "tasks", "length", "data/", "dataset_", "videos/")
PLOTTED = ("observation.state", "action", "timestamp", "frame_index", "episode_index")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inspect", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--with-s3fs", metavar="DIR", help="a folder with s3fs in it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noeira-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        dataset = write_v3(folder / "v3", episodes=100, frames=300, joints=14, video_bytes=197_000_000)
        size = sum(path.stat().st_size for path in dataset.rglob("*") if path.is_file())
        print(f"{size / 1e6:.0f} MB, 100 episodes, 2 cameras\n")
        print("| store | work | measured | goal | |\n|---|---|---|---|---|")
        for store_name, running in (("nanio", nanio), ("MinIO", minio)):
            if store_name == "MinIO" and minio_program() is None:
                continue
            with running(folder, dataset) as store:
                os.environ.update(store.environ)
                for row in [*figures(store, dataset), timed(store, dataset, arguments.rounds, arguments.with_s3fs)]:
                    print(f"| {store_name} | " + " | ".join(row) + " |", flush=True)
        compare_ways(folder, dataset)


@contextmanager
def nanio(folder: Path, dataset: Path) -> Iterator[S3Store]:
    (folder / "nanio").mkdir()
    with running_nanio(folder / "nanio") as store:
        store.link_tree(dataset, "data", "v3")
        yield store


@contextmanager
def minio(folder: Path, dataset: Path) -> Iterator[S3Store]:
    with running_minio() as server, CountingProxy(server.endpoint) as proxy:
        store = S3Store(proxy.url, server.endpoint, KEYS.access_key, KEYS.secret_key, proxy.counted)
        store.put_tree(dataset, "data", "v3")
        yield store


def footer_bytes(path: Path) -> int:
    """The footer of a parquet file with its length and magic number."""
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        return int.from_bytes(stream.read(4), "little") + 8


def chunk_bytes(path: Path, wanted: tuple[str, ...], groups: list[int] | None = None) -> int:
    """The compressed bytes of the columns whose names begin so."""
    metadata = pq.read_metadata(path)
    which = range(metadata.num_row_groups) if groups is None else groups
    chunks = (metadata.row_group(g).column(c) for g in which for c in range(metadata.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.startswith(wanted))


def figures(store: S3Store, dataset: Path) -> Iterator[tuple[str, str, str, str]]:
    """What each kind of look reads, against what it has to."""
    counted = store.counted
    counted.reset()
    inspect("s3://data/v3")
    two = sum((dataset / name).stat().st_size for name in ("meta/info.json", "meta/tasks.parquet"))
    yield row("inspect", counted.body_bytes, two, 1.0, f", {counted.requests} requests")
    summary = counted.body_bytes
    counted.reset()
    inspect("s3://data/v3", episodes=True)
    needed = footer_bytes(dataset / EPISODES) + chunk_bytes(dataset / EPISODES, NEEDED)
    yield row("--episodes", counted.body_bytes - summary, needed, 1.1, f", {counted.requests - 2} more requests")
    with Inspector("s3://data/v3") as inspector:
        inspector.episodes()
        counted.reset()
        inspector.series(40)
        chunks = chunk_bytes(dataset / DATA, PLOTTED, [40])
        footer = footer_bytes(dataset / DATA)
        yield row("a file's first plot, less its footer", counted.body_bytes - footer, chunks, 1.2, "")
        counted.reset()
        inspector.series(41)
        yield row("its next plot", counted.body_bytes, chunk_bytes(dataset / DATA, PLOTTED, [41]), 1.2, "")
        counted.reset()
        inspector.picture(50, CAMERA, 1.0)
        read = counted.body_bytes
    yield ("a camera frame of 197 MB", f"{read:,} bytes, {counted.requests} requests", "under 2 MB", mark(read < 2e6))


def row(work: str, read: int, needed: int, goal: float, more: str) -> tuple[str, str, str, str]:
    share = read / needed
    return work, f"{read:,} bytes of {needed:,}: {share:.3f}×{more}", f"at most {goal:g}×", mark(share <= goal)


def mark(met: bool) -> str:
    return "✓" if met else "✗"


def timed(store: S3Store, dataset: Path, rounds: int, s3fs: str | None) -> tuple[str, str, str, str]:
    """The whole command against a process that only imports s3fs and pyarrow, and two curls."""
    environ = {**os.environ, **store.environ, "AWS_ENDPOINT_URL": store.direct}
    theirs = {**environ, "PYTHONPATH": s3fs} if s3fs else environ
    imports = [sys.executable, "-c", "import s3fs, pyarrow.parquet"]
    if subprocess.run(imports, env=theirs, capture_output=True, check=False).returncode:
        return "inspect, the whole command", "s3fs is not installed", "under 1.3×", ""
    signed = ["curl", "-s", "-o", os.devnull, "--aws-sigv4", "aws:amz:us-east-1:s3"]
    signed += ["--user", f"{store.access_key}:{store.secret_key}"]
    urls = [f"{store.direct}/data/v3/meta/{name}" for name in ("info.json", "tasks.parquet")]
    ours_s, theirs_s = in_turn(
        rounds,
        lambda: run([sys.executable, "-m", "noeira_tui", "inspect", "s3://data/v3", "--json"], environ),
        lambda: run(imports, theirs) + sum(run([*signed, url], environ) for url in urls),
    )
    share = ours_s / theirs_s
    words = f"{ours_s:.2f} s against {theirs_s:.2f} s: {share:.2f}×"
    return (
        "inspect, the whole command, against s3fs and pyarrow imported and two curls",
        words,
        "under 1.3×",
        mark(share < 1.3),
    )


def run(command: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environ, check=True, capture_output=True)
    return time.perf_counter() - began


def in_turn(rounds: int, *sides: Callable[[], float]) -> list[float]:
    """The median of each side, run in turn."""
    taken: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, runs in zip(sides, taken, strict=True):
            runs.append(side())
    return [statistics.median(runs) for runs in taken]


def compare_ways(folder: Path, dataset: Path) -> None:
    """Bytes that three ways of reading the same columns take, from a file object that counts."""
    import io

    class Counting(io.FileIO):
        read_bytes = 0
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(-1 if size is None else size)
            Counting.read_bytes += len(data)
            Counting.reads += 1
            return data

    path = dataset / EPISODES
    columns = [name for name in pq.read_schema(path).names if name.startswith(NEEDED)]
    print(f"\n{len(columns)} columns of the episode table ({path.stat().st_size:,} bytes):")
    for name, pre_buffer in (("Arrow, a range a chunk", False), ("Arrow, pre-buffered", True)):
        Counting.read_bytes = Counting.reads = 0
        pq.ParquetFile(Counting(path, "r"), pre_buffer=pre_buffer).read(columns=columns, use_threads=False)
        print(f"  {name}: {Counting.read_bytes:,} bytes in {Counting.reads} reads")
    try:
        import fsspec.parquet
        from fsspec.implementations.local import LocalFileSystem
    except ImportError:
        return

    class Ranges(LocalFileSystem):
        def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: object) -> bytes:
            data: bytes = super().cat_file(path, start=start, end=end)
            Counting.read_bytes += len(data)
            Counting.reads += 1
            return data

    Counting.read_bytes = Counting.reads = 0
    fsspec.parquet.open_parquet_file(str(path), fs=Ranges(), columns=columns, engine="pyarrow")
    print(f"  fsspec.parquet: {Counting.read_bytes:,} bytes in {Counting.reads} reads")
    cost_before = inspect(str(dataset)).cost
    cost = inspect(str(dataset), episodes=True).cost
    read, asked = cost.bytes_read - cost_before.bytes_read, cost.requests - cost_before.requests - 3
    print(f"  ours: {read:,} bytes in {asked} reads")


if __name__ == "__main__":
    main()
