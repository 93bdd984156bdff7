"""Mirroring recordings beside the tools people use instead: `python -m benchmarks.recordings [FILES]`.

An unchanged pass against `find`, a first push of small files against `rclone copy` to the same store, and the CPU time
of an idle watch over a large tree. Everything runs on loopback in a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.statedb import StateDb
from noeira_tui.recordings.mirror import Mirror, Work
from noeira_tui.recordings.push import push
from noeira_tui.recordings.tree import scan
from noeira_tui.recordings.watch import Watch
from noeira_tui.service.config import DEFAULT_BUCKET
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_process import ServeProcess, start

IDLE_S = 60.0


def make(folder: Path, files: int) -> None:
    """A finished recording of two episodes, and many small closed files beside them."""
    recorder = CheckpointingRecorder(folder)
    recorder.record()
    recorder.record()
    for number in range(files):
        place = folder / f"videos/many/chunk-{number // 1000:03d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"file-{number % 1000:03d}.bin").write_bytes(os.urandom(500))
    recorder.finish()


def mirror(service: ServeProcess, box: Path, cancel: CancelToken | None = None) -> Mirror:
    client = CatalogClient(service.url, service.key)
    work = Work(Progress(), cancel or CancelToken())
    return Mirror(client, StateDb(box / "state"), box / "projects", "tower", "many", work)


def unchanged(service: ServeProcess, box: Path, folder: Path) -> None:
    finds = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(["find", folder, "-printf", "%s %T@ %p\n"], stdout=subprocess.DEVNULL, check=True)
        finds.append(time.perf_counter() - began)
    passes = []
    for _ in range(5):
        one = mirror(service, box)
        one.client.facts()  # the connection and imports are the start, which is deducted
        began = time.perf_counter()
        outcome = push(one)
        passes.append(time.perf_counter() - began)
    ratio = min(passes) / min(finds)
    print(
        f"unchanged pass over {outcome.unchanged} files: {min(passes) * 1000:.0f} ms, {outcome.requests} requests; "
        f"find {min(finds) * 1000:.0f} ms: {ratio:.1f} times"
    )


def first_push(service: ServeProcess, box: Path) -> None:
    began = time.perf_counter()
    outcome = push(mirror(service, box))
    elapsed_s = time.perf_counter() - began
    print(
        f"first push of {len(outcome.moved)} files: {elapsed_s:.1f} s, {len(outcome.moved) / elapsed_s:.0f} files/s, "
        f"{outcome.requests} requests; clean: {outcome.is_clean}"
    )


def rclone(service: ServeProcess, folder: Path) -> None:
    """The same files to the same store; the best of its two ways (with and without looking at each object after)."""

    keys = _store_keys(service)
    if keys is None or shutil.which("rclone") is None:
        print("rclone or the store's keys are not at hand")
        return
    endpoint = (
        f":s3,provider=Other,endpoint='{service.store_endpoint}',access_key_id={keys[0]},secret_access_key={keys[1]}"
    )
    for number, extra in enumerate(([], ["--s3-no-head", "--transfers", "8"])):
        began = time.perf_counter()
        command = ["rclone", "copy", str(folder), f"{endpoint},force_path_style=true:{keys[2]}/rclone-{number}", *extra]
        # Credentials and authorities of the machine have no business with a store on loopback.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=clean)
        elapsed_s = time.perf_counter() - began
        print(f"rclone copy {' '.join(extra)}: {elapsed_s:.1f} s (exit {done.returncode}) {done.stderr[-200:].strip()}")


def _store_keys(service: ServeProcess) -> tuple[str, str, str] | None:
    import json

    for path in service.data_dir.glob("store*.json"):
        told = json.loads(path.read_text())
        if "secret_key" in told:
            return told["access_key"], told["secret_key"], DEFAULT_BUCKET
    return None


def idle(service: ServeProcess, box: Path) -> None:
    cancel = CancelToken()
    one = mirror(service, box, cancel)
    watch = Watch(one)

    def run() -> None:
        try:
            watch.run()
        except CancelledError:
            return

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 600
    while (watch._last is None or one.young) and time.monotonic() < deadline:
        time.sleep(0.5)
    time.sleep(3)
    requests, hashed, cpu_s, began = one.client.requests, one.hashed_bytes, time.process_time(), time.monotonic()
    time.sleep(IDLE_S)
    share = (time.process_time() - cpu_s) / (time.monotonic() - began)
    files = len(scan(one.folder).files)
    print(
        f"idle watch over {files} files: {share:.4%} of a core, {one.client.requests - requests} requests, "
        f"{one.hashed_bytes - hashed} bytes hashed, next rescan in {watch._scan_at - time.monotonic():.0f} s"
    )
    cancel.cancel()
    thread.join()


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    place = Path(tempfile.mkdtemp(prefix="noeira-bench-"))
    service = start(place / "service")
    try:
        box = place / "box"
        folder = box / "projects/tower/datasets/many"
        make(folder, files)
        (box / "projects/tower/project.kv").write_text("description=benchmark\n")
        time.sleep(2.5)
        if files <= 20_000:
            rclone(service, folder)
        first_push(service, box)
        push(mirror(service, box))
        unchanged(service, box, folder)
        (folder / "meta/noeira_writer_stats.json").write_text('{"finished": false}')
        idle(service, box)
    finally:
        service.stop()
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
