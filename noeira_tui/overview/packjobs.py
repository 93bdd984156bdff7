"""Which declared packs a job works on, so that it can be shown beside them."""

from __future__ import annotations

from functools import lru_cache

from noeira_tui.core.errors import JobError
from noeira_tui.jobs.kinds import AssetsPull, kind_of
from noeira_tui.jobs.records import JobSpec


@lru_cache(maxsize=512)
def packs_of(spec: JobSpec) -> frozenset[tuple[str, str]]:
    """The packs of a pull, each by its manifest's path and `name@version`; none for another kind of job."""
    if spec.kind != AssetsPull.kind:
        return frozenset()
    try:
        work = kind_of(spec)
    except JobError:
        # Another version's row: it is shown among the jobs all the same.
        return frozenset()
    if not isinstance(work, AssetsPull):
        return frozenset()
    return frozenset((manifest, title) for manifest, title in work.packs)
