"""`pip install` under a running app: it says so in words, goes on as far as it can, and can always be left."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import noeira_tui
from noeira_tui.core import installed
from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.installed import PROGRAM
from noeira_tui.tui.threads import attempt
from tests.support.terminal import Terminal
from tests.tui.driving import driving
from tests.tui.fake_box import FakeBox


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that is looked at, for this test another one than the program's own."""
    path = tmp_path / "__init__.py"
    path.write_text(f'__version__ = "{noeira_tui.__version__}"\n')
    monkeypatch.setattr(PROGRAM, "_path", str(path))
    monkeypatch.setattr(PROGRAM, "_began_with", installed._stamp(str(path)))
    monkeypatch.setattr(PROGRAM, "was_replaced", False)
    yield path


def replace(path: Path) -> None:
    beside = path.with_name("new")
    beside.write_text('__version__ = "99.1"\n')
    beside.replace(path)


async def test_it_is_said_by_itself_once_and_stays_in_the_header(file: Path) -> None:
    async with driving(FakeBox()) as app:
        assert "restart it" not in app.screen_text()
        replace(file)
        await app.press("R")
        await app.until(lambda: "updated to 99.1" in app.toasts(), "the toast")
        assert "Restart it: q, then noeira-tui. Jobs go on." in app.toasts()
        assert "updated: restart it" in app.screen_text()
        await app.press("R")
        await app.until(lambda: not app.main.looking, "another look")
        assert app.toasts().count("updated to 99.1") == 1


async def test_a_part_that_does_not_load_is_told_in_words(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving(FakeBox()) as app:
        replace(file)
        # What an import of a part of the other version comes to.
        monkeypatch.setitem(sys.modules, "noeira_tui.tui.modals.help", None)
        await app.press("?")
        await app.until(lambda: "updated to 99.1" in app.toasts(), "words")
        assert app.app.is_running
        await app.press("q")
        await app.until(lambda: not app.app.is_running, "left")


async def test_a_part_that_is_missing_without_an_update_is_a_fault_as_ever(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImportError):
        async with driving(FakeBox()) as app:
            monkeypatch.setitem(sys.modules, "noeira_tui.tui.modals.help", None)
            await app.press("?")
            await app.until(lambda: not app.app.is_running, "ended")


def test_what_threads_load_is_told_too(file: Path) -> None:
    told: list[NoeiraError] = []

    def load() -> None:
        raise ImportError("cannot import name 'Parts' from 'noeira_tui.jobs'")

    replace(file)
    thread = threading.Thread(target=lambda: attempt(load, told.append))
    thread.start()
    thread.join()
    assert [error.title for error in told] == ["Updated"]
    assert "99.1" in told[0].message


def test_a_real_app_whose_package_is_replaced_ends_in_words(tmp_path: Path) -> None:
    """The package is copied, the app started from the copy, and then everything it has not loaded yet is broken."""
    package = tmp_path / "lib" / "noeira_tui"
    source = Path(noeira_tui.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(source.parent / "styles", package / "styles", dirs_exist_ok=True)
    env = {
        "HOME": str(tmp_path),
        "NOEIRA_LOCAL_ONLY": "yes",
        "NOEIRA_STATE": str(tmp_path / "state"),
        "PYTHONPATH": str(tmp_path / "lib"),
    }
    with Terminal([sys.executable, "-P", "-m", "noeira_tui"], cwd=tmp_path, env=env) as terminal:
        terminal.expect("Safe to destroy")
        replace(package / "__init__.py")
        for part in ("operations", "modals/help", "modals/palette", "modals/dialog"):
            (package / "tui" / f"{part}.py").write_text("from noeira_tui.tui.actions import NOT_THERE_YET\n")
        terminal.type("?")
        terminal.expect("updated to 99.1")
        terminal.type("q")
        assert terminal.wait() == 0
    assert b"Traceback" not in terminal.output
