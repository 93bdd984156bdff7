"""A watch: what it sends and when, what it survives, and that an idle one does nothing."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError, NetworkError, NoeiraError, RefusedError, UnreachableError
from noeira_tui.core.progress import CancelToken
from noeira_tui.recordings import mirror as mirror_module
from noeira_tui.recordings import send
from noeira_tui.recordings import watch as watch_module
from noeira_tui.recordings.events import FileEvents, Hints
from noeira_tui.recordings.outcome import Mirrored
from noeira_tui.recordings.push import push
from noeira_tui.recordings.watch import Watch, WatchEvent
from tests.recordings.mirrors import MirrorBox, age, everything, new_box, new_project, on_service, tree
from tests.support.recorders import CheckpointingRecorder, LeRobotRecorder
from tests.support.service_fixture import RunningService
from tests.support.waiting import until

VIDEO = "videos/observation.images.front/chunk-000/file-{:03d}.mp4"


@pytest.fixture
def box(service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MirrorBox:
    """Here a file is young for 0.3 s, and looked at again after that: a tenth of the time that passes elsewhere."""
    monkeypatch.setattr(mirror_module, "YOUNG_NS", 300_000_000)
    monkeypatch.setattr(watch_module, "_YOUNG_S", 0.3)
    monkeypatch.setattr(watch_module, "_RETRY_S", (0.05, 0.2))
    return new_box(service, tmp_path / "a", new_project())


class Running:
    """A watch on a thread of its own; `events` are what it told."""

    def __init__(self, box: MirrorBox, every_s: float = 0.3, hints: Hints | None = None, force: bool = False) -> None:
        self.box = box
        self.events: list[WatchEvent] = []
        self.outcome: Mirrored | None = None
        self.error: BaseException | None = None
        self.mirror = box.mirror()
        self._watch = Watch(self.mirror, every_s=every_s, tell=self.events.append, hints=hints, force=force)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.box.cancel.cancel()
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.outcome = self._watch.run()
        except NoeiraError as err:
            self.error = err

    @property
    def phase(self) -> str:
        """What the job's row tells."""
        return self.mirror.work.progress.snapshot().phase

    def told(self, event: str) -> list[WatchEvent]:
        return [one for one in self.events if one.event == event]

    def ended(self) -> Mirrored:
        self._thread.join(60)
        assert self.outcome is not None, (self.error, self.events)
        return self.outcome


def mirrored(box: MirrorBox) -> Callable[[], bool]:
    return lambda: box.folder.exists() and on_service(box) == tree(box.folder)


def test_it_follows_a_recorder_and_ends_with_it(box: MirrorBox) -> None:
    recorder = CheckpointingRecorder(box.folder, seed=1001)
    recorder.record()
    with Running(box) as watch:
        until(mirrored(box), what="the first episode")
        for number in range(2, 4):
            ended = time.monotonic()
            recorder.record()
            until(mirrored(box), what=f"episode {number}")
            assert time.monotonic() - ended < 5
        recorder.finish()
        outcome = watch.ended()
    assert mirrored(box)()
    assert (outcome.episodes, outcome.episodes_sent, outcome.held, outcome.failed) == (3, 3, (), ())
    assert len(outcome.moved) == 14
    assert watch.events[-1].event == "finished"


def test_a_slow_transfer_does_not_keep_the_next_episode_waiting(
    box: MirrorBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = box.record(finish=False)
    slowly = threading.Event()
    original = send.upload

    def upload(*args: object, **kwargs: object) -> object:
        slowly.wait(0.5)
        return original(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(send, "upload", upload)
    with Running(box, every_s=60) as watch:
        until(lambda: watch.told("sent") != [], what="the first pass")
        slowly.set()
        assert watch.told("sent")[0].outcome.elapsed_s > 0.5  # type: ignore[union-attr]
        recorder.record()
        until(mirrored(box), what="the next episode", deadline_s=9)


def test_what_changes_before_it_listens_is_not_missed(box: MirrorBox) -> None:
    recorder = box.record(finish=False)

    class Late(Deaf):
        """Begins to listen just after an episode was recorded."""

        def watch(self, folders: Collection[str]) -> bool:
            if recorder.episodes > 2:
                return False
            recorder.record()
            return True

    with Running(box, every_s=60, hints=Late()):
        until(mirrored(box), what="the episode that no event told of", deadline_s=15)


def test_it_writes_and_locks_nothing_in_the_folder(box: MirrorBox) -> None:
    box.record()
    before = everything(box.folder)
    with Running(box) as watch:
        watch.ended()
    assert everything(box.folder) == before


def test_an_idle_watch_asks_nothing_and_hashes_nothing(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box.record(finish=False)
    with Running(box, every_s=0.05) as watch:
        # Told when the revision is committed too, which is the last request of a pass.
        until(lambda: watch.told("sent") != [], what="the first pass")
        until(lambda: all(file.stamp for file in watch.mirror.synced.files.values()), what="every digest is proven")
        scans: list[object] = []
        scan = watch_module.scan
        monkeypatch.setattr(watch_module, "scan", lambda folder: (scans.append(folder), scan(folder))[1])
        requests, hashed = box.client.requests, watch.mirror.hashed_bytes
        until(lambda: len(scans) >= 5, what="five rescans")
        assert (box.client.requests, watch.mirror.hashed_bytes) == (requests, hashed)


def test_a_rescan_is_stretched_by_what_it_costs(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box.record()
    watch = Watch(box.mirror(), every_s=0.01)
    monkeypatch.setattr(watch_module.time, "thread_time", iter([0.0, 0.4]).__next__)
    watch._rescan(0.0)
    watch._hints.close()
    assert watch._scan_at - time.monotonic() > 0.4 / 0.002 - 1, "0.4 s of a core at most every 200 s"


class Deaf:
    """File events that never come."""

    works = True

    def watch(self, folders: Collection[str]) -> bool:
        """Nothing is listened to."""
        return False

    def wait(self, seconds: float, cancel: CancelToken) -> set[str]:
        cancel.sleep(seconds)
        return set()

    def close(self) -> None:
        """Nothing is open."""


class EveryThird(Deaf):
    """File events that come for every third file only."""

    def __init__(self, folder: Path) -> None:
        self._events = FileEvents(folder, lambda text: None)
        self._count = 0

    def watch(self, folders: Collection[str]) -> bool:
        return self._events.watch(folders)

    def wait(self, seconds: float, cancel: CancelToken) -> set[str]:
        heard = self._events.wait(seconds, cancel)
        self._count += 1
        return {path for number, path in enumerate(sorted(heard), self._count) if number % 3 == 0}

    def close(self) -> None:
        self._events.close()


@pytest.mark.parametrize("kind", ["never", "every third"])
def test_events_that_do_not_come_are_done_without(box: MirrorBox, kind: str) -> None:
    recorder = CheckpointingRecorder(box.folder, seed=1002)
    recorder.record()
    hints = Deaf() if kind == "never" else EveryThird(box.folder)
    with Running(box, every_s=0.2, hints=hints) as watch:
        until(mirrored(box))
        for _ in range(3):
            recorder.record()
            until(mirrored(box))
        recorder.finish()
        watch.ended()
    assert len(watch.told("notice")) == 1 if kind == "never" else len(watch.told("notice")) <= 1


def test_the_inotify_limit_is_said_once(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles._rust_notify as rust

    def refused(*_: object, **__: object) -> None:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(rust, "RustNotify", refused)
    recorder = CheckpointingRecorder(box.folder, seed=1003)
    recorder.record()
    with Running(box, every_s=0.2) as watch:
        until(mirrored(box))
        recorder.record()
        until(mirrored(box))
        recorder.finish()
        watch.ended()
    assert ["limit" in event.text for event in watch.told("notice")] == [True]


def test_a_tree_that_disappears_takes_nothing_along(box: MirrorBox) -> None:
    recorder = box.record(finish=False)
    with Running(box) as watch:
        until(mirrored(box))
        there = on_service(box)
        shutil.move(box.folder, box.place / "away")
        until(lambda: "its folder is gone" in watch.phase)
        assert on_service(box) == there
        shutil.move(box.place / "away", box.folder)
        until(lambda: watch.told("back") and "gone" not in watch.phase)
        recorder.record()
        recorder.finish()
        watch.ended()
    assert mirrored(box)()
    assert len(watch.told("gone")) == 1


def test_it_may_start_before_the_recorder(box: MirrorBox) -> None:
    with Running(box) as watch:
        until(lambda: watch.phase == "waits for its folder")
        box.record()
        watch.ended()
    assert mirrored(box)()


@pytest.mark.parametrize("status", [None, 503, 401])
def test_a_service_that_goes_away_is_waited_for(
    box: MirrorBox, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    recorder = box.record(finish=False)
    with Running(box) as watch:
        until(mirrored(box))
        exchange = box.client.exchange
        refused: list[str] = []

        def away(method: str, path: str, *_: object, **__: object) -> object:
            refused.append(path)
            if status is None:
                raise UnreachableError("no route to host")
            raise RefusedError("refused", status=status, retryable=status == 503)

        monkeypatch.setattr(box.client, "exchange", away)
        recorder.record()
        recorder.finish()
        until(lambda: len(refused) > 3, what="several tries")
        assert len(watch.told("waiting")) == 1, "the same trouble is told once"
        assert "waiting to try again: " in watch.phase
        monkeypatch.setattr(box.client, "exchange", exchange)
        watch.ended()
    assert mirrored(box)()


def test_a_store_that_fails_is_tried_again(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    upload, failures = send.upload, iter(range(4))

    def failing(*arguments: object, **more: object) -> object:
        if next(failures, None) is not None:
            raise NetworkError("the store's disk is full")
        return upload(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(send, "upload", failing)
    box.record()
    with Running(box) as watch:
        watch.ended()
    assert mirrored(box)()
    assert watch.told("failed")


def test_a_state_folder_that_is_full_stops_nothing(box: MirrorBox, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    from noeira_tui.core.statedb import StateDb

    def full(self: StateDb, schema: str) -> sqlite3.Connection:
        raise self._error(sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(StateDb, "_open", full)
    box.record()
    with Running(box) as watch:
        watch.ended()
    assert mirrored(box)()


def test_stopping_it_tells_what_was_done(box: MirrorBox) -> None:
    box.record(finish=False)
    with Running(box) as watch:
        until(mirrored(box))
        box.cancel.cancel()
        until(lambda: watch.error)
    assert isinstance(watch.error, CancelledError)
    last = watch.events[-1]
    assert last.event == "stopped" and last.outcome is not None and len(last.outcome.moved) == 11


def test_a_conflict_is_told_once_and_the_rest_goes_on(box: MirrorBox) -> None:
    other = new_box_like(box)
    other.record(seed=5)
    (other.folder / "README.md").write_text("theirs")
    push(other.mirror())
    shutil.copytree(other.folder, box.folder)
    (box.folder / "README.md").write_text("ours")
    recorder = CheckpointingRecorder(box.folder, seed=6)
    recorder.episodes, recorder.frames = 2, 40
    (box.folder / "meta/stats.json").write_text('{"b": 2}')
    age(box.folder)
    with Running(box) as watch:
        until(lambda: watch.told("conflict"))
        until(lambda: watch.outcome or watch.error)
    assert watch.outcome is not None
    assert {conflict.path for conflict in watch.outcome.conflicts} == {"README.md", "meta/stats.json"}
    assert len(watch.told("conflict")) == 1


def new_box_like(box: MirrorBox) -> MirrorBox:
    other = MirrorBox(box.client, box.place.parent / "other", box.project)
    other.make_project()
    return other


def test_lerobots_recorder_is_sent_ahead_and_seen_when_it_closes(
    box: MirrorBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = LeRobotRecorder(box.folder, seed=1004, video_file_bytes=2000)
    with Running(box) as watch:
        for _ in range(4):
            recorder.record()
        until(lambda: VIDEO.format(0) in on_service(box, "working"), what="closed videos")
        waits = "4 episodes recorded, 0 readable: visible when the recorder closes"
        until(lambda: waits in {held.reason for event in watch.told("held") for held in event.outcome.held})
        assert watch.mirror.work.progress.snapshot().phase.startswith("0 of 4 episodes sent")
        recorder.finalize()
        until(mirrored(box))
        until(lambda: watch.mirror.work.progress.snapshot().phase.startswith("4 of 4 episodes sent"))
        monkeypatch.setattr("noeira_tui.recordings.read.FINISHED_QUIET_S", 0.5)
        monkeypatch.setattr(watch_module, "FINISHED_QUIET_S", 0.5)
        age(box.folder)
        watch.ended()
