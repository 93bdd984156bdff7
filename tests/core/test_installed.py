"""A program that is replaced on disk while it runs is noticed, whatever replaced it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noeira_tui import __version__
from noeira_tui.core.installed import Installed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "__init__.py"
    path.write_text(f'__version__ = "{__version__}"\n')
    return path


def test_nothing_happened(file: Path) -> None:
    installed = Installed(str(file))
    assert not installed.look()
    assert not installed.was_replaced


def test_another_version_is_named(file: Path) -> None:
    installed = Installed(str(file))
    beside = file.with_name("new")
    beside.write_text('__version__ = "99.1"\n')
    beside.replace(file)
    assert installed.look()
    assert installed.told() == "noeira-tui was updated to 99.1 while it runs."
    assert "Jobs go on" in installed.error().hint


def test_the_same_version_installed_again_is_an_update_too(file: Path) -> None:
    installed = Installed(str(file))
    beside = file.with_name("new")
    beside.write_bytes(file.read_bytes())
    beside.replace(file)
    assert installed.look()
    assert installed.told() == "noeira-tui was updated while it runs."


def test_a_removed_program_is_told_and_stays_replaced_when_it_comes_back(file: Path) -> None:
    installed = Installed(str(file))
    before, text = file.stat(), file.read_text()
    file.unlink()
    assert installed.look()
    assert installed.told() == "noeira-tui was removed while it runs."
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert installed.look()
