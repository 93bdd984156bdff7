"""Jumping, going back, sorting, and what is told of jobs: by keys alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.settings import Settings
from noeira_tui.jobs.records import JobState, Request
from noeira_tui.tui.glyphs import ASCII, SYMBOLS
from noeira_tui.tui.history import History
from noeira_tui.tui.job_rows import job_rows, paint_job
from noeira_tui.tui.modals.jump import JumpScreen, labels
from noeira_tui.tui.pace import Pace, sparkline
from noeira_tui.tui.rows import Place, columns_of
from noeira_tui.tui.telling import Telling, passed_on
from tests.tui.driving import NARROW, driving
from tests.tui.fake_box import NOW, FakeBox, digest, job, sample_jobs


def test_going_back_and_forward_is_like_a_browsers() -> None:
    history = History()
    a, b, c, d = ((Place.CATALOG, key) for key in "abcd")
    assert not history.leads_back(a)
    assert history.back(a) is None
    for visit in (a, a, b):
        history.visit(visit)
    assert history.leads_back(b)
    # From somewhere else, what was visited last comes first; and there is a way forward to where one was.
    assert history.back(c) == b
    assert history.back(b) == a
    assert history.back(a) is None
    assert [history.forward(), history.forward(), history.forward()] == [b, c, None]
    assert history.back(c) == b
    assert history.back(d) == b, "who strayed returns first"
    history.visit(d)
    assert history.forward() is None, "going somewhere new forgets what lay ahead"


def test_no_label_is_the_beginning_of_another() -> None:
    for number in (1, 26, 27, 300):
        found = labels(number)
        assert len(set(found)) == number
        assert len({len(label) for label in found}) == 1


async def test_a_letter_jumps_to_a_row_of_any_list() -> None:
    async with driving() as app:
        await app.press("f")
        await app.until(lambda: isinstance(app.app.screen, JumpScreen))
        packs = app.main.pane(Place.PACKS).list
        label = packs._labels[2]
        await app.until(lambda: f"│{label}so101@v2" in app.screen_text())
        await app.press(*label)
        await app.until(lambda: app.app.screen is app.main)
        assert app.main.place is Place.PACKS
        assert app.main.current is not None
        assert app.main.current.name == "so101@v2"
        assert not packs._labels


async def test_a_jump_is_left_without_one() -> None:
    async with driving(size=NARROW) as app:
        for keys in (("f", "escape"), ("f", "1")):
            await app.press(*keys)
            await app.until(lambda: app.app.screen is app.main)
            assert app.main.place is Place.CATALOG
            assert app.main.list.cursor == 0


async def test_what_was_visited_is_gone_back_to() -> None:
    async with driving() as app:
        await app.press("[")
        await app.until(lambda: "nothing to go back to" in app.toasts())
        await app.highlight("dataset:pusht-demos-v3")
        await app.press("enter")
        await app.until(lambda: app.app.screen is not app.main)
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)
        await app.press("1")
        await app.highlight("recording:pusht/teleop-b")
        await app.press("enter")
        await app.until(lambda: app.app.screen is not app.main)
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)
        # Folded away and filtered: going there shows it again.
        await app.press("left", "2", "/", *"walker", "enter")
        await app.until(lambda: len(app.names(Place.CATALOG)) == 2)
        await app.press("3", "[")
        await app.until(lambda: app.main.current is not None and app.main.current.key == "recording:pusht/teleop-b")
        await app.press("backspace")
        await app.until(lambda: app.main.current is not None and app.main.current.key == "dataset:pusht-demos-v3")
        await app.press("]")
        await app.until(lambda: app.main.current is not None and app.main.current.key == "recording:pusht/teleop-b")


async def test_a_list_is_sorted_by_trouble_name_and_size() -> None:
    async with driving() as app:
        await app.highlight("dataset:pusht-demos-v3")
        await app.press("s")
        names = app.names(Place.CATALOG)
        assert names == sorted(names)
        assert "by name" in app.main.pane(Place.CATALOG).note_text
        assert app.main.current is not None
        assert app.main.current.name == "pusht-demos-v3", "the cursor stays with its thing"
        await app.press("s")
        assert app.names(Place.CATALOG)[:2] == ["g1-walk-v2", "kitchen-mixed-v1"]
        await app.press("R")
        await app.until(lambda: not app.main.looking)
        assert app.names(Place.CATALOG)[0] == "g1-walk-v2", "a look keeps the order"
        await app.press("s")
        assert app.names(Place.CATALOG)[0] == "hopper-medium-v2"
        await app.press("4", "s")
        await app.until(lambda: "Jobs stay in their order" in app.toasts())


async def test_y_copies_a_line_of_each_marked_row() -> None:
    async with driving() as app:
        await app.highlight("dataset:g1-walk-v2")
        await app.press("space", "space", "y")
        first, second = app.app.clipboard.splitlines()
        assert first == f"{digest('g1-walk-v2')}  g1-walk-v2"
        assert second.endswith("  pusht-demos-v3")


async def test_a_job_is_paused_and_goes_on() -> None:
    box = FakeBox()
    box.set_jobs(*sample_jobs())
    async with driving(box) as app:
        await app.press("4")
        await app.highlight("job:3")
        await app.press("z")
        await app.until(lambda: app.asked("pause") == [("pause", 3)])
        await app.until(lambda: "paused · z goes on" in app.screen_text())
        await app.press("z")
        await app.until(lambda: app.asked("resume") == [("resume", 3)])
        await app.highlight("job:2")
        await app.press("z")
        await app.until(lambda: "nothing to pause" in app.toasts())


async def test_details_tell_the_transfer_instead_of_the_state_before_it() -> None:
    box = FakeBox()
    progress = ProgressSnapshot(305_500_000, 611_000_000, rate=1e8, phase="downloading")
    box.set_jobs(job(1, "catalog-pull", "hopper-medium-v2", JobState.RUNNING, progress=progress))
    async with driving(box) as app:
        await app.highlight("dataset:hopper-medium-v2")
        await app.until(lambda: "pull 50 %: 306 / 611 MB · 100 MB/s · 0:03 left" in app.text("#details"))
        assert "missing" not in app.text("#details")


def test_waiting_jobs_say_for_what() -> None:
    running = [job(number, "catalog-pull", f"r{number}", JobState.RUNNING) for number in (1, 2)]
    first, second = (job(number, "catalog-pull", f"q{number}", JobState.QUEUED) for number in (3, 4))
    held = replace(job(5, "catalog-pull", "held", JobState.QUEUED), request=Request.PAUSE)
    rows = job_rows([*running, first, second, held], NOW, SYMBOLS, Pace(), 2)
    notes = {row.name: row.note for row in rows}
    assert notes["q3"] == "waits for a slot: 2 of 2 busy"
    assert notes["q4"] == "waits for a slot: 2 of 2 busy · 1 before it"
    assert notes["held"] == "held back · z lets it go on"
    (alone,) = (row for row in job_rows([first], NOW, SYMBOLS, Pace(), 2) if row.name == "q3")
    assert alone.note == "starting"


def test_a_job_draws_its_speed_and_says_when_nothing_comes() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    shown = job(1, "catalog-pull", "walker", JobState.RUNNING)
    for second in range(12):
        now = float(second)
        progress = ProgressSnapshot(second * 10**8, 10**10, rate=second * 1e7, phase="downloading")
        shown = replace(shown, progress=progress, retries=1)
        pace.take([shown])
    (row,) = job_rows([shown], NOW, SYMBOLS, pace, 2)
    line = "".join(text for text, _ in paint_job(row, 130, columns_of([row]), SYMBOLS))
    assert "110 MB/s" in line
    assert "attempt 2" in line
    assert "▁▂▂▃▃▄▄▅▅▆▆▇"[-8:] in line
    now = 30.0
    pace.take([shown])
    (row,) = job_rows([shown], NOW, SYMBOLS, pace, 2)
    assert "waits for the network, 15 s" in "".join(text for text, _ in paint_job(row, 130, columns_of([row]), SYMBOLS))


def test_a_speed_that_jitters_is_shown_once_a_second() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    shown = set()
    for step in range(9):
        now = step * 0.25
        record = job(1, "catalog-pull", "x", JobState.RUNNING, progress=ProgressSnapshot(step, 100, rate=100.0 + step))
        pace.take([record])
        shown.add(pace.of(record).rate)
    assert shown == {100.0, 104.0, 108.0}


def test_sparklines_need_something_to_draw() -> None:
    assert sparkline([1, 2], 12, SYMBOLS.sparks) == ""
    assert sparkline([0, 0, 0], 12, SYMBOLS.sparks) == ""
    assert sparkline([0, 5, 10], 12, ASCII.sparks).isascii()


async def test_a_running_jobs_log_is_followed_without_its_row_changing() -> None:
    box = FakeBox(log_text="first line")
    box.set_jobs(job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING))
    async with driving(box) as app:
        await app.press("4", "enter")
        await app.until(lambda: "first line" in app.screen_text())
        box.log_text = "first line\nsecond line"
        await app.until(lambda: "second line" in app.screen_text())


@pytest.mark.parametrize(("how", "rung"), [(None, 0), ("off", 0), ("bell", 1)])
async def test_the_end_of_a_job_rings_when_that_is_wanted(how: str | None, rung: int, tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path), **({"NOEIRA_NOTIFY": how} if how else {})}
    box = FakeBox(settings=Settings.load(root=tmp_path, cwd=tmp_path, environ=environ))
    running = job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING)
    box.set_jobs(running)
    async with driving(box) as app:
        bells: list[int] = []
        app.app.bell = lambda: bells.append(1)  # type: ignore[method-assign]
        await app.until(lambda: app.status("job:1") == "running")
        box.set_jobs(replace(running, state=JobState.DONE))
        await app.until(lambda: "pull g1-walk-v2: done" in app.toasts())
        assert len(bells) == rung


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({"TERM": "xterm-256color"}, "\x1b]9;done\x07"),
        ({"TERM": "tmux-256color", "TMUX": "default,1,0"}, "\x1bPtmux;\x1b\x1b]9;done\x07\x1b\\"),
        # tmux calls its terminal screen as well.
        ({"TERM": "screen-256color", "TMUX": "default,1,0"}, "\x1bPtmux;\x1b\x1b]9;done\x07\x1b\\"),
        ({"TERM": "xterm", "STY": "12.pts-0.box"}, "\x1bP\x1b]9;done\x07\x1b\\"),
        ({"TERM": "screen.xterm-256color"}, "\x1bP\x1b]9;done\x07\x1b\\"),
        # Over ssh from within screen only the name of the terminal is left.
        ({"TERM": "screen"}, "\x1bP\x1b]9;done\x07\x1b\\"),
    ],
)
def test_a_notification_gets_past_tmux_and_screen(environ: dict[str, str], sent: str) -> None:
    assert passed_on("\x1b]9;done\x07", environ) == sent


def test_a_notification_holds_nothing_that_a_terminal_obeys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    written: list[str] = []
    driver = SimpleNamespace(write=written.append)
    screen = SimpleNamespace(app=SimpleNamespace(is_headless=False, _driver=driver, bell=lambda: None))
    telling = Telling(screen, SYMBOLS)  # type: ignore[arg-type]  # as much of a screen as it takes
    telling.notify_end("pull a\x07b\x1b]0;x: done", "osc9")
    telling.notify_end("pull c: done", "off")
    assert written == ["\x1b]9;pull a\\x07b\\x1b]0;x: done\x07"]
