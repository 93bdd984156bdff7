"""Mirroring a recording up: compare once, show it or do it, and never let `info.json` run ahead of what it names."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noeira_tui.catalog.recordingfiles import NotStored
from noeira_tui.catalog.synced import WholeSync
from noeira_tui.catalog.wire import FileRow, RecordingAnswer, RecordingRow, RowStatus
from noeira_tui.core.errors import DatasetError, RefusedError
from noeira_tui.core.states import State
from noeira_tui.recordings.compare import FileComparison, FileState, RecordingState
from noeira_tui.recordings.info import read_finished
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.mirror import Mirror, ready_rows
from noeira_tui.recordings.outcome import Failure, Held, MirrorConflict, Mirrored, Way
from noeira_tui.recordings.projects import parse_project
from noeira_tui.recordings.read import LocalRecording
from noeira_tui.recordings.send import Sender
from noeira_tui.recordings.settle import needed_by_info
from noeira_tui.recordings.spool import spooled
from noeira_tui.recordings.tree import Stamp, Tree, scan

_MAX_PASSES = 5
_MAX_DESCRIPTION = 4096


@dataclass(frozen=True)
class PushPlan:
    """What one pass would do: the recording as it was, the service's answer, and the two compared."""

    local: LocalRecording
    answer: RecordingAnswer | None
    compared: RecordingState
    elapsed_s: float = 0.0
    force: bool = False

    def of(self, *states: FileState) -> tuple[FileComparison, ...]:
        """The files in some of the states, in the order in which they travel."""
        return tuple(file for file in self.compared.files if file.state in states)

    @property
    def sends(self) -> tuple[FileComparison, ...]:
        return self.of(FileState.AHEAD)


def plan_push(mirror: Mirror, *, tree: Tree | None = None, force: bool = False) -> PushPlan:
    """Compare both sides with one request for the service's files; changes nothing anywhere.

    Raises DatasetError for a project or a recording that is not here, ServiceError, CancelledError.
    """
    began = time.monotonic()
    require_project(mirror)
    tree = scan(mirror.folder) if tree is None else tree
    if not tree.exists:
        raise DatasetError(
            f"There is no recording {mirror.dataset!r} in {mirror.folder.parent}. Nothing was made anywhere.",
            title="No such recording",
            hint=f"`noeira-tui dataset list --project {mirror.project}` shows them.",
        )
    mirror.work.progress.enter("comparing")
    answer = mirror.files.working()
    local, compared = mirror.compare(mirror.look(tree), answer, force_push=force)
    return PushPlan(local, answer, compared, time.monotonic() - began, force)


def require_project(mirror: Mirror) -> None:
    """Refuse a project that does not exist here: a typo must not create anything. Raises DatasetError."""
    if not mirror.definition.is_file():
        raise DatasetError(
            f"There is no project {mirror.project!r} here: {mirror.definition} does not exist. "
            "Nothing was made anywhere.",
            title="No such project",
            hint=f"A project is a folder with a {mirror.definition.name}; check the name, or write one.",
        )


def foretold(mirror: Mirror, plan: PushPlan) -> Mirrored:
    """The outcome of a dry run: what would be sent."""
    return _outcome(mirror, plan, _Done(mirror, plan), dry_run=True)


def push(mirror: Mirror, *, force: bool = False) -> Mirrored:
    """Send what the service lacks, again as long as `info.json` changes meanwhile (five passes at most).

    Raises DatasetError for a project or a recording that is not here, ServiceError, CancelledError. What moved before
    is remembered, and pushing again is safe.
    """
    if not force and (equal := _still_equal(mirror)) is not None:
        return equal
    outcome = run_push(mirror, plan_push(mirror, force=force))
    moved, transferred, elapsed_s = outcome.moved, outcome.bytes_transferred, outcome.elapsed_s
    for _ in range(_MAX_PASSES - 1):
        if not outcome.repeat:
            break
        outcome = run_push(mirror, plan_push(mirror, force=force))
        moved = tuple(dict.fromkeys(moved + outcome.moved))
        transferred += outcome.bytes_transferred
        elapsed_s += outcome.elapsed_s
    remember_whole(mirror, outcome)
    return replace(
        outcome,
        moved=moved,
        bytes_transferred=transferred,
        elapsed_s=elapsed_s,
        requests=max(outcome.requests, mirror.client.requests),
    )


def run_push(mirror: Mirror, plan: PushPlan) -> Mirrored:
    """Do what a plan says, in the order that keeps readers safe. Raises ServiceError, CancelledError."""
    done = _Done(mirror, plan)
    began = time.monotonic()
    requests = mirror.client.requests
    work = mirror.work
    done_before = work.progress.snapshot().bytes_done
    work.progress.expect(size_bytes=done_before + sum(file.size_bytes for file in plan.sends))
    try:
        if plan.sends and plan.answer is None:
            done.announce()
        work.progress.enter("uploading")
        done.send()
    finally:
        done.sender.close()
    note_equal(mirror, plan)
    done.commit()
    outcome = _outcome(mirror, plan, done)
    spent = mirror.client.requests - requests + done.sender.requests
    return replace(outcome, requests=spent, elapsed_s=plan.elapsed_s + time.monotonic() - began)


def note_equal(mirror: Mirror, plan: PushPlan) -> None:
    """Remember the contents that both sides have now."""
    stamps = {file.path: file.stamp for file in plan.local.files}
    mirror.synced.synced(
        mirror.equal(file.path, file.sha256, stamps.get(file.path))
        for file in plan.of(FileState.CURRENT)
        if file.sha256 is not None
    )


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


def _still_equal(mirror: Mirror) -> Mirrored | None:
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


def _description(definition: Path) -> str | None:
    try:
        text = parse_project(definition.read_bytes()).description
    except OSError as err:
        raise DatasetError(f"{definition} cannot be read: {err.strerror or err}.", title="Project") from err
    if text is None:
        return None
    return "".join(character if character.isprintable() else " " for character in text).strip()[:_MAX_DESCRIPTION]


_Counts = tuple[int | None, int | None, float | None]


def _counts(local: LocalRecording) -> _Counts:
    """Episodes, frames and fps of what can be read."""
    episodes = local.readable_episodes
    frames = local.tables.frames if local.tables is not None and episodes != local.episodes else local.frames
    return episodes, frames, local.fps


class _Done:
    """What a pass has done so far."""

    def __init__(self, mirror: Mirror, plan: PushPlan) -> None:
        self._mirror = mirror
        self._plan = plan
        self.there = {path: row.sha256 or "" for path, row in ready_rows(plan.answer).items()}
        stamps = {file.path: file.stamp for file in plan.local.files}
        self.sender = Sender(mirror, stamps, None if plan.force else self.there)
        self.held: list[Held] = []
        self.failed: list[Failure] = []
        self.made_project = False
        told = plan.answer.recording if plan.answer is not None else None
        self._told: _Counts | None = None if told is None else (told.n_episodes, told.n_frames, told.fps)
        self.repeat = False
        self.revision = plan.answer.revision if plan.answer is not None else None

    def announce(self) -> None:
        """Tell the service of the recording, unless it knows; a project that is not there is made.

        What is told is what readers get: beside a first word, the counts go with the `info.json` that has them.
        """
        mirror, counts = self._mirror, _counts(self._plan.local)
        if self._told == counts:
            return
        episodes, frames, fps = counts
        try:
            mirror.files.announce(n_episodes=episodes, n_frames=frames, fps=fps)
        except RefusedError as err:
            if err.status != 404:
                raise
            mirror.client.put_project(mirror.project, _description(mirror.definition))
            mirror.files.announce(n_episodes=episodes, n_frames=frames, fps=fps)
            self.made_project = True
        self._told = counts

    def send(self) -> None:
        """Videos and data, then `meta/`, `info.json` last; each only when what it needs has arrived."""
        files = self._plan.sends
        closing = [file for file in files if file.path.startswith("meta/")]
        with spooled(self._mirror.folder, closing) as copies:
            self.sender.send([file for file in files if not file.path.startswith("meta/")])
            if copies is None:
                self.repeat = True
                self._hold(closing, "meta/ changed meanwhile")
            elif not self._needed_arrived():
                self._hold(closing, "what it names did not arrive")
            else:
                self.sender.copies = copies
                self._send_closing(closing)
        self.repeat = self.repeat or (bool(closing) and self._meta_changed())

    def _send_closing(self, closing: Sequence[FileComparison]) -> None:
        self.sender.send([file for file in closing if file.path != INFO])
        info = [file for file in closing if file.path == INFO]
        if not self._needed_arrived():
            self._hold(info, "what it names did not arrive")
        elif info and not self.sender.copies and self._meta_changed():
            self._hold(info, "meta/ changed meanwhile")
        elif info:
            self.announce()
            self.sender.send(info)
        elif self._has_our_info():
            # Whoever sent it was killed before, or the counts were told by another box.
            self.announce()

    def _has_our_info(self) -> bool:
        local = self._plan.local
        return local.readable_episodes == local.episodes and any(
            file.path == INFO and file.state is FileState.CURRENT for file in self._plan.compared.files
        )

    def commit(self) -> None:
        """Commit a revision when readers would get something new and whole."""
        if not self._mirror.files.keeps_revisions or not self._is_whole():
            return
        manifest = self.there | self.sender.sent
        text = json.dumps(sorted(manifest.items()))
        whole = self._mirror.synced.whole
        signature = hashlib.sha256(text.encode()).hexdigest()
        if not self.sender.sent and whole.manifest == signature:
            return
        told = self._mirror.files.commit(
            manifest, n_episodes=self._plan.local.readable_episodes, n_frames=self._plan.local.frames
        )
        if isinstance(told, NotStored):
            self.failed += [Failure(path, "the service does not have it any more") for path in told.paths]
            return
        self.revision = told.revision
        self._mirror.synced.equal(replace(whole, manifest=signature))

    def _is_whole(self) -> bool:
        """Whether `info.json` and all that it needs are there in the contents that were compared."""
        wanted = needed_by_info(self._plan.local) | {INFO}
        states = {file.path: file.state for file in self._plan.compared.files}
        there = self.there.keys() | self.sender.sent.keys()
        if not wanted <= there:
            return False
        unsent = {file.path for file in self._plan.sends} - self.sender.sent.keys()
        return not any(
            path in unsent or states.get(path) not in {FileState.CURRENT, FileState.AHEAD, FileState.MISSING}
            for path in wanted
        )

    def _needed_arrived(self) -> bool:
        troubled = {item.path for item in self.sender.failed} | {item.path for item in self.sender.held}
        return not troubled & needed_by_info(self._plan.local)

    def _meta_changed(self) -> bool:
        for file in self._plan.local.files:
            if not file.path.startswith("meta/"):
                continue
            try:
                stat = (self._mirror.folder / file.path).stat()
            except OSError:
                return True
            if Stamp.of(stat) != file.stamp:
                return True
        return False

    def _hold(self, files: Iterable[FileComparison], reason: str) -> None:
        self.held += [Held(file.path, reason) for file in files]


def _outcome(mirror: Mirror, plan: PushPlan, done: _Done, *, dry_run: bool = False) -> Mirrored:
    sender = done.sender
    held = [Held(file.path, file.reason or "") for file in plan.of(FileState.HELD)] + sender.held + done.held
    bases = mirror.synced.files
    return Mirrored(
        way=Way.PUSH,
        project=mirror.project,
        dataset=mirror.dataset,
        state=plan.compared.state if dry_run else _state_now(mirror, plan, done),
        moved=tuple(file.path for file in plan.sends if dry_run or file.path in sender.sent),
        unchanged=len(plan.of(FileState.CURRENT)),
        held=tuple(held),
        failed=(*sender.failed, *done.failed),
        conflicts=tuple(
            MirrorConflict(
                path=file.path,
                here=file.sha256,
                there=done.there.get(file.path),
                base=bases[file.path].sha256 if file.path in bases else None,
                reason=file.reason or "",
            )
            for file in plan.of(FileState.DIVERGED)
        ),
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


def _visible(plan: PushPlan, done: _Done) -> int | None:
    """Episodes that a reader of the service can have now."""
    states = {file.path: file.state for file in plan.compared.files}
    if INFO in done.sender.sent or states.get(INFO) is FileState.CURRENT:
        return plan.local.readable_episodes
    told = plan.answer.recording.n_episodes if plan.answer is not None and INFO in done.there else 0
    return min(told or 0, plan.local.readable_episodes or 0)


def _state_now(mirror: Mirror, plan: PushPlan, done: _Done) -> State:
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
