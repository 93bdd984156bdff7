"""Pulling packs: fetch, verify, unpack once, link into place; one that fails does not stop the others."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.assets.archive import ArchiveKind
from noeira_tui.assets.arriving import ArrivingPack
from noeira_tui.assets.cache import Entry, PackCache
from noeira_tui.assets.claim import claimed, dest_claim
from noeira_tui.assets.compare import FileProblem, Trouble, hash_of, settle
from noeira_tui.assets.facts import BrokenPack, Pack
from noeira_tui.assets.install import Installer, Placed, in_the_way
from noeira_tui.assets.names import member_path
from noeira_tui.assets.probe import unreachable
from noeira_tui.assets.records import Install, Installs, real_dest
from noeira_tui.assets.share import Share
from noeira_tui.assets.sources import origin_url, pack_source
from noeira_tui.assets.status import PackStatus, pack_status
from noeira_tui.assets.twin import Twin, may_have_twin
from noeira_tui.core.errors import ArchiveError, CancelledError, NoeiraError, PackError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import Settings
from noeira_tui.core.states import State
from noeira_tui.transfer.facts import TransferContext, Wanted
from noeira_tui.transfer.space import FULL, disk_full, require_space


@dataclass(frozen=True)
class PackPulled:
    """One pack after a pull: its state then, what moved, and why it failed (None when it did not)."""

    status: PackStatus
    bytes_transferred: int = 0
    linked: int = 0
    copied: int = 0
    error: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class PacksPulled:
    """What a pull did, pack by pack in the order they were asked for."""

    packs: tuple[PackPulled, ...]
    bytes_transferred: int
    elapsed_s: float

    @property
    def failed(self) -> tuple[PackPulled, ...]:
        return tuple(pack for pack in self.packs if pack.error is not None)


class PacksFailedError(PackError):
    """Some packs could not be pulled; the others were. `outcome` tells of all of them."""

    def __init__(self, outcome: PacksPulled) -> None:
        failed = outcome.failed
        reasons = " ".join(f"{one.status.title}: {one.error}" for one in failed)
        others = "The other packs are installed. " if len(failed) < len(outcome.packs) else ""
        super().__init__(
            reasons,
            title=f"{len(failed)} of {len(outcome.packs)} packs failed",
            hint=failed[0].hint if len(failed) == 1 else f"{others}Pull again after mending these.",
            retryable=True,
        )
        self.outcome = outcome


@dataclass(frozen=True)
class Pulling:
    """What a pull works with."""

    settings: Settings
    cache: PackCache
    shared: PackCache | None
    installs: Installs
    context: TransferContext
    progress: Progress
    cancel: CancelToken
    say: Callable[[str], None] = lambda line: None


def pull_packs(pulling: Pulling, packs: Sequence[Pack | BrokenPack], *, force: bool = False) -> PacksPulled:
    """Have every one of these packs installed as it is declared; what is current already is left as it is.

    With `force` packs are fetched and installed again, and files that were changed are replaced. Raises
    PacksFailedError after all of them were tried, CancelledError at once.
    """
    return _Pull(pulling, force=force).run(packs)


class _Pull:
    def __init__(self, pulling: Pulling, *, force: bool) -> None:
        self._p = pulling
        self._force = force
        self._fetched: set[str] = set()
        self._silent: dict[str, NoeiraError] = {}
        self._transferred = 0

    def run(self, packs: Sequence[Pack | BrokenPack]) -> PacksPulled:
        progress = self._p.progress
        progress.enter("comparing")
        todo = [pack for pack in packs if isinstance(pack, Pack) and (self._force or not self._is_current(pack))]
        missing = {pack.sha256: pack for pack in todo if self._force or not self._may_be_cached(pack.sha256)}
        progress.expect(size_bytes=sum(pack.size_bytes or 0 for pack in missing.values()), items=len(packs))
        urls = [url for pack in missing.values() if (url := origin_url(pack, self._p.settings)) is not None]
        self._silent = unreachable(urls)
        results: list[PackPulled] = []
        for pack in packs:
            results.append(self._one(pack, wanted=pack in todo))
            progress.item_done()
        outcome = PacksPulled(tuple(results), self._transferred, progress.snapshot().elapsed_s)
        if outcome.failed:
            raise PacksFailedError(outcome)
        return outcome

    def _is_current(self, pack: Pack) -> bool:
        dest = real_dest(pack.dest)
        move = self._p.installs.move(dest)
        return move is None and self._status(pack).state is State.CURRENT

    def _status(self, pack: Pack | BrokenPack) -> PackStatus:
        dest = real_dest(pack.dest)
        return pack_status(pack, self._p.installs.get(dest), self._p.installs.move(dest))

    def _may_be_cached(self, sha256: str) -> bool:
        caches = [cache for cache in (self._p.shared, self._p.cache) if cache is not None]
        return any((cache.packs / sha256).is_dir() for cache in caches)

    def _one(self, pack: Pack | BrokenPack, *, wanted: bool) -> PackPulled:
        if isinstance(pack, BrokenPack):
            status = pack_status(pack)
            self._p.say(f"{status.title} failed: {status.detail}")
            return PackPulled(status, error=status.detail)
        if not wanted:
            return PackPulled(self._status(pack))
        before = self._transferred
        try:
            with _explained(self._p.cache.folder):
                placed = self._pull(pack)
        except CancelledError:
            raise
        except NoeiraError as err:
            self._p.say(f"{pack.title} failed: {err}")
            moved = self._transferred - before
            return PackPulled(self._status(pack), moved, error=f"{err.title}: {err.message}", hint=err.hint)
        # Every file was put there, or looked at, just now.
        dest = real_dest(pack.dest)
        status = pack_status(pack, self._p.installs.get(dest), self._p.installs.move(dest), ())
        return PackPulled(status, self._transferred - before, placed.linked, placed.copied)

    def _pull(self, pack: Pack) -> Placed:
        cache, cancel = self._p.cache, self._p.cancel
        file_name = _file_name(pack)
        cache.prepare()
        with claimed(cache.claims, dest_claim(str(real_dest(pack.dest))), cancel):
            ledger = self._p.context.ledger
            room_for = lambda folder, size_bytes: require_space(folder, size_bytes, ledger)  # noqa: E731
            installer = Installer(pack, self._p.installs, cancel, room_for)
            installer.recover()
            if not self._force and self._settled(pack):
                return Placed(0, 0)
            installer.check_place()
            entry = None if self._force else self._shared_entry(pack.sha256)
            if entry is not None:
                return self._install(installer, pack, entry, file_name)
            # The archive goes while its files are installed, and is gone before the claim is.
            with claimed(cache.claims, pack.sha256, cancel), ThreadPoolExecutor(1, "tidy") as tidy:
                entry = self._cached_entry(pack)
                if entry is not None:
                    cache.sweep(pack.sha256)
                    return self._install(installer, pack, entry, file_name)
                entry, twin = self._fetch(pack, tidy)
                try:
                    return self._install(installer, pack, entry, file_name, twin)
                finally:
                    if twin is not None:
                        twin.remove()

    def _install(
        self, installer: Installer, pack: Pack, entry: Entry, file_name: str, twin: Twin | None = None
    ) -> Placed:
        self._p.progress.enter(f"installing {pack.title}")
        if entry.contents.kind == ArchiveKind.FILE and not file_name:
            raise PackError(
                f"{pack.title} is one file, and its url names none to install it as.",
                hint=f"See {pack.manifest}, line {pack.line}.",
            )
        with _explained(real_dest(pack.dest).parent):
            placed = installer.install(entry, file_name, force=self._force, twin=twin)
        self._p.cache.touch(entry)
        return placed

    def _settled(self, pack: Pack) -> bool:
        """Whether another process installed it meanwhile, or its files turn out to be unchanged when hashed."""
        install = self._p.installs.get(real_dest(pack.dest))
        status = self._status(pack)
        if install is None:
            return False
        settled, problems = settle(install, status.problems, Progress(), self._p.cancel)
        is_whole = status.state in {State.CURRENT, State.UNVERIFIED, State.MODIFIED} and install.sha256 == pack.sha256
        if problems or not is_whole:
            self._refuse_modified(pack, install, problems)
            return False
        self._p.installs.commit(settled)
        return True

    def _refuse_modified(self, pack: Pack, install: Install, problems: Sequence[FileProblem]) -> None:
        """Say at once, before anything is fetched, that files of this very pack were changed here."""
        modified = [(one.path, "modified") for one in problems if one.trouble is Trouble.MODIFIED]
        if modified and install.sha256 == pack.sha256:
            raise in_the_way(install.dest, modified)

    def _shared_entry(self, sha256: str) -> Entry | None:
        shared = self._p.shared
        entry = shared.load(sha256) if shared is not None else None
        if shared is None or entry is None:
            return None
        sound, damaged = shared.damage(entry, self._p.cancel)
        if damaged:
            self._p.say(f"{len(damaged)} files of {sha256[:12]} are damaged in {shared.folder}: it is fetched instead.")
            return None
        return sound

    def _cached_entry(self, pack: Pack) -> Entry | None:
        cache = self._p.cache
        entry = cache.load(pack.sha256)
        if entry is None or (self._force and pack.sha256 not in self._fetched):
            return None
        sound, damaged = cache.damage(entry, self._p.cancel)
        if damaged:
            self._p.say(f"{pack.title}: {len(damaged)} cached files are damaged ({damaged[0]}): it is fetched again.")
            return None
        return sound

    def _fetch(self, pack: Pack, tidy: Executor) -> tuple[Entry, Twin | None]:
        """Download, verify and unpack into the cache. Only for the holder of the claim on the digest."""
        cache, ledger = self._p.cache, self._p.context.ledger
        archive = cache.archive_path(pack.sha256)
        staged = cache.staging(pack.sha256)
        twin_at = staged.with_name(f"{staged.name}-twin") if may_have_twin(real_dest(pack.dest), staged) else None
        arriving = ArrivingPack(
            staged / "tree", self._p.cancel, lambda size_bytes: require_space(cache.folder, size_bytes, ledger), twin_at
        )
        try:
            if self._force or not self._is_whole(archive, pack):
                archive.unlink(missing_ok=True)
                self._download(pack, archive, arriving)
            self._p.progress.enter(f"unpacking {pack.title}")
            contents = arriving.result(archive)
            entry = cache.publish(staged, Entry(pack.sha256, staged, archive.stat().st_size, contents))
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            if arriving.twin is not None:
                arriving.twin.remove()
            raise
        tidy.submit(_remove, archive)
        self._fetched.add(pack.sha256)
        return entry, arriving.twin

    def _is_whole(self, archive: Path, pack: Pack) -> bool:
        """Whether the archive is here already, of a process that was killed before it had unpacked it."""
        found = hash_of(str(archive), self._p.cancel)
        return found is not None and found[0] == pack.sha256

    def _download(self, pack: Pack, archive: Path, arriving: ArrivingPack) -> None:
        from noeira_tui.transfer.download import download

        silent = self._silent.get(origin_url(pack, self._p.settings) or "")
        if silent is not None:
            raise silent
        settings, context, cancel = self._p.settings, self._p.context, self._p.cancel
        with pack_source(pack, settings, context.patience, cancel) as source:
            done = download(
                source,
                archive,
                Wanted(pack.sha256, pack.size_bytes),
                progress=Share(self._p.progress),
                cancel=cancel,
                context=context,
                tap=arriving,
            )
        self._transferred += done.bytes_transferred


def _remove(archive: Path) -> None:
    """Remove an archive that was unpacked; where that fails it stays as a leftover, which pruning names."""
    with suppress(OSError):
        archive.unlink(missing_ok=True)


def _file_name(pack: Pack) -> str:
    """What the pack is called if it turns out to be one file; empty when that is no name."""
    try:
        return member_path(pack.file_name)
    except ArchiveError:
        return ""


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say what a failed system call means; `folder` is where it was to write."""
    try:
        yield
    except OSError as err:
        if err.errno in FULL:
            raise disk_full(folder, 0) from err
        name = f"{err.filename}: " if err.filename else ""
        raise PackError(f"{name}{err.strerror or err}.", hint="Check the folder's permissions and its disk.") from err
