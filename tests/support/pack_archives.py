"""Archives for tests, honest and hostile, and a server with a token that redirects as the Hub does."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import lzma
import threading
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tarfile import DIRTYPE, GNU_FORMAT, LNKTYPE, SYMTYPE, TarFile, TarInfo
from urllib.parse import urlsplit

import zstandard

Files = Mapping[str, bytes]
MESHES: Files = {
    "meshes/base.stl": b"solid base" * 50,
    "meshes/arm/link.stl": b"solid link" * 70,
    "readme.txt": b"hi\n",
}


def file(name: str, data: bytes = b"data", **more: object) -> tuple[TarInfo, bytes]:
    """A plain member."""
    return _member(name, data, mtime=1_600_000_000, **more)


def link(name: str, target: str) -> tuple[TarInfo, bytes]:
    """A symbolic link."""
    return _member(name, b"", type=SYMTYPE, linkname=target)


def hard_link(name: str, target: str) -> tuple[TarInfo, bytes]:
    """A hard link."""
    return _member(name, b"", type=LNKTYPE, linkname=target)


def folder(name: str) -> tuple[TarInfo, bytes]:
    """A folder."""
    return _member(name, b"", type=DIRTYPE)


def _member(name: str, data: bytes, **more: object) -> tuple[TarInfo, bytes]:
    info = TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def tar(members: Iterable[tuple[TarInfo, bytes]], *, form: int = GNU_FORMAT) -> bytes:
    """A tar of these very members, whatever they are."""
    raw = io.BytesIO()
    with TarFile(fileobj=raw, mode="w", format=form) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def tar_of(files: Files = MESHES) -> bytes:
    """A tar of plain files."""
    return tar([file(name, data) for name, data in files.items()])


def zst(data: bytes, *, frames: int = 1) -> bytes:
    """One or several zstd frames."""
    step = -(-len(data) // frames)
    compressor = zstandard.ZstdCompressor()
    return b"".join(compressor.compress(data[at : at + step]) for at in range(0, len(data), step))


def zip_of(files: Files = MESHES) -> bytes:
    """A zip of plain files."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return raw.getvalue()


PACKERS = {
    "tar": tar_of,
    "tar.gz": lambda files=MESHES: gzip.compress(tar_of(files)),
    "tar.xz": lambda files=MESHES: lzma.compress(tar_of(files)),
    "tar.zst": lambda files=MESHES: zst(tar_of(files)),
    "zip": zip_of,
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def declare(folder: Path, *stanzas: str) -> Path:
    """Write an `assets.kv`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "assets.kv"
    path.write_text("\n".join(stanzas))
    return path


def stanza(url: str, data: bytes, *, pack: str = "libero@v1", dest: str = "assets", **more: str) -> str:
    """The lines of one pack."""
    lines = {"pack": pack, "url": url, "sha256": sha256(data), "bytes": str(len(data)), "dest": dest, **more}
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its contents."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass
class PackServer:
    """Serves `objects` by path. With a `token` it wants it as a bearer; with `moves_to` it redirects to there."""

    objects: dict[str, bytes] = field(default_factory=dict)
    token: str | None = None
    moves_to: PackServer | None = None
    seen: list[tuple[str, str | None]] = field(default_factory=list)
    port: int = 0
    gate: threading.Event | None = None
    """While it is not set, bodies stop after their first half."""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return self.origin + path

    def put(self, path: str, data: bytes) -> str:
        """Serve something; its URL."""
        self.objects[path] = data
        return self.url(path)

    def bodies(self) -> int:
        """How many requests brought more than the probe of one byte."""
        return len(self.seen)


@contextmanager
def serving(**fields: object) -> Iterator[PackServer]:
    """A server on a free loopback port."""
    state = PackServer(**fields)  # type: ignore[arg-type]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            state.seen.append((self.path, self.headers.get("Authorization")))
            if state.token is not None and self.headers.get("Authorization") != f"Bearer {state.token}":
                return self._answer(401, b"who are you?")
            data = state.objects.get(parts.path)
            if state.moves_to is not None:
                self.send_response(302)
                self.send_header("Location", state.moves_to.url(parts.path) + "?X-Signature=abc")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return None
            if data is None:
                return self._answer(404, b"nothing here")
            wanted = self.headers.get("Range")
            if wanted is None:
                return self._answer(200, data)
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            end = min(int(last) if last else len(data) - 1, len(data) - 1)
            return self._answer(206, data[int(first) : end + 1], {"Content-Range": f"bytes {first}-{end}/{len(data)}"})

        def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            half = len(body) // 2
            try:
                self.wfile.write(body[:half])
                if state.gate is not None:
                    state.gate.wait(30)
                self.wfile.write(body[half:])
            except OSError:
                self.close_connection = True

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        if state.gate is not None:
            state.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
