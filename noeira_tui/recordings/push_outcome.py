"""What became of a pass of a push: the recording's state now, what readers can have, what the service would answer."""

from __future__ import annotations

from collections.abc import Collection

from noeira_tui.catalog.wire import FileRow, RecordingAnswer, RecordingRow, RowStatus
from noeira_tui.core.states import State
from noeira_tui.recordings.compare import FileState
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.mirror import Mirror, ready_rows
from noeira_tui.recordings.outcome import Held, Mirrored, Way
from noeira_tui.recordings.push_pass import PushPass
from noeira_tui.recordings.push_plan import PushPlan


def outcome_of(mirror: Mirror, plan: PushPlan, done: PushPass, *, dry_run: bool = False) -> Mirrored:
    """What a pass did; with `dry_run`, what it would do."""
    sender = done.sender
    held = [Held(file.path, file.reason or "") for file in plan.of(FileState.HELD)] + sender.held + done.held
    return Mirrored(
        way=Way.PUSH,
        project=mirror.project,
        dataset=mirror.dataset,
        state=plan.compared.state if dry_run else _state_now(mirror, plan, done),
        moved=tuple(file.path for file in plan.sends if dry_run or file.path in sender.sent),
        unchanged=len(plan.of(FileState.CURRENT)),
        held=tuple(held),
        failed=(*sender.failed, *done.failed),
        conflicts=mirror.conflicts(plan.of(FileState.DIVERGED), plan.answer),
        left=tuple(Held(file.path, "newer on the service") for file in plan.of(FileState.BEHIND))
        + tuple(Held(file.path, "only on the service") for file in plan.of(FileState.MISSING)),
        bytes_transferred=sender.bytes_transferred,
        requests=mirror.client.requests,
        elapsed_s=plan.elapsed_s,
        episodes=plan.local.episodes,
        episodes_sent=_visible(plan, done),
        revision=done.revision,
        made_project=done.made_project,
        dry_run=dry_run,
        repeat=done.repeat,
        problems=plan.local.problems,
    )


def _visible(plan: PushPlan, done: PushPass) -> int | None:
    """Episodes that a reader of the service can have now."""
    states = {file.path: file.state for file in plan.compared.files}
    if plan.compared.has_other_episodes:
        return 0
    if INFO in done.sender.sent or states.get(INFO) is FileState.CURRENT:
        return plan.local.readable_episodes
    told = plan.answer.recording.n_episodes if plan.answer is not None and INFO in done.there else 0
    return min(told or 0, plan.local.readable_episodes or 0)


def _state_now(mirror: Mirror, plan: PushPlan, done: PushPass) -> State:
    """The state after the pass, from what was compared before it and what arrived."""
    if not done.sender.sent:
        return plan.compared.state
    return mirror.compare(plan.local, answer_after(plan, done.sender.sent))[1].state


def answer_after(plan: PushPlan, sent: Collection[str]) -> RecordingAnswer:
    """What the service would answer now, after some of what was planned was sent."""
    rows = ready_rows(plan.answer)
    rows |= {
        file.path: FileRow(file.path, RowStatus.READY, file.sha256, file.size_bytes)
        for file in plan.sends
        if file.path in sent
    }
    told = plan.answer.recording if plan.answer is not None else RecordingRow(plan.local.dataset)
    return RecordingAnswer(told, tuple(rows.values()), plan.answer.revision if plan.answer is not None else None)
