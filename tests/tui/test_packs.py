"""Asset packs in the app: what is missing at a glance, pull one or all, verify, details; by keys alone."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from noeira_tui.assets.compare import FileProblem, Trouble
from noeira_tui.assets.status import PackStatus
from noeira_tui.core.progress import ProgressSnapshot
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobState
from noeira_tui.overview.packfacts import PackFacts
from noeira_tui.tui.modals.confirm import ConfirmDialog
from noeira_tui.tui.rows import Place
from tests.tui.driving import NARROW, Driver, driving
from tests.tui.fake_box import NOW, FakeBox, overview, pack

CHANGED = pack("so101", "v2", State.MODIFIED, 41_000_000, "1 of 3 files is changed since the install: arm.stl.")


def packs_of(*packs: PackStatus) -> FakeBox:
    return FakeBox(picture=overview(packs=packs))


def key_of(app: Driver, name: str) -> str:
    """The key of the row with this name."""
    return next(row.key for row in app.main.board.all_rows(Place.PACKS) if row.name == name)


async def test_what_is_missing_is_said_on_top_with_its_bytes() -> None:
    async with driving(size=NARROW) as app:
        await app.press("3")
        await app.until(lambda: "▲ 1 pack missing, 1 partial, 266 MB to fetch · P pulls" in app.screen_text())
        here = pack("libero", "v1", State.CURRENT, 189_000_000)
        app.box.picture = replace(app.box.picture, packs=(here,))
        app.main.look_again()
        await app.until(lambda: "to fetch · P" not in app.screen_text() and "missing" not in app.screen_text())


async def test_rows_of_one_pack_tell_where_each_belongs_and_what_is_wrong_comes_before_its_path() -> None:
    here = pack("libero", "v1", State.CURRENT, 189_000_000)
    there = replace(here, manifest=here.manifest.parent.parent / "arm/assets.kv", dest=here.manifest.parent / "lib")
    broken = pack("bad", "v1", State.INVALID, None, f"{here.manifest}, line 3: sha256: 'zz' is not 64 hex digits")
    async with driving(packs_of(here, there, broken)) as app:
        await app.until(lambda: app.main.board.overview is not None)
        notes = sorted(row.note for row in app.main.board.all_rows(Place.PACKS))
        assert notes == ["in arm/lib", "in so101-tower/assets/libero", "line 3: sha256: 'zz' is not 64 hex digits"]


async def test_one_pack_is_pulled_and_its_row_tells_how_far_it_is() -> None:
    async with driving() as app:
        await app.press("3")
        await app.highlight(key_of(app, "libero@v1"))
        await app.press("p")
        await app.until(lambda: app.asked("pull_packs") == [("pull_packs", ("libero@v1",), False)])
        key = key_of(app, "libero@v1")
        await app.until(lambda: app.status(key) == "waiting")
        running = replace(app.box.rows[0], state=JobState.RUNNING, progress=ProgressSnapshot(50, 200, rate=2e6))
        app.box.set_jobs(running)
        await app.until(lambda: app.status(key) == "25 %")
        await app.until(lambda: "↓ 2.0 MB/s" in app.text("#header"))
        # Another pack is not moved by it; and what is on its way is not pulled again with the others.
        assert app.status(key_of(app, "aloha@v1")) == "partial"
        await app.press("P")
        await app.until(lambda: app.asked("pull_packs")[1:] == [("pull_packs", ("aloha@v1",), False)])


async def test_all_that_is_missing_is_pulled_from_anywhere() -> None:
    async with driving() as app:
        await app.press("1", "P")
        await app.until(lambda: app.asked("pull_packs") == [("pull_packs", ("libero@v1", "aloha@v1"), False)])
        await app.until(lambda: app.status(key_of(app, "aloha@v1")) == "waiting")
        await app.press("P")
        await app.until(lambda: "Every declared pack is here, or on its way." in app.toasts())


async def test_the_palette_pulls_all_packs() -> None:
    async with driving() as app:
        await app.press("ctrl+p", *"pull packs", "enter")
        await app.until(lambda: app.asked("pull_packs") == [("pull_packs", ("libero@v1", "aloha@v1"), False)])


async def test_changed_files_are_overwritten_only_after_a_yes_and_only_theirs() -> None:
    async with driving(packs_of(CHANGED, pack("libero", "v1", State.MISSING, 5))) as app:
        await app.press("3", "home", "space", "space", "p")
        await app.until(lambda: isinstance(app.app.screen, ConfirmDialog))
        await app.until(lambda: "arm.stl" in app.screen_text())
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.main)
        assert app.asked("pull_packs") == []
        await app.press("p")
        await app.until(lambda: isinstance(app.app.screen, ConfirmDialog))
        await app.press("tab", "enter")
        await app.until(lambda: len(app.asked("pull_packs")) == 2)
        assert app.asked("pull_packs") == [("pull_packs", ("libero@v1",), False), ("pull_packs", ("so101@v2",), True)]


async def test_verifying_never_blocks_and_names_the_files_that_differ() -> None:
    box = packs_of(pack("so101", "v2", State.CURRENT, 41_000_000))
    problems = (FileProblem("meshes/arm.stl", Trouble.MODIFIED), FileProblem("meshes/base.stl", Trouble.GONE))
    box.verified["so101@v2"] = replace(CHANGED, problems=problems)
    box.hold_verify = threading.Event()
    async with driving(box) as app:
        await app.press("3", "v")
        await app.until(lambda: "verifying so101@v2 43 %" in app.main.pane(Place.PACKS).note_text)
        # The app goes on, and one verification is enough.
        await app.press("v")
        await app.until(lambda: "verifying goes on already" in app.toasts())
        await app.press("2", "3")
        box.hold_verify.set()
        await app.until(lambda: app.status(key_of(app, "so101@v2")) == "modified")
        await app.until(lambda: "meshes/arm.stl (modified), meshes/base.stl (gone)" in app.toasts())
        assert app.main.pane(Place.PACKS).note_text == ""
        # A look opens no file: what was found for certain stays until the pack is another.
        await app.press("enter")
        await app.until(lambda: "meshes/base.stl" in app.screen_text())
        await app.press("escape")
        looks = len(app.asked("look"))
        app.main.look_again()
        await app.until(lambda: len(app.asked("look")) > looks and not app.main.looking)
        assert app.status(key_of(app, "so101@v2")) == "modified"
        # Verified again, it is still what it is.
        await app.press("v")
        await app.until(lambda: len(app.asked("verify_packs")) == 2 and not app.main.background.doing)
        looks = len(app.asked("look"))
        app.main.look_again()
        await app.until(lambda: len(app.asked("look")) > looks and not app.main.looking)
        assert app.status(key_of(app, "so101@v2")) == "modified"
        app.box.picture = overview(packs=(pack("so101", "v2", State.CURRENT, 41_000_000, installed_at=NOW),))
        app.main.look_again()
        await app.until(lambda: app.status(key_of(app, "so101@v2")) == "current")


async def test_a_verification_is_stopped_by_a_key() -> None:
    box = packs_of(pack("so101", "v2", State.CURRENT, 41_000_000))
    box.hold_verify = threading.Event()
    async with driving(box, read_only=True) as app:
        await app.press("3", "v")
        await app.until(lambda: app.main.background.doing)
        await app.press("c")
        await app.until(lambda: "Verification stopped." in app.toasts())
        assert not app.main.background.doing
        box.hold_verify.set()
        await app.press("v")
        await app.until(lambda: "so101@v2: every file is as it was installed." in app.toasts())


async def test_nothing_installed_is_nothing_to_verify() -> None:
    async with driving() as app:
        await app.press("3")
        await app.highlight(key_of(app, "libero@v1"))
        await app.press("v")
        await app.until(lambda: "there is nothing to verify" in app.toasts())
        assert app.asked("verify_packs") == []


async def test_details_tell_where_from_with_what_and_who_shares_it() -> None:
    box = packs_of(pack("so101", "v2", State.CURRENT, 41_000_000, installed_version="v2", installed_at=NOW - 3600))
    box.facts = PackFacts(
        "HF_TOKEN", "/data/robots/.env", True, "", 2, 1, (Path("/data/other/assets"),), (Path("/cache/assets/packs/a"),)
    )
    async with driving(box) as app:
        await app.press("3", "enter")
        await app.until(lambda: "HF_TOKEN from /data/robots/.env, is sent" in app.screen_text())
        for told in (
            "https https://assets.example.org/so101-v2.tar.zst",
            "2 linked with the cache, 1 copied",
            "/data/other/assets",
            "/cache/assets/packs/a",
            "v2 · 3 files, 1 h ago",
            CHANGED.sha256 or "",
        ):
            assert told in app.screen_text()


async def test_a_credential_that_is_not_set_is_told() -> None:
    box = packs_of(pack("so101", "v2", State.MISSING, 41_000_000))
    box.facts = PackFacts("LAB_TOKEN")
    async with driving(box) as app:
        await app.press("3", "enter")
        await app.until(lambda: "LAB_TOKEN, not set" in app.screen_text())
