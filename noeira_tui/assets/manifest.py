"""Reading `assets.kv`: one `key=value` a line, several packs a file, every fault named with file, line and key.

A fault stops the pack it is in and no other. Values are literal: they keep later `=` and `#`, `$` and backslashes. A
byte order mark and CRLF line ends are accepted.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from noeira_tui.assets.facts import BrokenPack, Manifest, Pack, Problem, Provider
from noeira_tui.core.paths import SEGMENT_RULE, is_segment

PACK_KEYS = ("pack", "provider", "url", "id", "token_env", "sha256", "bytes", "dest")
DEFAULT_VERSION = "v1"
MAX_MANIFEST_BYTES = 4 * 1024 * 1024

_SHA256 = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def read_manifest(path: Path) -> Manifest:
    """Parse one `assets.kv`. A file that cannot be read gives one broken pack that says why; nothing is raised."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_MANIFEST_BYTES + 1)
    except OSError as err:
        return Manifest(path, (_broken_file(path, f"cannot be read: {err.strerror or err}"),))
    if len(data) > MAX_MANIFEST_BYTES:
        return Manifest(path, (_broken_file(path, f"is larger than {MAX_MANIFEST_BYTES} bytes"),))
    return parse_manifest(data, path)


def parse_manifest(data: bytes, path: Path) -> Manifest:
    """Parse the bytes of one `assets.kv`; `path` names it in faults, and `dest` is taken from its folder."""
    own, blocks = _split(data, path)
    packs: list[Pack | BrokenPack] = []
    if own.faults:
        packs.append(_broken_block(own, own.faults, path))
    elif not blocks and any(key in PACK_KEYS for key in own.values):
        first = next(line for key, (line, _) in own.values.items() if key in PACK_KEYS)
        fault = Problem(path, first, "pack", "is missing: a pack begins with its `pack=` line")
        packs.append(_broken_block(own, [fault], path))
    packs += [_read_block(block, path) for block in blocks]
    packs = [_spell_dest(pack) for pack in packs]
    return Manifest(path, tuple(packs), tuple((key, value) for key, (_, value) in own.values.items()))


def without_overlaps(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    """The manifests with every pack broken whose `dest` equals, holds or lies in that of another sound pack.

    Both packs of an overlap are broken, across files too. Folders are compared as the file system resolves them, so a
    link that leads into another pack's folder is an overlap, and one that leads out of the file's folder is a fault.
    """
    sound = [pack for manifest in manifests for pack in manifest.packs if isinstance(pack, Pack)]
    real = {id(pack): Path(os.path.realpath(pack.dest)) for pack in sound}
    # Sorted by path segments, whatever lies in a folder follows it directly: one pass finds every overlap.
    ordered = sorted(sound, key=lambda pack: real[id(pack)].parts)
    faults: dict[int, list[Problem]] = {}
    around: list[Pack] = []
    for pack in ordered:
        home = Path(os.path.realpath(pack.manifest.parent))
        if not real[id(pack)].is_relative_to(home):
            message = f"leaves the folder of the file through a link, to {real[id(pack)]}"
            faults.setdefault(id(pack), []).append(Problem(pack.manifest, pack.dest_line, "dest", message))
        while around and not real[id(pack)].is_relative_to(real[id(around[-1])]):
            around.pop()
        if around:
            faults.setdefault(id(pack), []).append(_overlap(pack, around[-1]))
            faults.setdefault(id(around[-1]), []).append(_overlap(around[-1], pack))
        around.append(pack)
    return tuple(
        replace(
            manifest,
            packs=tuple(
                _break(pack, tuple(faults[id(pack)])) if isinstance(pack, Pack) and id(pack) in faults else pack
                for pack in manifest.packs
            ),
        )
        for manifest in manifests
    )


@dataclass
class _Block:
    """The lines of one pack, or those before the first: key → (line, value), and the faults met so far."""

    line: int
    values: dict[str, tuple[int, str]] = field(default_factory=dict)
    faults: list[Problem] = field(default_factory=list)

    def text(self, key: str) -> str | None:
        return self.values[key][1] if key in self.values else None

    def line_of(self, key: str) -> int:
        """The key's line, or that of the pack for a key which is not there."""
        return self.values[key][0] if key in self.values else self.line


def _split(data: bytes, path: Path) -> tuple[_Block, list[_Block]]:
    own = _Block(0)
    blocks: list[_Block] = []
    for number, line in _lines(data):
        key, equals, value = line.partition("=")
        if key == "pack" and equals:
            blocks.append(_Block(number))
        block = blocks[-1] if blocks else own
        if not equals:
            block.faults.append(Problem(path, number, key[:80], "is not a `key=value` line"))
        elif block is not own and key not in PACK_KEYS:
            block.faults.append(Problem(path, number, key[:80], f"is an unknown key; known: {', '.join(PACK_KEYS)}"))
        elif key in block.values:
            block.faults.append(Problem(path, number, key, f"is repeated; it is on line {block.line_of(key)} already"))
        else:
            block.values[key] = (number, value)
    return own, blocks


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    # Bytes that are not UTF-8 survive as surrogates: a stray one breaks at most the pack it is in.
    text = data.decode("utf-8-sig", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if line.strip() and not line.startswith("#"):
            yield number, line


def _read_block(block: _Block, path: Path) -> Pack | BrokenPack:
    faults = [*block.faults, *_faults(block, path)]
    if faults:
        return _broken_block(block, faults, path)
    name, version = _name_and_version(block.text("pack") or "")
    size = block.text("bytes")
    return Pack(
        name=name,
        version=version,
        provider=Provider(block.text("provider") or Provider.HTTPS),
        url=block.text("url"),
        id=block.text("id"),
        token_env=block.text("token_env"),
        sha256=(block.text("sha256") or "").lower(),
        size_bytes=int(size) if size is not None else None,
        manifest=path,
        dest=path.parent / (block.text("dest") or ""),
        line=block.line,
        dest_line=block.line_of("dest"),
    )


def _faults(block: _Block, path: Path) -> Iterator[Problem]:
    def fault(key: str, message: str) -> Problem:
        return Problem(path, block.line_of(key), key, message)

    for key in ("sha256", "dest"):
        if key not in block.values:
            yield fault(key, "is missing")
    yield from (fault(key, "is empty") for key, (_, value) in block.values.items() if not value.strip())
    for key, check in _CHECKS.items():
        value = block.text(key)
        message = check(value) if value is not None and value.strip() else None
        if message:
            yield fault(key, message)
    yield from _locator_faults(block, path)


def _locator_faults(block: _Block, path: Path) -> Iterator[Problem]:
    provider = block.text("provider") or Provider.HTTPS
    wanted = "id" if provider == Provider.NOEIRA else "url"
    if wanted not in block.values and (provider in list(Provider) or not {"url", "id"} & block.values.keys()):
        yield Problem(path, block.line, wanted, f"is missing; provider {provider} needs it")


def _check_pack(value: str) -> str | None:
    name, version = _name_and_version(value)
    if not name or not version or "/" in value or _CONTROL.search(value):
        return f"{value!r} is no `name@version`"
    return None


def _check_provider(value: str) -> str | None:
    return None if value in list(Provider) else f"{value!r} is unknown; known: {', '.join(Provider)}"


def _check_url(value: str) -> str | None:
    try:
        parts = urlsplit(value)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and not re.search(r"\s", value)
    except ValueError:
        sound = False
    # A refused URL is not repeated: it may carry a signature or a password.
    return None if sound else "is no http(s) address"


def _check_id(value: str) -> str | None:
    return None if is_segment(value) else f"{value!r} is no catalog id ({SEGMENT_RULE})"


def _check_sha256(value: str) -> str | None:
    return None if _SHA256.fullmatch(value) else f"{value[:80]!r} is not 64 hex digits"


def _check_bytes(value: str) -> str | None:
    return None if re.fullmatch(r"[0-9]{1,18}", value, re.ASCII) else f"{value[:80]!r} is not a number of bytes"


def _check_dest(value: str) -> str | None:
    if value.startswith("/"):
        return f"{value!r} is absolute; it is a folder below that of the file"
    if ".." in PurePosixPath(os.path.normpath(value)).parts:
        return f"{value!r} leaves the folder of the file"
    return f"{value!r} holds a control character" if _CONTROL.search(value) else None


_CHECKS = {
    "pack": _check_pack,
    "provider": _check_provider,
    "url": _check_url,
    "id": _check_id,
    "sha256": _check_sha256,
    "bytes": _check_bytes,
    "dest": _check_dest,
}


def _name_and_version(value: str) -> tuple[str, str]:
    name, at, version = value.rpartition("@")
    return (name, version) if at else (value, DEFAULT_VERSION)


def _broken_block(block: _Block, faults: list[Problem], path: Path) -> BrokenPack:
    name, version = _name_and_version(block.text("pack") or path.name)
    size = block.text("bytes")
    digest = block.text("sha256")
    dest = block.text("dest")
    usable_dest = dest if dest and dest.strip() and _check_dest(dest) is None else "."
    return BrokenPack(
        name=name,
        version=version,
        provider=block.text("provider") or Provider.HTTPS,
        dest=path.parent / usable_dest,
        sha256=digest.lower() if digest and _check_sha256(digest) is None else None,
        size_bytes=int(size) if size and _check_bytes(size) is None else None,
        manifest=path,
        line=block.line,
        problems=tuple(sorted(faults, key=lambda problem: problem.line)),
    )


def _broken_file(path: Path, message: str) -> BrokenPack:
    return _broken_block(_Block(0), [Problem(path, 0, "", message)], path)


def _spell_dest(pack: Pack | BrokenPack) -> Pack | BrokenPack:
    """One spelling for a folder: `assets/`, `./assets` and `a/../assets` are `assets`."""
    return replace(pack, dest=Path(os.path.normpath(pack.dest)))


def _overlap(pack: Pack, other: Pack) -> Problem:
    return Problem(
        pack.manifest,
        pack.dest_line,
        "dest",
        f"overlaps that of {other.title} ({other.manifest}, line {other.dest_line})",
    )


def _break(pack: Pack, problems: tuple[Problem, ...]) -> BrokenPack:
    return BrokenPack(
        name=pack.name,
        version=pack.version,
        provider=pack.provider,
        dest=pack.dest,
        sha256=pack.sha256,
        size_bytes=pack.size_bytes,
        manifest=pack.manifest,
        line=pack.line,
        problems=problems,
    )
