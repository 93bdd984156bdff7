"""The kind of job that verifies asset packs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from noeira_tui.core.settings import Settings
from noeira_tui.jobs.records import JobSpec
from noeira_tui.jobs.specs import spec_of
from noeira_tui.jobs.work import Work

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus, PacksVerified

MAX_PROBLEMS = 1000
"""So many files of a pack are named in a job's row; the pack's detail counts them all."""


@dataclass(frozen=True)
class AssetsVerify:
    """Hash the installed files of some asset packs, each named by its `assets.kv`'s path and its `name@version`."""

    kind: ClassVar[str] = "assets-verify"
    packs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, chosen: Iterable[PackStatus]) -> Self:
        """The verification of these packs."""
        return cls(tuple((str(pack.manifest), pack.title) for pack in chosen))

    def run(self, work: Work) -> PacksVerified:
        from noeira_tui.assets.packs import Packs
        from noeira_tui.assets.status import PacksVerified

        packs = Packs(work.settings, warn=lambda err: work.say(str(err)))
        wanted = {(manifest, title) for manifest, title in self.packs}
        found = packs.verify(chosen=wanted, progress=work.progress, cancel=work.cancel)
        return PacksVerified(tuple(replace(one, problems=one.problems[:MAX_PROBLEMS]) for one in found))

    def spec(self, settings: Settings) -> JobSpec:
        """The job that does this, detached. It moves nothing, so it waits for no slot."""
        title = self.packs[0][1] if len(self.packs) == 1 else f"{len(self.packs)} packs"
        return spec_of(
            self,
            settings,
            title=f"verify {title}",
            target=", ".join(title for _, title in self.packs),
            service_url=None,
            takes_slot=False,
        )
