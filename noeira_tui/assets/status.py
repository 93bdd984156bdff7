"""What each declared pack is on this box, told without opening an installed file."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.compare import FileProblem, Trouble, glance
from noeira_tui.assets.discover import find_manifests
from noeira_tui.assets.facts import BrokenPack, Manifest, Pack
from noeira_tui.assets.manifest import read_manifest, without_overlaps
from noeira_tui.assets.records import Install, Installs, Move, real_dest
from noeira_tui.core.redact import redact
from noeira_tui.core.states import TO_FETCH, State

_NAMED = 3


@dataclass(frozen=True)
class PackStatus:
    """One declared pack and its state; `detail` says why, or is empty.

    `pack` is its name without the version. `size_bytes` is that of the archive, None where the declaration does not
    say; `sha256` is None only for an invalid declaration. `problems` are the installed files that differ. `is_cached`
    tells that a pull needs no network. `installed_version` and `installed_at` (seconds since the epoch) are of what is
    installed, None without a record; `files` is how many files that has.
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
    problems: tuple[FileProblem, ...] = ()
    locator: str = ""
    is_cached: bool = False
    installed_version: str | None = None
    installed_at: float | None = None
    files: int | None = None

    @property
    def title(self) -> str:
        """`name@version`."""
        return f"{self.pack}@{self.version}"

    @property
    def bytes_to_fetch(self) -> int:
        """Bytes a pull would move; 0 for what needs none, is cached, or whose size is not known."""
        return 0 if self.is_cached or self.state not in TO_FETCH else self.size_bytes or 0


@dataclass(frozen=True)
class PacksVerified:
    """What a verification found, pack by pack."""

    packs: tuple[PackStatus, ...]


def declared_packs(
    root: Path, *, filter_text: str = "", skip: Collection[Path] = (), ignore: Collection[Path] = ()
) -> tuple[tuple[Pack | BrokenPack, ...], bool]:
    """Every pack declared below `root` in the order of files and lines, and whether the whole tree was looked at.

    `filter_text` keeps the packs whose manifest's path below the root contains it; overlaps are still looked for among
    all of them. `ignore` names files, resolved, that are no declarations. Nothing is raised: what cannot be read is a
    broken pack that says so.
    """
    found = find_manifests(root, skip=skip)
    manifests: tuple[Manifest, ...] = without_overlaps(
        tuple(read_manifest(path) for path in found.manifests if not _is_among(path, ignore))
    )
    packs = tuple(
        pack for manifest in manifests if filter_text in str(manifest.path.relative_to(root)) for pack in manifest.packs
    )
    return packs, found.is_complete


def _is_among(path: Path, paths: Collection[Path]) -> bool:
    return bool(paths) and Path(os.path.realpath(path)) in paths


def pack_states(
    root: Path, *, filter_text: str = "", skip: Collection[Path] = (), installs: Installs | None = None
) -> tuple[PackStatus, ...]:
    """The state of every pack declared below `root`, see `declared_packs`; without `installs` nothing is remembered."""
    packs, _ = declared_packs(root, filter_text=filter_text, skip=skip)
    noted = installs.all() if installs is not None else {}
    moves = installs.moves() if installs is not None else {}
    return tuple(pack_status(pack, noted.get(real_dest(pack.dest)), moves.get(real_dest(pack.dest))) for pack in packs)


def pack_status(
    pack: Pack | BrokenPack,
    install: Install | None = None,
    move: Move | None = None,
    problems: tuple[FileProblem, ...] | None = None,
) -> PackStatus:
    """The state of one pack. `problems` are what a verification found; without them a glance is taken."""
    if isinstance(pack, BrokenPack):
        detail = "; ".join(str(problem) for problem in pack.problems)
        return _status(pack, State.INVALID, detail)
    if install is None:
        state, detail = _without_record(pack)
        if move is not None and not move.is_in_place():
            state, detail = _interrupted(state, detail)
        return _status(pack, state, detail)
    found = glance(install) if problems is None else problems
    state, detail = _recorded(pack, install, found)
    if move is not None and move.staged is None:
        state, detail = _interrupted(state, detail)
    return _status(pack, state, detail, install, found)


def _status(
    pack: Pack | BrokenPack,
    state: State,
    detail: str,
    install: Install | None = None,
    problems: tuple[FileProblem, ...] = (),
) -> PackStatus:
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
        problems=problems,
        locator=redact(pack.locator) if isinstance(pack, Pack) else "",
        installed_version=None if install is None else install.version,
        installed_at=None if install is None else install.installed_at,
        files=None if install is None else len(install.paths),
    )


def _recorded(pack: Pack, install: Install, problems: tuple[FileProblem, ...]) -> tuple[State, str]:
    """The most urgent first: what a pull would refuse to touch, then what it would mend."""
    by_trouble = {trouble: [one.path for one in problems if one.trouble is trouble] for trouble in Trouble}
    gone, modified = by_trouble[Trouble.GONE], by_trouble[Trouble.MODIFIED]
    total = len(install.paths)
    if gone and len(gone) == total:
        return State.MISSING, f"It was installed, and all of its {total} files are gone."
    if modified:
        return State.MODIFIED, f"{_count(modified, total)} changed since the install: {_names(modified)}."
    if install.sha256 != pack.sha256:
        other = f"version {install.version}" if install.version != pack.version else "another archive of this version"
        return State.STALE, f"{other} is installed."
    if gone:
        return State.PARTIAL, f"{_count(gone, total)} gone: {_names(gone)}."
    touched = by_trouble[Trouble.TOUCHED]
    if touched:
        return State.UNVERIFIED, f"{_count(touched, total)} touched since the install: {_names(touched)}."
    return State.CURRENT, ""


def _count(paths: list[str], total: int) -> str:
    return f"{len(paths)} of {total} files {'is' if len(paths) == 1 else 'are'}"


def _names(paths: list[str]) -> str:
    return ", ".join(paths[:_NAMED]) + (", …" if len(paths) > _NAMED else "")


def _interrupted(state: State, detail: str) -> tuple[State, str]:
    if state in {State.MISSING, State.CURRENT}:
        return state, detail
    return State.PARTIAL, "An install was interrupted; the next pull finishes it."


def _without_record(pack: Pack) -> tuple[State, str]:
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
