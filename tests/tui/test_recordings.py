"""Recordings in the app: push, pull, watch, details file by file; by keys alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noeira_tui.core.errors import BesideError
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobState
from noeira_tui.overview.picture import ProjectView, ServiceView
from noeira_tui.recordings.compare import FileComparison, FileState
from noeira_tui.tui import threads
from noeira_tui.tui.modals.confirm import ConfirmDialog
from noeira_tui.tui.modals.details import DetailsDialog
from noeira_tui.tui.rows import Place
from tests.tui.driving import NARROW, Driver, driving
from tests.tui.fake_box import NOW, FakeBox, job, overview, recording, watch_job

TELEOP = "recording:pusht/teleop-b"
CUBE = "recording:so101-tower/cube-in-bowl"
CONFLICT = FileComparison("meta/info.json", FileState.DIVERGED, 900, "a" * 64, "changed here and on the service")


def one(state: State, **facts: object) -> FakeBox:
    """A box with one recording."""
    view = recording("lab", "arm", state, 7, **facts)
    return FakeBox(picture=overview(projects=(ProjectView("lab", True, True, recordings=(view,)),)))


async def answer(app: Driver, *keys: str) -> None:
    """Answer the question that comes up."""
    await app.until(lambda: isinstance(app.app.screen, ConfirmDialog), "a question")
    await app.press(*keys)
    await app.until(lambda: app.app.screen is app.main, "the question is gone")


async def test_a_push_starts_and_its_row_tells_how_far_it_is() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight(TELEOP)
        await app.press("u")
        await app.until(lambda: app.asked("push_recording") == [("push_recording", "pusht/teleop-b", False)])
        await app.until(lambda: app.status(TELEOP) == "waiting")
        running = replace(app.box.rows[0], state=JobState.RUNNING, progress=ProgressSnapshot(33, 66, rate=3e6))
        app.box.set_jobs(running)
        await app.until(lambda: app.status(TELEOP) == "50 %")
        await app.until(lambda: "↑ 3.0 MB/s" in app.text("#header"))
        await app.press("c")
        await app.until(lambda: app.asked("cancel") == [("cancel", 1)])


async def test_what_is_current_or_not_here_says_why_it_cannot_be_sent() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight("recording:so101-tower/trial-01")
        await app.press("u", "p")
        await app.until(lambda: "The service has the same contents" in app.toasts())
        await app.until(lambda: "It is here and current." in app.toasts())
        await app.highlight("recording:aloha-fold/shirts")
        await app.press("w")
        await app.until(lambda: "It is not on this box" in app.toasts())
        assert not app.asked("watch") + app.asked("push_recording") + app.asked("pull_recording")


async def test_a_conflict_is_pushed_only_after_a_yes_and_names_its_files() -> None:
    async with driving(one(State.DIVERGED, comparison=(CONFLICT,))) as app:
        await app.press("1", "down", "u")
        await app.until(lambda: "meta/info.json" in app.screen_text())
        await answer(app, "enter")
        assert app.asked("push_recording") == []
        await app.press("u")
        await answer(app, "tab", "enter")
        await app.until(lambda: app.asked("push_recording") == [("push_recording", "lab/arm", True)])


async def test_a_missing_recording_is_pulled_at_once() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight("recording:pusht/expert")
        await app.press("p")
        await app.until(lambda: app.asked("pull_recording") == [("pull_recording", "pusht/expert", False, False)])


async def test_a_project_is_made_here_only_after_a_yes() -> None:
    async with driving(size=NARROW) as app:
        await app.press("1")
        await app.highlight("recording:aloha-fold/shirts")
        await app.press("p")
        await app.until(lambda: "This box lacks: aloha-fold." in app.screen_text())
        await answer(app, "escape")
        assert app.asked("pull_recording") == []
        await app.press("p")
        await answer(app, "right", "enter")
        await app.until(lambda: app.asked("pull_recording") == [("pull_recording", "aloha-fold/shirts", True, False)])


async def test_local_changes_are_overwritten_only_after_a_yes() -> None:
    async with driving(one(State.MODIFIED, comparison=(replace(CONFLICT, state=FileState.AHEAD),))) as app:
        await app.press("1", "down", "p")
        await app.until(lambda: "Overwrite 1 item that changed here?" in app.screen_text())
        await app.until(lambda: "meta/info.json" in app.screen_text())
        await answer(app, "enter")
        assert app.asked("pull_recording") == []
        await app.press("p")
        await answer(app, "tab", "enter")
        await app.until(lambda: app.asked("pull_recording") == [("pull_recording", "lab/arm", False, True)])


async def test_a_watch_goes_on_and_off_and_the_row_shows_it() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight(CUBE)
        await app.press("w")
        await app.until(lambda: app.asked("watch") == [("watch", "so101-tower/cube-in-bowl")])
        await app.until(lambda: app.status(CUBE) == "recording ⟲")
        watching = replace(
            app.box.rows[0],
            state=JobState.RUNNING,
            progress=ProgressSnapshot(items_done=12, items_total=13, phase="12 of 13 episodes sent"),
        )
        app.box.set_jobs(watching)
        # The watch counts episodes as they are made; the row does not wait for the next look.
        await app.until(lambda: "13 ep" in app.screen_text())
        await app.press("/", *"watched", "enter")
        await app.until(lambda: app.names(Place.PROJECTS) == ["so101-tower", "cube-in-bowl"])
        await app.press("escape")
        await app.highlight(CUBE)
        await app.press("w")
        await app.until(lambda: app.asked("unwatch") == [("unwatch", "so101-tower/cube-in-bowl")])
        await app.until(lambda: app.status(CUBE) == "recording")
        await app.until(lambda: "watch off" in app.screen_text())


async def test_a_live_recordings_episodes_are_counted_between_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LIVE_EVERY_S", 0.05)
    async with driving() as app:
        picture = app.box.picture
        tower = picture.projects[0]
        more = replace(tower.recordings[0], episodes=13)
        # As a look that asks nobody sees it: of the service it knows nothing, and nothing is called safe.
        app.box.picture = replace(
            picture,
            projects=(replace(tower, recordings=(more, *tower.recordings[1:])), *picture.projects[1:]),
            service=ServiceView("https://cloud.noeira.ai", answer_at=NOW),
            unsafe_because=("nobody was asked",),
        )
        await app.until(lambda: "13 ep" in app.screen_text())
        assert app.asked("look")[-1] == ("look", False)
        assert "34 ms" in app.text("#header")
        assert "nobody was asked" not in app.text("#status")


@pytest.mark.parametrize("answer_at", [None, NOW - 3600])
async def test_a_count_that_remembers_no_answer_of_the_service_changes_nothing(
    answer_at: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "LIVE_EVERY_S", 0.05)
    async with driving() as app:
        row = next(view for view in app.box.picture.datasets if view.state is State.STALE)
        unknown = replace(row, state=State.UNKNOWN)
        app.box.picture = replace(
            app.box.picture,
            datasets=tuple(unknown if view is row else view for view in app.box.picture.datasets),
            service=ServiceView("https://cloud.noeira.ai", answer_at=answer_at),
        )
        looks = len(app.asked("look"))
        await app.until(lambda: len(app.asked("look")) > looks + 2)
        assert app.status(f"dataset:{row.id}") == "stale"
        assert "unknown" not in app.screen_text()


async def test_nothing_is_counted_between_looks_where_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LIVE_EVERY_S", 0.01)
    async with driving(one(State.CURRENT)) as app:
        looks = len(app.asked("look"))
        for _ in range(20):
            await app.pilot.pause(0.01)
        assert len(app.asked("look")) == looks


async def test_what_a_watch_sent_makes_the_app_look_again() -> None:
    box = FakeBox()
    box.set_jobs(watch_job())
    async with driving(box) as app:
        looks = app.asked("look").count(("look", True))
        watching = box.rows[0]
        box.set_jobs(replace(watching, progress=replace(watching.progress, items_done=12)))
        await app.until(lambda: app.asked("look").count(("look", True)) > looks)


async def test_a_watch_of_another_root_is_not_taken_for_one_here() -> None:
    box = FakeBox()
    foreign = watch_job()
    box.set_jobs(replace(foreign, spec=replace(foreign.spec, root=box.settings.root / "elsewhere")))
    async with driving(box) as app:
        await app.until(lambda: "11 of 12 episodes sent" in app.screen_text())
        assert app.status(CUBE) == "recording"


async def test_a_watchs_row_tells_what_was_sent_what_waits_and_how_long_ago() -> None:
    box = FakeBox()
    box.set_jobs(watch_job())
    async with driving(box) as app:
        told = "11 of 12 episodes sent · 1 held back (still being written) · last sent 4 s ago"
        await app.until(lambda: told in app.screen_text())
        assert "↑ 2.4 MB/s" in app.text("#header")
        # It ages although nothing happens.
        app.main.board.clock = lambda: NOW + 60
        await app.until(lambda: "last sent 1 min ago" in app.screen_text())


async def test_a_watch_that_sent_before_midnight_is_not_a_day_old() -> None:
    box = FakeBox()
    box.set_jobs(watch_job(sent_s_ago=-5))
    async with driving(box) as app:
        # Its clock and ours are one; five seconds ahead means nearly a day ago.
        await app.until(lambda: "last sent 24 h ago" in app.screen_text())


async def test_details_go_file_by_file_and_say_why_one_is_held_back() -> None:
    box = FakeBox(faults={"data/chunk-000/file-000.parquet": "has 97 rows, its episodes have 98 frames"})
    async with driving(box) as app:
        await app.press("1")
        await app.highlight(CUBE)
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, DetailsDialog))
        await app.until(lambda: "has 97 rows, its episodes have 98 frames" in app.screen_text())
        await app.until(
            lambda: "videos/wrist/chunk-000/file-011.mp4 · 38.3 MB · still being written" in app.screen_text()
        )
        text = app.screen_text()
        assert "11 of 12 episodes" in text
        assert "3 s ago" in text
        assert text.index("held back") < text.index("data/chunk-000/file-000.parquet")
        # A new look is shown where it is open.
        picture = app.box.picture
        tower = picture.projects[0]
        fresh = replace(tower.recordings[0], episodes_sent=12, comparison=())
        app.box.picture = replace(
            picture, projects=(replace(tower, recordings=(fresh, *tower.recordings[1:])), *picture.projects[1:])
        )
        app.main.look_again()
        await app.until(lambda: "12 of 12 episodes" in app.screen_text())


async def test_rows_that_cannot_be_compared_are_told_in_the_details_and_not_in_their_way() -> None:
    async with driving(FakeBox(faults=BesideError("the process that reads was ended by SIGKILL"))) as app:
        await app.press("1")
        await app.highlight(CUBE)
        await app.press("enter")
        await app.until(lambda: "not compared: The process that reads was ended" in app.screen_text())
        assert isinstance(app.app.screen, DetailsDialog)


async def test_ten_thousand_files_are_listed_in_part_and_counted() -> None:
    files = tuple(FileComparison(f"data/{n:05}.parquet", FileState.CURRENT, 10, "a" * 64) for n in range(10_000))
    async with driving(one(State.CURRENT, comparison=files)) as app:
        await app.press("1", "down", "enter")
        await app.until(lambda: isinstance(app.app.screen, DetailsDialog))
        await app.until(lambda: "data/00000.parquet" in app.screen_text())
        await app.press("G")
        await app.until(lambda: "9,700 files" in app.screen_text())


async def test_marking_a_project_marks_its_recordings() -> None:
    async with driving() as app:
        await app.press("1")
        await app.highlight("project:pusht")
        await app.press("space")
        assert app.main.list.marked == {TELEOP, "recording:pusht/expert"}
        assert "2 marked" in app.main.pane(Place.PROJECTS).note_text
        await app.press("u")
        await app.until(lambda: app.asked("push_recording") == [("push_recording", "pusht/teleop-b", False)])
        await app.until(lambda: "1 of 2 not pushed" in app.toasts())
        await app.highlight("project:so101-tower")
        await app.press("space", "space")
        await app.until(lambda: not app.main.list.marked)


async def test_marks_of_every_kind_are_pulled_together() -> None:
    async with driving(size=(50, 40)) as app:
        pack_key = next(row.key for row in app.main.list.rows if row.name == "libero@v1")
        for key in ("recording:pusht/expert", "dataset:hopper-medium-v2", pack_key):
            await app.highlight(key)
            await app.press("space")
        await app.press("p")
        await app.until(lambda: app.asked("pull_packs") == [("pull_packs", ("libero@v1",), False)])
        assert app.asked("pull_recording") == [("pull_recording", "pusht/expert", False, False)]
        assert app.asked("pull") == [("pull", "hopper-medium-v2", False)]


async def test_marked_jobs_are_cancelled_together() -> None:
    box = FakeBox()
    box.set_jobs(watch_job(), job(1, "catalog-pull", "g1-walk-v2", JobState.RUNNING))
    async with driving(box) as app:
        await app.press("4", "home", "space", "space", "c")
        await app.until(lambda: {call[1] for call in app.asked("cancel")} == {1, 5})


async def test_read_only_refuses_what_moves_and_lets_verify() -> None:
    async with driving(read_only=True) as app:
        await app.press("1")
        await app.highlight(TELEOP)
        await app.press("p", "u", "w", "P")
        await app.until(lambda: "read-only" in app.toasts())
        await app.press("3", "end", "v")
        await app.until(lambda: app.asked("verify_packs"))
        assert {call[0] for call in app.box.asked} == {"look", "verify_packs"}


async def test_the_box_is_asked_before_it_goes_and_everything_is_listed() -> None:
    box = FakeBox()
    box.set_jobs(watch_job())
    async with driving(box) as app:
        await app.press("D")
        await app.until(lambda: "push what is not sent" in app.screen_text())
        await app.press("u")
        await app.until(lambda: "Push 3 items, 88.4 MB?" in app.screen_text())
        for line in ("pusht/teleop-b", "sweep-0419 as sweep-0419-v1", "cube-in-bowl: its watch sends it"):
            await app.until(lambda line=line: line in app.screen_text(), line)
        await answer(app, "enter")
        assert app.asked("push_recording") == []
        await app.press("D")
        await app.until(lambda: "push what is not sent" in app.screen_text())
        await app.press("u")
        await answer(app, "tab", "enter")
        await app.until(lambda: len(app.asked("push_as")) == 1)
        assert app.asked("push_recording") == [("push_recording", "pusht/teleop-b", False)]
        assert app.asked("push") == [("push", "reacher-notes-v1")]
        assert app.asked("push_as") == [("push_as", "sweep-0419", "sweep-0419", "v1")]


async def test_a_name_that_the_catalog_has_is_never_pushed_over() -> None:
    box = FakeBox()
    taken = replace(box.picture.datasets[0], id="sweep-0419-v1", name="sweep-0419", version="v1")
    box.picture = replace(box.picture, datasets=(taken, *box.picture.datasets[1:]))
    async with driving(box) as app:
        await app.press("D", "u")
        await app.until(lambda: "sweep-0419 as sweep-0419-v2" in app.screen_text())


async def test_a_read_only_app_offers_no_push_of_what_is_not_sent() -> None:
    async with driving(read_only=True) as app:
        await app.press("D")
        await app.until(lambda: "are only here." in app.screen_text())
        assert "push what is not sent" not in app.screen_text()
        await app.press("u", "escape")
        await app.until(lambda: app.app.screen is app.main)
        assert {call[0] for call in app.box.asked} == {"look"}
