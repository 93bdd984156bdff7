"""The actions that open screens of their own: what `Pages` does.

Apart from the other actions, because each comes and goes with its screen.
"""

from __future__ import annotations

from noeira_tui.tui import reasons
from noeira_tui.tui.action import Action, Danger, Group
from noeira_tui.tui.rows import Place
from noeira_tui.tui.setup_actions import SETUP

_INSPECT = (
    Action(
        "inspect", ("i",), "inspect", "Look inside the highlighted recording or dataset, here or on the service, "
        "without downloading it.",
        Group.DATA, places=frozenset({Place.PROJECTS, Place.CATALOG}),
        elsewhere="This works on recordings and datasets of the catalog: press {projects} or {catalog}.",
        reason=reasons.why_no_inspect, footer=13,
    ),
    Action("inspect_uri", ("I",), "inspect address", "Look inside a dataset anywhere: type or paste a path, s3://, "
           "https://, hf://, gs:// or noeira:// address.", Group.DATA),
)  # fmt: skip

_CURATE = (
    Action(
        "ingest", ("g",), "ingest", "Register and score every episode of the highlighted recording or dataset, or of "
        "all marked ones, without their videos. Again is free.",
        Group.DATA, Danger.CHANGES, frozenset({Place.PROJECTS, Place.CATALOG}),
        "This works on recordings and datasets of the catalog: press {projects} or {catalog}.", reasons.why_no_ingest,
        footer=24,
    ),
    Action("quality", ("Q",), "quality", "How the ingested episodes score, what they are flagged for, the worst first.",
           Group.DATA),
)  # fmt: skip

PAGES: tuple[Action, ...] = (*_INSPECT, *_CURATE, *SETUP)
