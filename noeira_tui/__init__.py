"""What robot-learning data is on this box, what is missing or stale; pull it, push it, mirror it.

The library's front door is lazy: importing the package costs nothing, the first use of a name imports what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from noeira_tui.catalog.remote import RemoteCatalog
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.jobs.episode_kinds import ingest

__all__ = ["NoeiraError", "RemoteCatalog", "__version__", "ingest"]


def __getattr__(name: str) -> object:
    if name == "RemoteCatalog":
        from noeira_tui.catalog.remote import RemoteCatalog

        return RemoteCatalog
    if name == "NoeiraError":
        from noeira_tui.core.errors import NoeiraError

        return NoeiraError
    if name == "ingest":
        from noeira_tui.jobs.episode_kinds import ingest

        return ingest
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
