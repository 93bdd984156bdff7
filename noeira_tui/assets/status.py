"""What each declared pack is on this box, told without opening an installed file."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.discover import find_manifests
from noeira_tui.assets.facts import BrokenPack, Pack
from noeira_tui.assets.manifest import read_manifest, without_overlaps
from noeira_tui.core.states import State


@dataclass(frozen=True)
class PackStatus:
    """One declared pack and its state; `detail` says why, or is empty.

    `pack` is its name without the version. `size_bytes` is that of the archive, None where the declaration does not
    say; `sha256` is None only for an invalid declaration.
    """

    pack: str
    version: str
    provider: str
    manifest: Path
    dest: Path
    size_bytes: int | None
    sha256: str | None
    state: State
    detail: str


def pack_states(root: Path, *, filter_text: str = "", skip: Collection[Path] = ()) -> tuple[PackStatus, ...]:
    """The state of every pack declared below `root`, in the order of files and lines.

    `filter_text` keeps the packs whose manifest's path below the root contains it; overlaps are still looked for among
    all of them. Nothing is raised: what cannot be read is an `invalid` pack that says so.
    """
    found = find_manifests(root, skip=skip)
    manifests = without_overlaps(tuple(read_manifest(path) for path in found.manifests))
    return tuple(
        pack_status(pack)
        for manifest in manifests
        if filter_text in str(manifest.path.relative_to(root))
        for pack in manifest.packs
    )


def pack_status(pack: Pack | BrokenPack) -> PackStatus:
    """The state of one pack."""
    if isinstance(pack, BrokenPack):
        state, detail = State.INVALID, "; ".join(str(problem) for problem in pack.problems)
    else:
        state, detail = _state_of(pack)
    return PackStatus(
        pack=pack.name,
        version=pack.version,
        provider=str(pack.provider),
        manifest=pack.manifest,
        dest=pack.dest,
        size_bytes=pack.size_bytes,
        sha256=pack.sha256,
        state=state,
        detail=detail,
    )


def _state_of(pack: Pack) -> tuple[State, str]:
    try:
        with os.scandir(pack.dest) as entries:
            # With `dest=.` the declaration itself is in there.
            holds_something = any(entry.path != str(pack.manifest) for entry in entries)
    except FileNotFoundError:
        return State.MISSING, ""
    except NotADirectoryError:
        return State.UNVERIFIED, f"{pack.dest} is not a folder."
    except OSError as err:
        return State.UNVERIFIED, f"{pack.dest} cannot be read: {err.strerror or err}."
    if holds_something:
        return State.UNVERIFIED, "There are files, but no record that this pack was installed."
    return State.MISSING, ""
