"""Mirroring a recording while it is made: events say when to look, a rescan is the truth, nothing unneeded is asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from noeira_tui.catalog.wire import RecordingAnswer
from noeira_tui.core.errors import CancelledError, DatasetError, NoeiraError, RefusedError, ServiceError
from noeira_tui.core.states import State
from noeira_tui.recordings.events import FileEvents, Hints
from noeira_tui.recordings.layout import FOLDERS, INFO
from noeira_tui.recordings.mirror import Mirror
from noeira_tui.recordings.outcome import Held, Mirrored, Way
from noeira_tui.recordings.push import foretold, run_push
from noeira_tui.recordings.push_outcome import answer_after
from noeira_tui.recordings.push_plan import PushPlan, plan_push, require_project
from noeira_tui.recordings.read import FINISHED_QUIET_S, RECORDER_QUIET_S, LocalRecording
from noeira_tui.recordings.tree import Tree, changed_paths, glance, scan, touch
from noeira_tui.recordings.whole import remember_whole

DEFAULT_EVERY_S = 60.0
_SCAN_SHARE = 0.001
"""The part of one core that looking again and again may take, whatever the size of the tree."""
_COMPARE_SHARE = 0.1
"""The part of one core that comparing may take while a recorder writes without a pause."""
_YOUNG_S = 2.5
_RETRY_S = (1.0, 60.0)
_MARGIN_S = 1.0
_LISTENS = 3


@dataclass(frozen=True)
class WatchEvent:
    """Something a watch did or met. `at` is seconds since the epoch, `text` says it to a person.

    `event` is `started`, `sent`, `held`, `conflict`, `failed`, `waiting`, `notice`, `gone`, `back`, `stopped` or
    `finished`; `outcome` is there for those that end a pass, and sums up the whole watch for the last two.
    """

    event: str
    at: float
    text: str
    outcome: Mirrored | None = None


class Watch:
    """One watch of one recording; `run` goes on until the recorder has finished and everything is sent.

    It only reads the recording, so that stopping it at any moment is safe.
    """

    def __init__(
        self,
        mirror: Mirror,
        *,
        every_s: float = DEFAULT_EVERY_S,
        force: bool = False,
        tell: Callable[[WatchEvent], None] = lambda event: None,
        hints: Hints | None = None,
    ) -> None:
        """A rescan at least every `every_s` seconds, less often where it would cost too much."""
        self._mirror = mirror
        self._every_s = every_s
        self._force = force
        self._tell_event = tell
        self._hints = hints or FileEvents(mirror.folder, self._notice_once)
        self._tree = Tree(exists=False)
        self._considered: Tree | None = None
        self._answer: RecordingAnswer | None = None
        self._asked = False
        self._heard = False
        self._local: LocalRecording | None = None
        self._last: Mirrored | None = None
        self._moved: dict[str, None] = {}
        self._began = time.monotonic()
        self._bytes = 0
        self._storage_requests = 0
        self._sent_at: float | None = None
        self._revision: int | None = None
        self._noticed = False
        self._was_gone = False
        self._troubles = 0
        self._why = ""
        self._scan_s = 0.0
        self._reported: set[str] = set()
        self._missed_events = False
        never = float("inf")
        self._scan_at = 0.0
        self._glance_at = never
        self._retry_at = never
        self._young_at = never
        self._recheck_at = never
        self._not_before = 0.0
        self._told_held: tuple[Held, ...] = ()
        self._told_conflicts: frozenset[str] = frozenset()

    def run(self) -> Mirrored:
        """Watch until the recorder has finished and everything is sent. Raises DatasetError, ServiceError for what
        no waiting mends, CancelledError."""
        require_project(self._mirror)
        self._tell("started", f"watching {self._mirror.folder}")
        try:
            while True:
                self._observe()
                if self._is_due():
                    self._consider()
                if self._is_over():
                    break
                self._wait()
        except CancelledError:
            self._tell("stopped", "stopped; what was sent is kept", self.summary())
            raise
        finally:
            self._hints.close()
        done = self.summary()
        remember_whole(self._mirror, done)
        self._tell("finished", f"the recorder has finished; {len(self._moved)} files sent", done)
        return done

    def summary(self) -> Mirrored:
        """What the watch did so far."""
        mirror = self._mirror
        last = self._last or Mirrored(Way.PUSH, mirror.project, mirror.dataset, State.UNKNOWN)
        return replace(
            last,
            revision=self._revision or last.revision,
            moved=tuple(self._moved),
            bytes_transferred=self._bytes,
            requests=mirror.client.requests + self._storage_requests,
            elapsed_s=time.monotonic() - self._began,
        )

    # -- looking

    def _observe(self) -> None:
        """Bring the tree up to date where that is due."""
        now = time.monotonic()
        if now >= self._scan_at or not self._tree.exists:
            self._rescan(now)
        elif now >= self._glance_at:
            began = time.thread_time()
            self._see(glance(self._mirror.folder, self._tree), by_event=False)
            cost_s = time.thread_time() - began
            self._glance_at = time.monotonic() + max(self._every_s, cost_s / _SCAN_SHARE)

    def _rescan(self, now: float) -> None:
        began = time.thread_time()
        tree = scan(self._mirror.folder)
        first = self._considered is None
        self._see(tree, by_event=first)
        cost_s = time.thread_time() - began
        self._scan_at = time.monotonic() + max(self._every_s, cost_s / _SCAN_SHARE)
        if not self._glances_help:
            self._glance_at = float("inf")
        elif self._glance_at == float("inf"):
            self._glance_at = now + self._every_s

    @property
    def _glances_help(self) -> bool:
        """Whether looking at folders only, in between, finds new files sooner: when events do not tell of them."""
        return self._missed_events or not getattr(self._hints, "works", True)

    def _see(self, tree: Tree, *, by_event: bool) -> None:
        if not by_event and self._tree.exists and tree.exists:
            missed = [path for path in changed_paths(self._tree, tree) if path not in self._reported]
            if missed and not self._missed_events:
                self._missed_events = True
                self._notice_once(f"no file event told of {missed[0]}; changes are found by looking again and again")
        self._reported.clear()
        self._tree = tree = self._listened(tree)
        if tree.exists:
            if self._was_gone:
                self._was_gone = False
                self._tell("back", f"{self._mirror.folder} is there again")
                self._show()
        elif self._considered is not None and not self._was_gone:
            self._was_gone = True
            self._tell("gone", f"{self._mirror.folder} is gone; nothing is removed from the service")
            self._show()
        elif self._considered is None and not self._was_gone:
            self._was_gone = True
            self._tell("waiting", f"{self._mirror.folder} is not there yet")
            self._show()

    def _listened(self, tree: Tree) -> Tree:
        """The tree with its folders listened to, and with what changed in the moment before: that shows in no event."""
        for _ in range(_LISTENS):
            if not tree.exists or not self._hints.watch((*FOLDERS, *tree.folders)):
                break
            tree = scan(self._mirror.folder)
        return tree

    def _wait(self) -> None:
        now = time.monotonic()
        until = min(self._scan_at, self._glance_at, self._retry_at, self._young_at, self._recheck_at)
        if not self._tree.exists:
            until = min(until, now + min(self._every_s, _MARGIN_S * 2))
        if self._has_changes():
            until = min(until, self._not_before)
        paths = self._hints.wait(max(0.01, until - now), self._mirror.work.cancel)
        if not paths:
            return
        self._reported |= paths
        tree = touch(self._mirror.folder, self._tree, paths)
        if tree.folders.keys() - self._tree.folders.keys():
            tree = self._listened(tree)
        self._reported |= set(changed_paths(self._tree, tree))
        if self._mirror.folder.is_dir():
            self._tree = tree
        else:
            self._see(Tree(exists=False), by_event=True)

    # -- deciding

    def _has_changes(self) -> bool:
        return self._considered is None or self._tree.files is not self._considered.files

    def _is_due(self) -> bool:
        now = time.monotonic()
        if not self._tree.exists:
            return False
        if now >= self._young_at:
            self._mirror.forget_young()
            return True
        if now >= min(self._retry_at, self._recheck_at):
            return True
        if not self._has_changes() or now < self._not_before or now < (self._retry_at if self._troubles else 0.0):
            return False
        if self._considered is None:
            return True
        changed = changed_paths(self._considered, self._tree)
        if not changed:
            self._considered = self._tree
            return False
        return not all(self._is_open(path) for path in changed)

    def _is_open(self, path: str) -> bool:
        """Whether a changed file is still being written: nothing to be done before it is closed."""
        stamp = self._tree.files.get(path)
        if stamp is None:
            return False
        try:
            return self._mirror.incompleteness(path, stamp) is not None
        except OSError:
            return False

    def _consider(self) -> None:
        """Compare; make a pass when there is something to send."""
        # This thread's own work is what grows with the tree; hashing and sending, on others, are worth their time.
        began = time.thread_time()
        tree = self._tree
        self._retry_at = self._young_at = self._recheck_at = float("inf")
        try:
            if self._asked and self._nothing_to_send(tree):
                self._troubles = 0
            else:
                self._pass(tree)
        except CancelledError:
            raise
        except DatasetError as err:
            # The folder went while it was looked at: the next look tells.
            self._notice(err.message)
            self._trouble()
        except ServiceError as err:
            if not self._heard and isinstance(err, RefusedError) and not err.retryable:
                raise
            self._trouble(err)
        else:
            self._considered = tree
        spent_s = time.thread_time() - began
        self._not_before = time.monotonic() + (spent_s / _COMPARE_SHARE if spent_s > _MARGIN_S / 5 else 0.0)
        if self._mirror.young and not self._troubles:
            self._young_at = time.monotonic() + _YOUNG_S
        self._show()

    def _nothing_to_send(self, tree: Tree) -> bool:
        mirror = self._mirror
        local, compared = mirror.compare(mirror.look(tree), self._answer, force_push=self._force)
        plan = PushPlan(local, self._answer, compared)
        if plan.sends:
            return False
        mirror.note_equal(local, compared)
        self._note(plan, replace(foretold(mirror, plan), moved=(), dry_run=False))
        return True

    def _pass(self, tree: Tree) -> None:
        mirror = self._mirror
        requests = mirror.client.requests
        plan = plan_push(mirror, tree=tree, force=self._force)
        # From here on the service is known to answer us: what it refuses later is waited for.
        self._heard, self._asked = True, False
        outcome = run_push(mirror, plan)
        self._answer = answer_after(plan, outcome.moved)
        self._asked = True
        self._troubles = 0
        self._bytes += outcome.bytes_transferred
        self._storage_requests += max(0, outcome.requests - (mirror.client.requests - requests))
        self._moved |= dict.fromkeys(outcome.moved)
        self._revision = outcome.revision or self._revision
        if outcome.moved:
            self._sent_at = time.time()
            seen = "" if outcome.episodes is None else f"; {outcome.episodes_sent} of {outcome.episodes} episodes there"
            self._tell("sent", f"sent {len(outcome.moved)} files{seen}", outcome)
        if outcome.failed:
            first = outcome.failed[0]
            self._tell("failed", f"{len(outcome.failed)} files failed; {first.path}: {first.error}", outcome)
            self._trouble()
        elif outcome.repeat:
            self._retry_at = time.monotonic()
        self._note(plan, outcome)

    def _trouble(self, err: NoeiraError | None = None) -> None:
        """Try again later, each time a little later; the same words once."""
        self._troubles += 1
        self._why = "" if err is None else f": {err.title}"
        wait_s = min(_RETRY_S[0] * 2 ** (self._troubles - 1), _RETRY_S[1])
        self._retry_at = time.monotonic() + wait_s
        if err is not None and self._troubles == 1:
            self._tell("waiting", f"{err.title}: {err.message} Waiting; the watch goes on.")

    def _note(self, plan: PushPlan, outcome: Mirrored) -> None:
        self._local, self._last = plan.local, outcome
        if outcome.held != self._told_held:
            self._told_held = outcome.held
            words = "; ".join(f"{held.path}: {held.reason}" for held in outcome.held[:3]) or "nothing"
            more = f" and {len(outcome.held) - 3} more" if len(outcome.held) > 3 else ""
            self._tell("held", f"held back: {words}{more}", outcome)
        conflicts = frozenset(conflict.path for conflict in outcome.conflicts)
        if conflicts - self._told_conflicts:
            self._tell("conflict", f"in conflict, left as they are: {', '.join(sorted(conflicts)[:5])}", outcome)
        self._told_conflicts = conflicts
        self._plan_recheck(outcome)

    def _plan_recheck(self, outcome: Mirrored) -> None:
        """Some verdicts change with time alone: what nobody writes to any more settles, and a recording finishes."""
        assert self._local is not None
        local = self._local
        moments = [RECORDER_QUIET_S] if outcome.held else []
        moments += [FINISHED_QUIET_S] if local.finished is None else []
        left = [moment - local.quiet_s for moment in moments if moment > local.quiet_s]
        if left:
            self._recheck_at = time.monotonic() + min(left) + _MARGIN_S

    def _is_over(self) -> bool:
        if self._local is None or self._last is None or self._troubles or not self._tree.exists:
            return False
        if self._last.failed or self._last.repeat or self._mirror.young or self._has_changes():
            return False
        if not self._local.has_finished:
            return False
        return not self._last.held or self._local.quiet_s > RECORDER_QUIET_S

    # -- telling

    def _show(self) -> None:
        """Counts and one line for the job's row: they change only when something happened."""
        progress, last = self._mirror.work.progress, self._last
        folder = "waits for its folder" if self._considered is None else "its folder is gone, nothing is removed there"
        gone = [folder] if self._was_gone else []
        waits = [f"waiting to try again{self._why}"] if self._troubles else []
        if last is None:
            progress.enter(" \u00b7 ".join(gone or waits) or progress.snapshot().phase)
            return
        recorded, sent = last.episodes or 0, last.episodes_sent or 0
        progress.expect(items=recorded)
        progress.item_done(sent - progress.snapshot().items_done)
        words = [f"{sent} of {recorded} episodes sent"]
        if last.held:
            # What info.json waits for is what readers wait for.
            why = next((held.reason for held in last.held if held.path == INFO), last.held[0].reason)
            words.append(f"{len(last.held)} held back ({why})")
        if last.conflicts:
            words.append(f"{len(last.conflicts)} in conflict")
        words += gone or waits
        if self._sent_at is not None:
            moment = datetime.fromtimestamp(self._sent_at).astimezone()
            words.append(f"last sent {moment.isoformat(timespec='seconds')[11:19]}")
        progress.enter(" · ".join(words))

    def _tell(self, event: str, text: str, outcome: Mirrored | None = None) -> None:
        self._tell_event(WatchEvent(event, time.time(), text, outcome))

    def _notice(self, text: str) -> None:
        self._tell("notice", text)

    def _notice_once(self, text: str) -> None:
        if not self._noticed:
            self._noticed = True
            self._notice(text)
