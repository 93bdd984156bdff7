"""The tree of links that is made while a pack is unpacked: used where it can be, and never needed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from noeira_tui.assets import install, twin
from noeira_tui.assets.packs import Packs
from noeira_tui.assets.pull import PacksFailedError
from noeira_tui.assets.twin import Twin, may_have_twin
from noeira_tui.core.states import State
from tests.support.pack_archives import (
    MESHES,
    PackServer,
    declare,
    file,
    folder,
    hard_link,
    link,
    sha256,
    stanza,
    tar,
    tar_of,
    tree,
    zst,
)


def declared(packs: Packs, server: PackServer, data: bytes) -> Path:
    """A pack of these bytes, and where it goes."""
    declare(packs.settings.root / "env", stanza(server.put("/libero.tar.zst", data), data))
    return packs.settings.root / "env/assets"


def shares(dest: Path, packs: Packs, data: bytes) -> bool:
    """Whether every file is the cache's own."""
    cached = packs.cache.packs / sha256(data) / "tree"
    return all((dest / name).samefile(cached / name) for name in tree(dest))


@pytest.fixture
def no_file_by_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """An install that links one by one fails."""

    def fail(*_: object) -> None:
        raise AssertionError("linked one by one")

    monkeypatch.setattr(install.Placer, "place", fail)


@pytest.mark.usefixtures("no_file_by_file")
def test_links_and_empty_folders_of_an_archive_come_with_it(packs: Packs, server: PackServer) -> None:
    members = [
        folder("empty/inside"),
        file("a/mesh.stl", b"mesh"),
        hard_link("a/same.stl", "a/mesh.stl"),
        link("b", "a"),
        file("large.raw", os.urandom(3 << 20)),
        file("run.sh", b"#!", mode=0o755),
    ]
    data = zst(tar(members))
    dest = declared(packs, server, data)
    (done,) = packs.pull().packs
    assert (done.linked, done.copied, done.status.state) == (6, 0, State.CURRENT)
    assert sorted(tree(dest)) == ["a/mesh.stl", "a/same.stl", "b/mesh.stl", "b/same.stl", "large.raw", "run.sh"]
    assert (dest / "empty/inside").is_dir() and os.access(dest / "run.sh", os.X_OK)
    assert shares(dest, packs, data) and list((packs.cache.folder / "new").iterdir()) == []
    assert packs.verify()[0].state is State.CURRENT


@pytest.mark.parametrize("trouble", ["rename", "link", "folder"])
def test_where_it_fails_files_are_linked_one_by_one(
    trouble: str, packs: Packs, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_rename, real_link, real_mkdir = Path.rename, os.link, os.mkdir

    def rename(self: Path, target: Path) -> Path:
        if self.name.endswith("-twin"):
            raise OSError(errno.EXDEV, "another mount")
        return real_rename(self, target)

    def link_(source: str, target: str, **more: object) -> None:
        if more.get("dst_dir_fd") is not None and source == "readme.txt":
            raise OSError(errno.EMLINK, "too many links")
        real_link(source, target, **more)  # type: ignore[arg-type]

    def mkdir(path: str, mode: int = 0o777, **more: int) -> None:
        if more and mode == 0o777:
            raise OSError(errno.ENOSPC, "no room")
        real_mkdir(path, mode, **more)

    if trouble == "rename":
        monkeypatch.setattr(Path, "rename", rename)
    elif trouble == "link":
        monkeypatch.setattr(os, "link", link_)
    else:
        monkeypatch.setattr(twin.os, "mkdir", mkdir)
    data = zst(tar_of())
    dest = declared(packs, server, data)
    (done,) = packs.pull().packs
    assert (done.linked, done.copied, tree(dest)) == (3, 0, dict(MESHES))
    assert shares(dest, packs, data) and list((packs.cache.folder / "new").iterdir()) == []


def test_a_folder_that_hands_its_group_down_gets_a_tree_made_in_it(packs: Packs, server: PackServer) -> None:
    home = packs.settings.root / "env"
    home.mkdir()
    if os.getuid() == 0:
        os.chown(home, -1, 12_345)
    home.chmod(0o2775)
    dest = declared(packs, server, zst(tar_of()))
    packs.pull()
    assert {(dest / name).stat().st_mode & 0o2000 for name in ("", "meshes", "meshes/arm")} == {0o2000}
    assert (dest / "meshes").stat().st_gid == home.stat().st_gid


def test_where_something_is_there_is_none(tmp_path: Path) -> None:
    assert may_have_twin(tmp_path / "deep/down/assets", tmp_path)
    assert not may_have_twin(tmp_path / "assets", Path("/proc"))
    (tmp_path / "assets").mkdir()
    assert may_have_twin(tmp_path / "assets", tmp_path)
    (tmp_path / "assets/mine").touch()
    assert not may_have_twin(tmp_path / "assets", tmp_path)
    made = Twin(tmp_path / "nowhere/twin")
    assert not made.is_whole
    made.remove()


def test_wrong_bytes_leave_no_tree_of_links(packs: Packs, server: PackServer) -> None:
    good, other = zst(tar_of()), zst(tar_of({"mine": b"x"}))
    declare(packs.settings.root / "env", stanza(server.put("/libero.tar.zst", other), good))
    with pytest.raises(PacksFailedError):
        packs.pull()
    assert list((packs.cache.folder / "new").iterdir()) == []
    assert not (packs.settings.root / "env/assets").exists()


def test_killed_before_it_was_moved(packs: Packs, server: PackServer) -> None:
    data = zst(tar_of())
    dest = declared(packs, server, data)
    code = (
        "import os, sys\nfrom noeira_tui.assets import install\n"
        "install._takes_over = lambda *_: os._exit(9)\n"
        "from noeira_tui.assets.packs import Packs\nfrom noeira_tui.core.settings import Settings\n"
        f"from pathlib import Path\nPacks(Settings.load(root=Path({str(packs.settings.root)!r}))).pull()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    (left,) = (packs.cache.folder / "new").iterdir()
    assert left.name.endswith("-twin") and not dest.exists()
    # Names in the cache keep nothing from being pruned.
    assert {(one.is_leftover, one.may_go, one.other_links) for one in packs.cached()} == {
        (False, True, 0),
        (True, True, 0),
    }
    asked = len(server.seen)
    packs.pull()
    assert (len(server.seen), tree(dest)) == (asked, dict(MESHES))
    assert list((packs.cache.folder / "new").iterdir()) == []
