"""Finding `assets.kv` files: where is looked, and where is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noeira_tui.assets.discover import find_manifests


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_finds_files_at_any_depth_in_order(tmp_path: Path) -> None:
    wanted = [put(tmp_path / "assets.kv"), put(tmp_path / "envs/a/assets.kv"), put(tmp_path / "envs/b/c/assets.kv")]
    put(tmp_path / "envs/assets.kv.bak")
    assert find_manifests(tmp_path).manifests == tuple(sorted(wanted))


@pytest.mark.parametrize(
    "folder", [".git", ".hidden", "node_modules", "__pycache__", "x/site-packages", "d/frames.zarr"]
)
def test_folders_that_hold_no_declarations_are_skipped(tmp_path: Path, folder: str) -> None:
    put(tmp_path / folder / "sub/assets.kv")
    assert find_manifests(tmp_path).manifests == ()


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"])
def test_environments_and_tagged_caches_are_skipped(tmp_path: Path, marker: str) -> None:
    put(tmp_path / "env" / marker)
    put(tmp_path / "env/lib/assets.kv")
    assert find_manifests(tmp_path).manifests == ()


def test_the_root_itself_is_searched_whatever_it_is(tmp_path: Path) -> None:
    root = tmp_path / ".cache"
    put(root / "pyvenv.cfg")
    wanted = put(root / "assets.kv")
    assert find_manifests(root).manifests == (wanted,)


def test_mounted_caches_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "pack-cache/assets.kv")
    kept = put(tmp_path / "mounted/assets.kv")
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    assert find_manifests(tmp_path).manifests == (kept,)


def test_named_folders_are_skipped(tmp_path: Path) -> None:
    put(tmp_path / "store/assets.kv")
    assert find_manifests(tmp_path, skip=[tmp_path / "store"]).manifests == ()


def test_links_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "real/assets.kv")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "alias").symlink_to("real")
    assert find_manifests(tmp_path).manifests == (tmp_path / "real/assets.kv",)


def test_the_search_is_bounded_and_says_so(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).mkdir()
    assert not find_manifests(tmp_path, max_folders=5).is_complete
    assert find_manifests(tmp_path, max_folders=21).is_complete


def test_a_root_that_is_not_there_is_reported(tmp_path: Path) -> None:
    assert find_manifests(tmp_path / "gone").unreadable == (tmp_path / "gone",)


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff[/")
    found = put(Path(folder) / "assets.kv")
    assert find_manifests(tmp_path).manifests == (found,)
