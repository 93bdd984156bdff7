"""What the quality screen needs of the rest of the app: jobs, the inspector, starting an ingest, rejecting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.tui.quality_reading import Catalogs
    from noeira_tui.tui.rejecting import Rejecting


@dataclass(frozen=True)
class QualityLinks:
    """`inspect` opens an episode of a dataset; `ingest` starts the ingest of an address, `ingest_refusal` says why that
    cannot be done; `place_name` is where the catalog is, in few words."""

    catalogs: Catalogs
    rejecting: Rejecting
    jobs: Callable[[], tuple[JobRecord, ...]]
    inspect: Callable[[str, int | None], None]
    ingest: Callable[[str], None]
    ingest_refusal: Callable[[], str | None]
    quit: Callable[[], None]
