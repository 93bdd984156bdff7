"""Which declared packs a job works on, and what a job that verified some has found."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.core.errors import CancelledError, JobError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.jobs import process
from noeira_tui.jobs.kinds import AssetsPull, kind_of
from noeira_tui.jobs.pack_kinds import AssetsVerify
from noeira_tui.jobs.records import JobRecord, JobSpec, JobState
from noeira_tui.jobs.store import JobStore

if TYPE_CHECKING:
    from noeira_tui.assets.status import PackStatus

_POLL_S = 0.1


@lru_cache(maxsize=512)
def packs_of(spec: JobSpec) -> frozenset[tuple[str, str]]:
    """The packs of a pull or a verification, each by its manifest's path and `name@version`; none for other jobs."""
    if spec.kind not in {AssetsPull.kind, AssetsVerify.kind}:
        return frozenset()
    try:
        work = kind_of(spec)
    except JobError:
        # Another version's row: it is shown among the jobs all the same.
        return frozenset()
    if not isinstance(work, AssetsPull | AssetsVerify):
        return frozenset()
    return frozenset((manifest, title) for manifest, title in work.packs)


def follow_verification(
    store: JobStore, record: JobRecord, progress: Progress, cancel: CancelToken
) -> tuple[PackStatus, ...]:
    """Wait for a verification, telling how far it is; what it found. Cancelling stops the job too.

    Raises CancelledError when it was stopped, JobError when it failed or its process died, StateError.
    """
    while (now := _seen(store, record, progress)).is_live:
        try:
            cancel.sleep(_POLL_S)
        except CancelledError:
            _stop(store, record)
    if now.state is JobState.CANCELLED:
        raise CancelledError("Verification stopped.", hint="Files that were compared before are remembered.")
    if now.state is not JobState.DONE or now.result is None:
        failure = now.failure
        why = failure.message if failure is not None else "Its process ended."
        raise JobError(why, title=f"{now.spec.title}: {now.state}", hint="Try it again among the jobs.")
    return verified_in(now.result)


def _seen(store: JobStore, record: JobRecord, progress: Progress) -> JobRecord:
    now = store.get(record.id)
    progress.expect(size_bytes=now.progress.bytes_total)
    progress.rewind_to(now.progress.bytes_done)
    return now


def _stop(store: JobStore, record: JobRecord) -> None:
    try:
        process.cancel(store, record.id)
    except JobError:
        # It ended by itself just now, and its row says how.
        return


def verified_in(result: str) -> tuple[PackStatus, ...]:
    """The packs in the result of a verification. Raises JobError for one that this version cannot read."""
    from noeira_tui.assets.compare import FileProblem, Trouble
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.core.states import State

    try:
        return tuple(
            PackStatus(
                **{
                    **row,
                    "manifest": Path(row["manifest"]),
                    "dest": Path(row["dest"]),
                    "state": State(row["state"]),
                    "problems": tuple(FileProblem(one["path"], Trouble(one["trouble"])) for one in row["problems"]),
                }
            )
            for row in json.loads(result)["packs"]
        )
    except (ValueError, TypeError, KeyError) as err:
        raise JobError(f"What the verification found cannot be read: {err}.") from err
