from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from noeira_tui.core import progress
from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken
from tests.support.waiting import until


class Worker(threading.Thread):
    """Checks a token at every chunk, and counts the chunks."""

    def __init__(self, cancel: CancelToken) -> None:
        super().__init__(daemon=True)
        self.cancel = cancel
        self.chunks = 0
        self.stopped = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            while True:
                self.cancel.check()
                self.chunks += 1
                time.sleep(0)
        except CancelledError:
            self.stopped.set()


@pytest.fixture
def cancel() -> Iterator[CancelToken]:
    token = CancelToken()
    yield token
    token.cancel()


def test_a_fresh_token_lets_work_go_on(cancel: CancelToken) -> None:
    cancel.check()
    cancel.sleep(0)
    assert not cancel.is_cancelled and not cancel.is_paused


def test_cancel_stops_work_at_its_next_chunk_and_says_what_is_kept(cancel: CancelToken) -> None:
    worker = Worker(cancel)
    until(lambda: worker.chunks > 10)
    cancel.cancel()
    assert worker.stopped.wait(5)
    with pytest.raises(CancelledError) as caught:
        cancel.check()
    assert "kept" in caught.value.hint
    assert caught.value.exit_code == 130


def test_paused_work_stands_still_goes_on_and_can_be_cancelled(cancel: CancelToken) -> None:
    worker = Worker(cancel)
    until(lambda: worker.chunks > 0)
    cancel.pause()
    assert cancel.is_paused
    stood = until(lambda: standing_at(worker))
    cancel.resume()
    until(lambda: worker.chunks > stood)
    cancel.pause()
    until(lambda: standing_at(worker))
    cancel.cancel()
    assert worker.stopped.wait(5), "a paused worker must hear that it is cancelled"
    assert not cancel.is_paused


def standing_at(worker: Worker) -> int:
    """The chunk where it stands; 0 while it moves."""
    before = worker.chunks
    return before if not worker.stopped.wait(0.05) and worker.chunks == before else 0


def test_a_pause_after_a_cancel_holds_nothing_up(cancel: CancelToken) -> None:
    cancel.cancel()
    cancel.pause()
    assert not cancel.is_paused
    with pytest.raises(CancelledError):
        cancel.check()


def test_sleep_ends_at_once_when_cancelled(cancel: CancelToken) -> None:
    ended = threading.Event()

    def sleep() -> None:
        with pytest.raises(CancelledError):
            cancel.sleep(3600)
        ended.set()

    threading.Thread(target=sleep, daemon=True).start()
    cancel.cancel()
    assert ended.wait(5)


def test_sleep_lasts_as_long_as_asked(cancel: CancelToken) -> None:
    began = time.monotonic()
    cancel.sleep(0.12)
    assert time.monotonic() - began >= 0.12


class Interrupted(threading.Thread):
    """Does `action`, and cancels from inside it, at line number `at`, as a signal handler would."""

    def __init__(self, action: Callable[[CancelToken], None], at: int) -> None:
        super().__init__(daemon=True)
        self.token = CancelToken()
        self.lines_left = at
        self._action = action
        self.start()

    def run(self) -> None:
        sys.settrace(self._trace)
        try:
            self._action(self.token)
        except CancelledError:
            return
        finally:
            sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        if event == "line":
            self.lines_left -= 1
            if self.lines_left == 0:
                sys.settrace(None)
                self.token.cancel()
                sys.settrace(self._trace)
        return self._trace


TraceFunction = Callable[[FrameType, str, object], object]
ACTIONS: dict[str, Callable[[CancelToken], None]] = {
    "pause": lambda token: token.pause(),
    "resume": lambda token: token.resume(),
    "sleep": lambda token: token.sleep(0.0001),
    "long sleep": lambda token: token.sleep(3600),
    "cancel": lambda token: token.cancel(),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_signal_handler_may_cancel_between_any_two_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers run in the main thread, in the middle of whatever it does with the token; no lock may stand in the way,
    and whatever was going on, the cancel holds."""
    monkeypatch.setattr(progress, "_WAIT_SLICE_S", 0.005)
    for at in itertools.count(1):
        interrupted = Interrupted(ACTIONS[name], at)
        interrupted.join(5)
        assert not interrupted.is_alive(), f"locked by a cancel at line {at} of {name}"
        if interrupted.lines_left > 0:
            break
        worker = Worker(interrupted.token)
        assert worker.stopped.wait(5), f"a cancel at line {at} of {name} was lost"
        if name == "long sleep" and at > 60:
            break
    assert at > 3
