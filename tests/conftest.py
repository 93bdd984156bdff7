"""What every test shares: an environment of its own, and one real catalog service a session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.core.settings import Settings
from tests.support.service_fixture import RunningService, running_service


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: at the end one of them would keep a single core busy, and the others idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No setting of the machine reaches a test, and no test reaches the machine's settings or state."""
    for name in list(os.environ):
        if name.startswith(("NOEIRA_", "AWS_")) or name.lower() in {"http_proxy", "https_proxy", "all_proxy"}:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("NOEIRA_STATE", str(home / "state"))
    return home


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A real catalog service with a real object store; tests use ids of their own."""
    with running_service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty root, which is the working folder too."""
    folder = tmp_path / "root"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def connected(root: Path, service: RunningService, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that name the service, from the environment."""
    for name, value in service.environ.items():
        monkeypatch.setenv(name, value)
    return Settings.load(root=root)
