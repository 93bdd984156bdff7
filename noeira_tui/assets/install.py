"""Installing a cached pack at its destination: the old tree or the new one, and never a file of the user's lost.

Where everything at the destination is ours, a whole new tree is made beside it and swapped in. Where the user has files
of his own there, ours are put in place one by one, after noting it, so that the next pull finishes what a kill cut.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.cache import Entry
from noeira_tui.assets.compare import Comparison, Known, compare, files_below
from noeira_tui.assets.contents import SINGLE_FILE
from noeira_tui.assets.facts import Pack
from noeira_tui.assets.place import TEMPORARY, Placer, Wanted
from noeira_tui.assets.records import Install, Installs, Move, real_dest
from noeira_tui.assets.swap import RETIRED, STAGED, swap_in
from noeira_tui.assets.twin import Twin
from noeira_tui.core.errors import DestinationError
from noeira_tui.core.progress import CancelToken

_NAMED = 5


@dataclass(frozen=True)
class Placed:
    """What an install did. Files that were right already count in neither."""

    linked: int
    copied: int


class Installer:
    """Installs one pack. Only for the holder of the claim on its destination."""

    def __init__(
        self, pack: Pack, installs: Installs, cancel: CancelToken, room_for: Callable[[Path, int], None]
    ) -> None:
        """`room_for` is asked before bytes are copied to a folder's file system, and raises when they do not fit."""
        self._room_for = room_for
        self._pack = pack
        self._installs = installs
        self._cancel = cancel
        self._dest = real_dest(pack.dest)

    def recover(self) -> None:
        """Finish, or take back, what a killed process began here. Raises OSError."""
        move = self._installs.move(self._dest)
        retired = sorted(self._siblings(RETIRED))
        if not os.path.lexists(self._dest) and (retired or (move and move.staged and move.staged.is_dir())):
            # Killed between the two steps of a swap: the new tree is whole, else the old one comes back.
            staged = move.staged if move is not None and move.staged is not None else None
            (staged if staged is not None and staged.is_dir() else retired[-1]).rename(self._dest)
        if move is not None and move.is_in_place():
            before = self._installs.get(self._dest)
            self._installs.commit(move.install)
            for left in (*self._siblings(STAGED), *self._siblings(RETIRED)):
                self._clear(left, Known([one for one in (before, move.install) if one is not None]))
        elif move is not None and move.staged is not None:
            self._installs.drop_move(self._dest)
        elif move is not None:
            self._sweep(move.install)
        for left in self._siblings(STAGED):
            shutil.rmtree(left, ignore_errors=True)

    def install(self, entry: Entry, file_name: str | None, *, force: bool, twin: Twin | None = None) -> Placed:
        """Have the pack's files at the destination, and note it.

        `file_name` is what a pack that is one file is installed as; `twin` is a tree of links to the cached one, used
        where it is whole and nothing is at the destination. Raises DestinationError, naming them, when files
        of the user's are in the way; OSError; PackError for a damaged cached file; CancelledError.
        """
        self.check_place()
        wanted = wanted_files(entry, file_name)
        install = self._manifest(entry, wanted)
        known = self._known()
        plan = Comparison((), wanted, (), (), ())
        if not self._is_free():
            plan = compare(self._dest, wanted, known, self._cancel, force=force)
        if plan.in_the_way:
            raise in_the_way(self._dest, plan.in_the_way)
        placer = Placer(self._cancel)
        is_right = not plan.place and not plan.replace and not plan.remove
        if not is_right and self._may_swap(plan) and self._swap(install, entry, plan, placer, twin):
            return Placed(placer.linked, placer.copied)
        present = {file.path: file.mtime_ns for file in plan.right}
        install = install.with_mtimes([present.get(file.path, file.mtime_ns) for file in wanted])
        if is_right:
            self._make_folders(self._dest, wanted, entry.contents.folders)
        else:
            self._one_by_one(install, entry, plan, placer)
        self._installs.commit(install)
        return Placed(placer.linked, placer.copied)

    def check_place(self) -> None:
        """Raise DestinationError where no pack can be installed, whatever is in it: worth knowing before a download."""
        home = real_dest(self._pack.manifest.parent)
        if not self._dest.is_relative_to(home):
            raise DestinationError(
                f"{self._pack.dest} leads to {self._dest} through a link, out of {home}.",
                hint="Put a folder in the place of the link.",
            )
        if os.path.lexists(self._dest) and not self._dest.is_dir():
            raise DestinationError(f"{self._dest} is not a folder.", hint="Move it away.")
        above = self._dest.parent
        while not above.is_dir() and above != above.parent:
            above = above.parent
        if not any(os.access(folder, os.W_OK | os.X_OK) for folder in (self._dest, above)):
            raise DestinationError(f"{above} cannot be written.", hint="Check the folder's permissions and its disk.")

    def _is_free(self) -> bool:
        """Whether there is nothing at all at the destination."""
        return not self._dest.is_dir() or not any(self._dest.iterdir())

    def _manifest(self, entry: Entry, wanted: Sequence[Wanted]) -> Install:
        return Install(
            dest=self._dest,
            pack=self._pack.name,
            version=self._pack.version,
            sha256=entry.sha256,
            manifest=self._pack.manifest,
            installed_at=time.time(),
            paths=tuple(file.path for file in wanted),
            sizes=[file.size_bytes for file in wanted],
            mtimes_ns=[file.mtime_ns for file in wanted],
            digests=b"".join(bytes.fromhex(file.sha256) for file in wanted),
        )

    def _known(self) -> Known:
        move = self._installs.move(self._dest)
        installs = [self._installs.get(self._dest), None if move is None else move.install]
        return Known([one for one in installs if one is not None])

    # -- a whole tree

    def _may_swap(self, plan: Comparison) -> bool:
        """Whether nothing at the destination is the user's."""
        if not self._dest.is_dir():
            return True
        ours = {file.path for file in (*plan.right, *plan.replace)} | set(plan.remove)
        return all(path in ours for path in files_below(self._dest)) and not os.path.ismount(self._dest)

    def _swap(self, install: Install, entry: Entry, plan: Comparison, placer: Placer, twin: Twin | None) -> bool:
        """Make the tree beside the destination and swap it in; False where no folder can be made beside it."""
        parent = self._dest.parent
        staged = parent / f".{self._dest.name[:100]}.{secrets.token_hex(4)}{STAGED}"
        wanted = (*plan.right, *plan.place, *plan.replace)
        move = None
        try:
            parent.mkdir(parents=True, exist_ok=True)
            if plan.place == wanted and _takes_over(twin, entry, staged):
                placer.linked += len(wanted)
            else:
                staged.mkdir()
        except PermissionError:
            return False
        try:
            if not placer.linked:
                self._fill(staged, wanted, entry, placer)
            stat = staged.stat()
            move = Move(install, staged, stat.st_dev, stat.st_ino)
            self._installs.begin(move)
            old = swap_in(staged, self._dest)
        except BaseException:
            if move is None or not move.is_in_place():
                shutil.rmtree(staged, ignore_errors=True)
                self._installs.drop_move(self._dest)
            raise
        self._installs.commit(install)
        if old is not None:
            self._clear(old, Known(()), frozenset({*plan.remove, *(f.path for f in (*plan.right, *plan.replace))}))
        return True

    def _fill(self, staged: Path, wanted: Sequence[Wanted], entry: Entry, placer: Placer) -> None:
        self._check_room(staged, entry, wanted)
        self._make_folders(staged, wanted, entry.contents.folders)
        for file in wanted:
            self._cancel.check()
            placer.place(file, f"{staged}/{file.path}")

    def _check_room(self, folder: Path, entry: Entry, files: Sequence[Wanted]) -> None:
        """Ask for room where nothing can be linked."""
        if folder.stat().st_dev != entry.tree.stat().st_dev:
            self._room_for(folder, sum(file.size_bytes for file in files))

    def _clear(self, old: Path, known: Known, ours: frozenset[str] = frozenset()) -> None:
        """Remove an old tree; what appeared in it meanwhile and is none of ours goes to the new one."""
        for path in list(files_below(old)):
            target = self._dest / path
            if path in known or path in ours or os.path.lexists(target):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            (old / path).rename(target)
        shutil.rmtree(old, ignore_errors=True)

    def _siblings(self, ending: str) -> list[Path]:
        start = f".{self._dest.name[:100]}."
        with contextlib.suppress(OSError):
            names = self._dest.parent.iterdir()
            return [path for path in names if path.name.startswith(start) and path.name.endswith(ending)]
        return []

    # -- file by file

    def _one_by_one(self, install: Install, entry: Entry, plan: Comparison, placer: Placer) -> None:
        self._installs.begin(Move(install))
        self._dest.mkdir(parents=True, exist_ok=True)
        self._check_room(self._dest, entry, (*plan.place, *plan.replace))
        blocking = _blocking(plan.remove, plan.place)
        for path in blocking:
            self._remove(path)
        self._make_folders(self._dest, (*plan.place, *plan.replace), entry.contents.folders)
        for file in plan.place:
            self._cancel.check()
            placer.place(file, f"{self._dest}/{file.path}")
        for file in plan.replace:
            self._cancel.check()
            placer.replace(file, f"{self._dest}/{file.path}")
        for path in plan.remove:
            if path not in blocking:
                self._remove(path)

    def _remove(self, path: str) -> None:
        """Remove a file of ours, and the folders that are empty then."""
        target = self._dest / path
        target.unlink(missing_ok=True)
        for folder in target.parents:
            if folder == self._dest:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    def _sweep(self, install: Install) -> None:
        """Remove the temporary names that a process left which was killed while it put files in place."""
        for folder in {f"{self._dest}/{path}".rpartition("/")[0] for path in install.paths}:
            for left in Path(folder).glob(f".*{TEMPORARY}"):
                left.unlink(missing_ok=True)

    def _make_folders(self, base: Path, wanted: Sequence[Wanted], named: Sequence[str]) -> None:
        made = {""}
        base.mkdir(parents=True, exist_ok=True)
        for folder in (*named, *dict.fromkeys(file.path.rpartition("/")[0] for file in wanted)):
            if folder not in made:
                Path(f"{base}/{folder}").mkdir(parents=True, exist_ok=True)
                made.add(folder)


def wanted_files(entry: Entry, file_name: str | None) -> tuple[Wanted, ...]:
    """The files of a cached pack as an install wants them."""
    tree = str(entry.tree)
    rename = {SINGLE_FILE: file_name} if entry.contents.kind == "file" and file_name else {}
    return tuple(
        Wanted(rename.get(file.path, file.path), f"{tree}/{file.path}", file.size_bytes, file.mtime_ns, file.sha256)
        for file in entry.contents.files
    )


def _takes_over(twin: Twin | None, entry: Entry, staged: Path) -> bool:
    """Give the tree that was made with the cached one the name `staged`; False where there is none that can be."""
    if twin is None or not twin.is_whole or entry.contents.kind == SINGLE_FILE:
        return False
    try:
        twin.folder.rename(staged)
    except OSError:
        # Another mount of the same disk, for one: the files are linked or copied there one by one.
        return False
    return True


def in_the_way(dest: Path, files: Sequence[tuple[str, str]]) -> DestinationError:
    """The error for files that would be lost."""
    named = ", ".join(f"{path} ({why})" for path, why in files[:_NAMED])
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return DestinationError(
        f"Files of yours in {dest} would be lost: {named}{more}. Nothing was changed.",
        title="Files of yours are in the way",
        hint="Move them away, or replace them with --force. Folders and links in the way are never replaced.",
    )


def _blocking(going: Sequence[str], new: Sequence[Wanted]) -> frozenset[str]:
    """Files that stand where a new path needs a folder, or lie in a folder where one needs a file."""
    paths = {file.path for file in new}
    folders = {above for path in paths for above in _above(path)}
    return frozenset(path for path in going if path in folders or any(above in paths for above in _above(path)))


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
