"""Asset packs against the tools people use instead, in the same run.

`python -m benchmarks.assets [--rounds N] [--folder DIR]` makes a pack of 1 GiB (20,000 small files and some large
ones), serves it on loopback, and installs it in turn by `curl | tee >(sha256sum) | tar --zstd -x` and by `assets pull`,
each time into new folders. What was installed stays until the end: for minutes ext4 searches past every inode that was
removed, so that a round would mostly measure the removal of the one before. Then it looks at 200 packs with 100,000
installed files by `find -printf` and by `assets status`, start and imports deducted.
Every figure is printed with its goal.
Needs curl, tar, zstd and GNU find.
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

SMALL_FILES = 20_000
TOTAL_BYTES = 1 << 30
_POOL_BYTES = 64 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to work; it needs 2 GB and 2 more a round")
    parser.add_argument("--only", choices=("pull", "status"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        home = Path(name)
        if chosen.only != "status":
            measure_pull(home, chosen.rounds)
        if chosen.only != "pull":
            measure_status(home, chosen.rounds)


def measure_pull(home: Path, rounds: int) -> None:
    # In a process of its own: what is started later would count this one's memory as its own at first.
    if (child := os.fork()) == 0:
        make_pack(home)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "the pack could not be made"
    archive = home / "pack.tar.zst"
    with archive.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    url = serve(archive)
    ours, theirs, peak, cpu_s = [], [], 0, []
    # Whoever comes first pays for byte code that is not compiled yet.
    subprocess.run(command("status", fresh(home / "empty")), env=environ(home), check=True, stdout=subprocess.DEVNULL)
    for number in range(rounds):
        place = fresh(home / f"round{number}")
        # Who goes first finds the emptier disk.
        for is_ours in (number % 2 == 1, number % 2 == 0):
            if not is_ours:
                theirs.append(by_tools(place, url, digest))
                continue
            seconds, usage = by_us(place, url, digest, archive.stat().st_size)
            ours.append(seconds)
            peak = max(peak, usage.ru_maxrss)
            cpu_s.append(usage.ru_utime + usage.ru_stime)
    say(f"curl | tee >(sha256sum) | tar --zstd -x   {times(theirs)}")
    say(f"assets pull                               {times(ours)}, {median(cpu_s):.1f} s of processor")
    say(f"memory {peak / 1024:.0f} MiB; the goal is 128")
    by_median, by_best = median(theirs) / median(ours), min(theirs) / min(ours)
    say(f"{by_median:.2f} times as fast by the median, {by_best:.2f} by the best; the goal is 1.3")


def make_pack(home: Path) -> None:
    """A pack whose contents compress about as meshes and textures do."""
    rng = random.Random(7)
    # Bytes of few values: entropy coding takes some of them away, matching finds little.
    pool = rng.randbytes(_POOL_BYTES).translate(bytes(value % 48 for value in range(256)))
    source = home / "source"
    total = 0
    for number in range(SMALL_FILES):
        size = rng.randint(2_000, 30_000)
        start = rng.randrange(len(pool) - size)
        path = source / f"meshes/g{number % 200}/part_{number}.stl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pool[start : start + size])
        total += size
    number = 0
    (source / "textures").mkdir()
    while total < TOTAL_BYTES:
        size = min(32 << 20, TOTAL_BYTES - total)
        start = rng.randrange(len(pool) - size)
        (source / f"textures/{number}.raw").write_bytes(pool[start : start + size])
        total += size
        number += 1
    archive = home / "pack.tar.zst"
    subprocess.run(["bash", "-c", f"tar -cf - -C {source} . | zstd -3 -T0 -q -o {archive}"], check=True)
    shutil.rmtree(source)


def serve(archive: Path) -> str:
    """Serve one file from a process of its own, by sendfile and with ranges; its URL."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(archive))
        os.write(writer, str(server.server_address[1]).encode())
        os.close(writer)
        parent = os.getppid()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)
    os.close(writer)
    port = os.read(reader, 10).decode()
    return f"http://127.0.0.1:{port}/pack.tar.zst"


def handler_of(archive: Path) -> type[http.server.BaseHTTPRequestHandler]:
    size = archive.stat().st_size

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            first, end = 0, size
            if asked:
                low, _, high = asked.removeprefix("bytes=").partition("-")
                first, end = int(low), min(int(high) + 1 if high else size, size)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(end - first))
            self.end_headers()
            self.wfile.flush()
            with archive.open("rb") as stream:
                while first < end:
                    sent = os.sendfile(self.connection.fileno(), stream.fileno(), first, end - first)
                    if not sent:
                        return
                    first += sent

    return Handler


def by_tools(home: Path, url: str, digest: str) -> float:
    out = fresh(home / "out")
    told = home / "sum"
    os.sync()
    began = time.monotonic()
    command = f"set -o pipefail; curl -sf {url} | tee >(sha256sum > {told}) | tar --zstd -x -C {out}"
    subprocess.run(["bash", "-c", command], check=True)
    elapsed = time.monotonic() - began
    while not told.read_text().startswith(digest):
        assert time.monotonic() - began < elapsed + 10, "curl brought other bytes"
        time.sleep(0.01)
    return elapsed


def by_us(home: Path, url: str, digest: str, size: int) -> tuple[float, resource.struct_rusage]:
    root = fresh(home / "root")
    text = f"pack=bench@v1\nurl={url}\nsha256={digest}\nbytes={size}\ndest=assets\n"
    (root / "assets.kv").write_text(text)
    os.sync()
    began = time.monotonic()
    process = subprocess.Popen(command("pull", root), env=environ(home), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.monotonic() - began
    assert status == 0, "the pull failed"
    return elapsed, usage


def measure_status(home: Path, rounds: int) -> None:
    root = fresh(home / "root")
    shutil.rmtree(home / "state", ignore_errors=True)
    installed(home, root)
    empty = fresh(home / "empty")
    theirs, ours = [], []
    for _ in range(rounds):
        began = time.monotonic()
        subprocess.run(["find", root, "-printf", "%s %T@ %p\n"], check=True, stdout=subprocess.DEVNULL)
        theirs.append(time.monotonic() - began)
        ours.append(timed_status(home, root) - timed_status(home, empty))
    say(f"find -printf over 200 packs of 500 files  {times(theirs)}")
    say(f"assets status                             {times(ours)}, start and imports deducted")
    by_median, by_best = median(ours) / median(theirs), min(ours) / min(theirs)
    say(f"{by_median:.2f} times as long by the median, {by_best:.2f} by the best; the goal is less than 4")


def installed(home: Path, root: Path) -> None:
    """Install 200 packs of 500 files from one archive each, as `assets pull` does."""
    import io
    import tarfile

    served = fresh(home / "served")
    for number in range(200):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as archive:
            for inner in range(500):
                data = b"%d %d" % (number, inner)
                member = tarfile.TarInfo(f"g{inner % 10}/f{inner}.stl")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        (served / f"{number}.tar").write_bytes(raw.getvalue())
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", served],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    port = server.stdout.readline().split("port ")[1].split()[0]
    for number in range(200):
        folder = fresh(root / f"env{number}")
        digest = hashlib.sha256((served / f"{number}.tar").read_bytes()).hexdigest()
        text = f"pack=p{number}@v1\nurl=http://127.0.0.1:{port}/{number}.tar\nsha256={digest}\ndest=assets\n"
        (folder / "assets.kv").write_text(text)
    subprocess.run(command("pull", root), env=environ(home), check=True, stdout=subprocess.DEVNULL)
    server.terminate()
    server.wait()


def timed_status(home: Path, root: Path) -> float:
    began = time.monotonic()
    done = subprocess.run([*command("status", root), "--json"], env=environ(home), check=True, capture_output=True)
    elapsed = time.monotonic() - began
    assert all(one["state"] == "current" for one in json.loads(done.stdout))
    return elapsed


def command(word: str, root: Path) -> list[str]:
    return [sys.executable, "-m", "noeira_tui", "assets", word, "--root", str(root), "--quiet"]


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "NOEIRA_CACHE": str(home / "cache"), "NOEIRA_STATE": str(home / "state")}


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def say(line: str) -> None:
    print(line, flush=True)


def times(seconds: list[float]) -> str:
    return f"{median(seconds):6.2f} s (" + ", ".join(f"{one:.2f}" for one in seconds) + ")"


if __name__ == "__main__":
    main()
