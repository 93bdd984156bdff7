"""`Packs`: what a command, a job or the app asks of the asset packs below a root, and does with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.assets.cache import PackCache
from noeira_tui.assets.compare import settle
from noeira_tui.assets.discover import MANIFEST_NAME
from noeira_tui.assets.facts import BrokenPack, Pack
from noeira_tui.assets.records import Install, Installs, real_dest
from noeira_tui.assets.status import PackStatus, declared_packs, pack_status
from noeira_tui.core.errors import StateError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.transfer.facts import ALONE, TransferContext

if TYPE_CHECKING:
    from noeira_tui.assets.keep import CachedPack
    from noeira_tui.assets.pull import PacksPulled
    from noeira_tui.assets.where import PackWhere

PackKey = tuple[str, str]
"""A declared pack by its manifest's path and its `name@version`."""


class Packs:
    """The asset packs of one root. May be shared between threads; every call looks at the disk anew."""

    def __init__(self, settings: Settings, *, warn: Callable[[StateError], None] | None = None) -> None:
        self.settings = settings
        self.cache = PackCache(settings.cache_dir / "assets")
        shared = settings.shared_cache_dir
        # Whoever names a lab's NOEIRA_CACHE or the folder of packs in it means the same.
        self.shared = None if shared is None else PackCache(_assets_below(shared), read_only=True)
        self.installs = Installs(StateDb(settings.state_dir), warn)

    def declared(self, filter_text: str = "") -> tuple[Pack | BrokenPack, ...]:
        """The packs declared below the root whose manifest's path contains `filter_text`, sound and broken ones."""
        return self._declared(filter_text, self.installs.all())

    def states(self, filter_text: str = "") -> tuple[PackStatus, ...]:
        """The state of each of them; no installed file is opened. Never raises."""
        noted, moves = self.installs.all(), self.installs.moves()
        return tuple(
            self._with_cache(pack_status(pack, noted.get(real_dest(pack.dest)), moves.get(real_dest(pack.dest))))
            for pack in self._declared(filter_text, noted)
        )

    def verify(
        self,
        filter_text: str = "",
        *,
        chosen: Collection[PackKey] | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> tuple[PackStatus, ...]:
        """The same, certain: every installed file of the packs (or of the `chosen`) is hashed.

        What turned out to be unchanged is `current` from then on, and what is not stays `modified`. Raises
        CancelledError.
        """
        progress, cancel = progress or Progress(), cancel or CancelToken()
        noted, moves = self.installs.all(), self.installs.moves()
        packs = self._chosen(filter_text, chosen)
        sizes = [sum(found.sizes) for pack in packs if (found := noted.get(real_dest(pack.dest))) is not None]
        progress.enter("hashing")
        progress.expect(size_bytes=sum(sizes), items=len(packs))
        states: list[PackStatus] = []
        for pack in packs:
            dest = real_dest(pack.dest)
            install, problems = noted.get(dest), None
            if install is not None and isinstance(pack, Pack):
                install, problems = settle(install, None, progress, cancel)
                if list(install.mtimes_ns) != list(noted[dest].mtimes_ns):
                    self.installs.note_times(install)
            states.append(self._with_cache(pack_status(pack, install, moves.get(dest), problems)))
            progress.item_done()
        return tuple(states)

    def where(self, filter_text: str = "") -> tuple[PackWhere, ...]:
        """Where each sound pack is fetched from, and with what. Raises ConfigError."""
        from noeira_tui.assets.where import pack_where

        return tuple(pack_where(pack, self.settings) for pack in self.declared(filter_text) if isinstance(pack, Pack))

    def pull(
        self,
        filter_text: str = "",
        *,
        chosen: Collection[PackKey] | None = None,
        force: bool = False,
        context: TransferContext = ALONE,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> PacksPulled:
        """Have the packs (or the `chosen`) installed. Raises PacksFailedError after trying all, CancelledError."""
        from noeira_tui.assets.pull import Pulling, pull_packs

        pulling = Pulling(
            self.settings,
            self.cache,
            self.shared,
            self.installs,
            context,
            progress or Progress(),
            cancel or CancelToken(),
            say,
        )
        return pull_packs(pulling, self._chosen(filter_text, chosen), force=force)

    def cached(self) -> tuple[CachedPack, ...]:
        """What the cache holds, and then the shared one, with who uses it."""
        from noeira_tui.assets.keep import list_cache

        shared = () if self.shared is None else list_cache(self.shared, self.installs)
        return (*list_cache(self.cache, self.installs), *shared)

    def prune(self, chosen: Sequence[CachedPack], cancel: CancelToken | None = None) -> tuple[CachedPack, ...]:
        """Remove what nobody uses of what was listed; what was removed. Raises PackError, CancelledError."""
        from noeira_tui.assets.keep import prune

        return prune(self.cache, self.installs, chosen, cancel or CancelToken())

    def _declared(self, filter_text: str, noted: Mapping[Path, Install]) -> tuple[Pack | BrokenPack, ...]:
        """What is declared. An `assets.kv` that came with an installed pack is a file of that pack, no declaration:
        else a pack could make this box fetch, with this box's tokens, whatever it names."""
        came = {
            install.dest / path for install in noted.values() for path in install.paths if path.endswith(MANIFEST_NAME)
        }
        return declared_packs(self.settings.root, filter_text=filter_text, skip=self._skipped(), ignore=came)[0]

    def _chosen(self, filter_text: str, chosen: Collection[PackKey] | None) -> tuple[Pack | BrokenPack, ...]:
        packs = self.declared(filter_text)
        if chosen is None:
            return packs
        return tuple(pack for pack in packs if (str(pack.manifest), pack.title) in chosen)

    def _with_cache(self, status: PackStatus) -> PackStatus:
        caches = [cache for cache in (self.shared, self.cache) if cache is not None]
        sha256 = status.sha256
        if sha256 is None or not any((cache.packs / sha256 / "index.json").is_file() for cache in caches):
            return status
        return replace(status, is_cached=True)

    def _skipped(self) -> tuple[Path, ...]:
        return tuple(cache.folder for cache in (self.cache, self.shared) if cache is not None)


def _assets_below(folder: Path) -> Path:
    return folder if (folder / "packs").is_dir() else folder / "assets"
