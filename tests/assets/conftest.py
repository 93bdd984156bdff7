from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.assets.packs import Packs
from noeira_tui.core.settings import Settings
from tests.support.pack_archives import PackServer, serving


@pytest.fixture
def server() -> Iterator[PackServer]:
    """A server of packs on loopback."""
    with serving() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own: the folder of asset packs in it."""
    monkeypatch.setenv("NOEIRA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "assets"


@pytest.fixture
def packs(root: Path, cache: Path) -> Packs:
    """The packs below an empty root."""
    return Packs(Settings.load(root=root))
