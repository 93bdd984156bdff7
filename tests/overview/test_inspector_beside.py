"""The inspector in a process of its own: the answers of the one here, none of its libraries, words at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from noeira_tui.core.beside import Beside
from noeira_tui.core.childenv import child_environment
from noeira_tui.core.errors import BesideError, CancelledError, DatasetError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.settings import Settings
from noeira_tui.datasets.inspector import Inspector
from noeira_tui.datasets.store import Cost
from noeira_tui.overview import inspectorbeside
from noeira_tui.overview.inspectorbeside import InspectorBeside
from tests.support.beside_work import where
from tests.support.datasets_build import CAMERAS, write_v3
from tests.support.waiting import until


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.load(root=tmp_path, cwd=tmp_path, environ={})


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_v3(tmp_path / "made", episodes=4, frames=30)


def pid_of(inspector: InspectorBeside, monkeypatch: pytest.MonkeyPatch) -> int:
    """The process that a call is answered by."""
    found: list[int] = []
    original = Beside.call

    def call(self: Beside, *arguments: object, **more: object) -> object:
        found.append(original(self, where)[0])
        return original(self, *arguments, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Beside, "call", call)
        inspector.problems()
    return found[0]


def test_it_answers_what_the_one_here_answers(dataset: Path, settings: Settings) -> None:
    (dataset / "videos" / CAMERAS[0] / "chunk-000/file-000.mp4").unlink()
    here, beside = Inspector(str(dataset)), InspectorBeside(str(dataset), settings)
    with here:
        assert beside.summary() == here.summary()
        mine, theirs = here.episodes(), beside.episodes()
        assert (len(theirs), list(theirs.lengths), theirs.find(2)) == (4, list(mine.lengths), mine.find(2))
        assert beside.page(1, 2) == here.page(1, 2) == theirs.page(1, 2)
        assert beside.histogram(3) == here.histogram(3)
        assert beside.stats() == here.stats()
        assert beside.problems() == here.problems()
        assert beside.deepen() == here.deepen()
        assert [one.problems for one in beside.episodes().page(0, 9)] == [one.problems for one in mine.page(0, 9)]
        a, b = here.series(1), beside.series(1)
        assert a.state is not None and b.state is not None
        assert (a.state.tolist(), a.state_names, a.timestamps.tolist()) == (
            b.state.tolist(),
            b.state_names,
            b.timestamps.tolist(),
        )
        assert beside.picture(1, CAMERAS[1], 0.2) == here.picture(1, CAMERAS[1], 0.2)
        assert beside.cost.bytes_read == here.cost.bytes_read > 0
    beside.close()
    with pytest.raises(CancelledError):
        beside.summary()


def test_what_is_no_dataset_is_an_error_in_words(tmp_path: Path, settings: Settings) -> None:
    beside = InspectorBeside(str(tmp_path / "absent"), settings)
    with pytest.raises(DatasetError) as here:
        Inspector(str(tmp_path / "absent")).summary()
    with pytest.raises(DatasetError) as there:
        beside.summary()
    assert (there.value.message, there.value.hint) == (here.value.message, here.value.hint)
    beside.close()


def test_nothing_of_arrow_is_loaded_here(dataset: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from noeira_tui.core.settings import Settings\n"
        "from noeira_tui.overview.inspectorbeside import InspectorBeside\n"
        "place = Path(sys.argv[1]); look = InspectorBeside(str(place), Settings.load(root=place, cwd=place))\n"
        "print(look.summary().num_episodes, len(look.episodes()), len(look.deepen()))\n"
        "print(sorted({'pyarrow', 'numpy', 'pandas', 'zarr', 'av'} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(dataset)],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split("\n")[:2] == ["4 4 0", "[]"]


def test_a_process_that_was_killed_is_told_and_the_next_question_opens_the_dataset_again(
    dataset: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = InspectorBeside(str(dataset), settings)
    before = beside.summary()
    os.kill(pid_of(beside, monkeypatch), signal.SIGKILL)

    def told() -> bool:
        try:
            return replace(beside.summary(), cost=before.cost) == before
        except BesideError as err:
            assert "SIGKILL" in err.message
            return False

    assert until(told)
    beside.close()


def test_a_process_that_is_stuck_is_noticed_by_who_asks_what_was_read(
    dataset: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspectorbeside, "_MISSED", 3)
    beside = InspectorBeside(str(dataset), settings)
    beside.summary()
    pid = pid_of(beside, monkeypatch)
    os.kill(pid, signal.SIGSTOP)
    for _ in range(4):
        assert beside.cost.bytes_read > 0
    assert until(lambda: not Path(f"/proc/{pid}").exists())
    assert beside.summary().num_episodes == 4
    beside.close()


def test_an_answer_that_is_here_at_once_is_no_sign_of_a_stuck_process(
    dataset: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspectorbeside, "_MISSED", 3)
    original = Beside.ask

    def ask(self: Beside, *arguments: object, then: Callable[[Cost], None]) -> bool:
        answered = threading.Event()

        def take(cost: Cost) -> None:
            then(cost)
            answered.set()

        return original(self, *arguments, then=take) and answered.wait(30)  # type: ignore[arg-type]

    monkeypatch.setattr(Beside, "ask", ask)
    beside = InspectorBeside(str(dataset), settings)
    beside.summary()
    pid = pid_of(beside, monkeypatch)
    for _ in range(9):
        assert beside.cost.requests > 0
    assert pid_of(beside, monkeypatch) == pid
    beside.close()


def test_what_a_process_was_asked_before_its_end_is_not_held_against_the_next(
    dataset: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspectorbeside, "_MISSED", 3)
    beside = InspectorBeside(str(dataset), settings)
    beside.summary()
    os.kill(pid_of(beside, monkeypatch), signal.SIGSTOP)
    assert beside.cost.requests > 0
    beside._beside.give_up("it was ended")
    pid = pid_of(beside, monkeypatch)
    for _ in range(9):
        assert beside.cost.requests > 0
        assert until(lambda: not beside._missed, what="the answer")
    assert pid_of(beside, monkeypatch) == pid
    beside.close()


def test_asking_what_was_read_before_there_is_a_process_is_no_sign_of_a_stuck_one(
    dataset: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspectorbeside, "_MISSED", 3)
    beside = InspectorBeside(str(dataset), settings)
    assert [beside.cost.requests for _ in range(9)] == [0] * 9
    beside.summary()
    pid = pid_of(beside, monkeypatch)
    for _ in range(9):
        assert beside.cost.requests > 0
        assert until(lambda: not beside._missed, what="the answer")
    assert pid_of(beside, monkeypatch) == pid
    beside.close()


def test_a_cancelled_question_comes_back_at_once(dataset: Path, settings: Settings) -> None:
    beside, token = InspectorBeside(str(dataset), settings), CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        beside.series(0, token)
    assert beside.summary().num_episodes == 4
    beside.close()
