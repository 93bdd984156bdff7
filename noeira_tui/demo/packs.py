"""Sample asset packs: meshes and textures in archives, and the `assets.kv` files that declare them."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

_PARTS = ("base", "shoulder", "upper_arm", "forearm", "wrist", "gripper")


@dataclass(frozen=True)
class PackArchive:
    """An archive to push: its name and version in the catalog, its bytes and the files in it."""

    name: str
    version: str
    data: bytes
    files: tuple[tuple[str, bytes], ...]

    @property
    def id(self) -> str:
        """Its id in the catalog."""
        return f"{self.name}-{self.version}"

    def declaration(self, pack: str, dest: str) -> str:
        """The lines that declare it in an `assets.kv`."""
        return (
            f"pack={pack}\nprovider=noeira\nid={self.id}\nsha256={hashlib.sha256(self.data).hexdigest()}\n"
            f"bytes={len(self.data)}\ndest={dest}\n"
        )


def so101_meshes() -> PackArchive:
    """The parts of an arm as binary STL."""
    files = tuple((f"meshes/{part}.stl", _ellipsoid(number + 1)) for number, part in enumerate(_PARTS))
    return PackArchive("so101-meshes", "v2", _tar_gz(files), files)


def table_textures() -> PackArchive:
    """A few wood-like textures as PPM pictures."""
    files = tuple((f"textures/wood_{number}.ppm", _wood(number)) for number in range(3))
    return PackArchive("table-textures", "v1", _tar_gz(files), files)


def so101_manifest() -> str:
    """Two sound packs: one that is missing, one whose files lie there without a record of an install."""
    return (
        "# Meshes and textures of the SO-101 scene.\nschema_version=1\n\n"
        + so101_meshes().declaration("so101@v2", "assets/so101")
        + "\n"
        + table_textures().declaration("table@v1", "assets/table")
    )


def pusht_manifest() -> str:
    """A pack with a fault: its destination leaves the folder."""
    return table_textures().declaration("pusht-table@v1", "../shared/table")


def unpack_by_hand(archive: PackArchive, dest: Path) -> None:
    """Lay an archive's files out without keeping a record of it, as people do with `tar`."""
    for name, data in archive.files:
        path = dest / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _ellipsoid(seed: int, steps: int = 96) -> bytes:
    """A closed surface of `2 steps (steps - 1)` triangles in binary STL: 80 bytes of header, a count, 50 bytes each."""
    import numpy as np

    radii = np.random.default_rng(seed).uniform(0.02, 0.08, 3)
    polar, around = np.meshgrid(np.linspace(0, np.pi, steps), np.linspace(0, 2 * np.pi, steps + 1), indexing="ij")
    points = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], -1) * radii
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    corners = np.concatenate([np.stack([a, b, c], 2), np.stack([a, c, d], 2)]).reshape(-1, 3, 3)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    triangles = np.zeros(len(corners), np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")]))
    triangles["normal"], triangles["corners"] = normals, corners
    return b"sample mesh".ljust(80) + len(triangles).to_bytes(4, "little") + triangles.tobytes()


def _wood(seed: int, size: int = 384) -> bytes:
    import numpy as np

    rng = np.random.default_rng(seed)
    rings = np.sin(np.linspace(0, 40, size)[None, :] + np.linspace(0, 3 + seed, size)[:, None] ** 2)
    shade = 150 + 30 * rings + rng.normal(0, 6, (size, size))
    picture = np.stack([shade, shade * 0.75, shade * 0.5], -1).clip(0, 255).astype(np.uint8)
    return b"P6\n%d %d\n255\n" % (size, size) + picture.tobytes()


def _tar_gz(files: tuple[tuple[str, bytes], ...]) -> bytes:
    """A tar.gz whose bytes depend on the files alone: no times, no owners."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), compresslevel=6, mtime=0)
