"""A process beside this one: what it answers, and every way in which it or its owner can end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noeira_tui.core.beside import Beside
from noeira_tui.core.childenv import child_environment
from noeira_tui.core.errors import BesideError, CancelledError, NoeiraError, VerificationError
from noeira_tui.core.progress import CancelToken
from tests.support import beside_work
from tests.support.waiting import until


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_one_process_answers_in_a_session_of_its_own_behind_others() -> None:
    with Beside(niceness=7) as beside:
        assert not beside.is_running  # nothing was asked yet
        pid, session, niceness = beside.call(beside_work.where)
        assert beside.call(beside_work.where)[0] == pid != os.getpid()
        assert (session, niceness) == (pid, os.nice(0) + 7)
        assert beside.call(beside_work.double, 21) == 42
    assert until(lambda: is_gone(pid))


def test_errors_come_whole_and_faults_are_told_as_such() -> None:
    with Beside() as beside:
        with pytest.raises(VerificationError) as refused:
            beside.call(beside_work.refuse)
        assert (refused.value.expected, refused.value.actual, refused.value.hint) == ("aa", "bb", "Look.")
        with pytest.raises(NoeiraError, match="ZeroDivisionError") as fault:
            beside.call(beside_work.fault)
        assert fault.value.title == "Unexpected error"
        assert beside.call(beside_work.double, 1) == 2


def test_what_does_not_wait_for_an_answer_that_takes_long(tmp_path: Path) -> None:
    started, answers, cancelled = tmp_path / "started", [], threading.Event()
    with Beside() as beside:
        beside.ask(beside_work.double, 1, then=answers.append)
        assert not beside.is_running, "asking without waiting starts nothing"

        def hang() -> None:
            with pytest.raises(CancelledError):
                beside.call(beside_work.hang, started)
            cancelled.set()

        thread = threading.Thread(target=hang)
        thread.start()
        assert until(started.exists)
        assert beside.call(beside_work.double, 4) == 8
        beside.ask(beside_work.double, 5, then=answers.append)
        assert until(lambda: answers == [10])
    assert cancelled.wait(10)
    with pytest.raises(CancelledError):
        beside.call(beside_work.double, 1)


@pytest.mark.parametrize(
    ("number", "words", "is_crash"),
    [
        (signal.SIGKILL, "SIGKILL; is there enough memory", False),
        (signal.SIGTERM, "SIGTERM", False),
        (signal.SIGSEGV, "SIGSEGV", True),
    ],
)
def test_its_end_is_told_in_words_and_the_next_question_starts_another(number: int, words: str, is_crash: bool) -> None:
    with Beside() as beside:
        before = beside.call(beside_work.where)[0]
        with pytest.raises(BesideError, match=words) as ended:
            beside.call(beside_work.end_by, number)
        assert ended.value.is_crash is is_crash
        assert ended.value.retryable is not is_crash
        assert beside.call(beside_work.where)[0] != before
        with pytest.raises(BesideError, match="by itself"):
            beside.call(beside_work.leave)


def test_one_that_is_given_up_says_why_and_the_next_question_starts_another(tmp_path: Path) -> None:
    started = tmp_path / "started"
    with Beside() as beside:
        watching = threading.Thread(target=lambda: until(started.exists) and beside.give_up("it is stuck"))
        watching.start()
        with pytest.raises(BesideError) as stuck:
            beside.call(beside_work.hang, started)
        assert (stuck.value.message, stuck.value.why) == ("It is stuck.", "it is stuck")
        assert beside.call(beside_work.double, 2) == 4
        watching.join()


def test_no_answer_in_time_ends_it(tmp_path: Path) -> None:
    with Beside() as beside:
        pid = beside.call(beside_work.where)[0]
        with pytest.raises(BesideError, match="no answer for 0"):
            beside.call(beside_work.hang, tmp_path / "started", timeout_s=0.2)
        assert until(lambda: is_gone(pid))
        assert beside.call(beside_work.double, 3, timeout_s=30) == 6


def test_a_cancelled_call_comes_back_at_once_and_its_work_is_told_to_stop(tmp_path: Path) -> None:
    started, token = tmp_path / "started", CancelToken()
    with Beside() as beside:
        timer = threading.Thread(target=lambda: until(started.exists) and token.cancel())
        timer.start()
        with pytest.raises(CancelledError):
            beside.call(beside_work.until_stopped, started, cancel=token)
        assert until(lambda: started.read_text("utf-8") == "stopped")
        timer.join()


def test_it_does_without_some_packages() -> None:
    with Beside() as full, Beside(without=("numpy", "zstandard")) as lean:
        assert full.call(beside_work.can_import, "numpy")
        assert [lean.call(beside_work.can_import, name) for name in ("numpy", "zstandard", "pyarrow")] == [
            False,
            False,
            True,
        ]


def test_what_it_says_meanwhile_is_heard() -> None:
    heard: list[str] = []
    with Beside(said=heard.append) as beside:
        assert beside.call(beside_work.tell, "large") == "LARGE"
        assert heard == ["large"]


def test_it_ends_with_its_owner_however_that_one_ends(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = (
        "import sys; from pathlib import Path; from noeira_tui.core.beside import Beside; "
        "from tests.support import beside_work; Beside().call(beside_work.hang, Path(sys.argv[1]))"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(started)], env=child_environment())
    assert until(lambda: started.exists() and started.read_text("utf-8"))
    pid = int(started.read_text("utf-8"))
    assert not is_gone(pid)
    owner.kill()
    owner.wait()
    assert until(lambda: is_gone(pid))


def test_without_an_interpreter_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "absent"))
    with Beside() as beside, pytest.raises(BesideError, match="cannot be started: No such file"):
        beside.call(beside_work.double, 1)
