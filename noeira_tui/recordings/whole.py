"""A recording that is equal on both sides, remembered as a whole: the next push need not compare file by file."""

from __future__ import annotations

import json
import time

from noeira_tui.catalog.synced import WholeSync
from noeira_tui.catalog.wire import RecordingRow
from noeira_tui.core.states import State
from noeira_tui.recordings.info import read_finished
from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.outcome import Mirrored, Way
from noeira_tui.recordings.push_plan import require_project
from noeira_tui.recordings.tree import scan


def remember_whole(mirror: Mirror, outcome: Mirrored) -> None:
    """Remember that everything is equal, so that the next look at it need not compare file by file.

    Only for a service whose row of a recording changes with its files, which those with revisions do.
    """
    whole = mirror.synced.whole
    if outcome.dry_run or not outcome.is_clean or outcome.held or outcome.left or not mirror.files.keeps_revisions:
        return
    if outcome.state not in {State.CURRENT, State.RECORDING} or mirror.young:
        return
    tree = scan(mirror.folder)
    if not all(mirror.is_proven(path, stamp) for path, stamp in tree.files.items()):
        return
    row = mirror.files.row()
    if row is not None:
        mirror.synced.equal(WholeSync(tree.signature(), _row_text(row), whole.manifest))


def still_equal(mirror: Mirror) -> Mirrored | None:
    """The outcome when nothing changed here or there since everything was equal; None when that cannot be told."""
    whole = mirror.synced.whole
    if whole.signature is None or whole.service_row is None:
        return None
    began = time.monotonic()
    require_project(mirror)
    tree = scan(mirror.folder)
    if not tree.exists or tree.signature() != whole.signature or not mirror.files.keeps_revisions:
        return None
    row = mirror.files.row()
    if row is None or _row_text(row) != whole.service_row:
        return None
    return Mirrored(
        Way.PUSH,
        mirror.project,
        mirror.dataset,
        State.RECORDING if read_finished(mirror.folder) is False else State.CURRENT,
        unchanged=len(tree.files),
        requests=mirror.client.requests,
        elapsed_s=time.monotonic() - began,
        episodes=row.n_episodes,
        episodes_sent=row.n_episodes,
        problems=tree.problems,
    )


def _row_text(row: RecordingRow) -> str:
    return json.dumps(row.to_json(), sort_keys=True)
