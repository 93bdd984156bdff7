"""The state of declared packs, told from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from noeira_tui.assets.status import PackStatus, pack_states
from noeira_tui.core.states import State

DIGEST = "ab" * 32


def declare(folder: Path, *packs: tuple[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "assets.kv"
    path.write_text(
        "".join(f"pack={name}\nurl=https://e.org/x\nsha256={DIGEST}\ndest={dest}\n" for name, dest in packs)
    )
    return path


def only(states: tuple[PackStatus, ...]) -> PackStatus:
    (status,) = states
    return status


def test_nothing_in_dest_is_missing(tmp_path: Path) -> None:
    manifest = declare(tmp_path / "env", ("libero@v2", "assets"))
    status = only(pack_states(tmp_path))
    assert status == PackStatus(
        "libero",
        "v2",
        "https",
        manifest,
        tmp_path / "env/assets",
        None,
        DIGEST,
        State.MISSING,
        "",
        locator="https://e.org/x",
    )
    (tmp_path / "env/assets").mkdir()
    assert only(pack_states(tmp_path)).state is State.MISSING


def test_files_without_a_record_are_unverified(tmp_path: Path) -> None:
    declare(tmp_path, ("libero", "assets"))
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/mesh.stl").touch()
    status = only(pack_states(tmp_path))
    assert status.state is State.UNVERIFIED
    assert "no record" in status.detail


def test_the_declaration_alone_in_dest_counts_as_nothing(tmp_path: Path) -> None:
    declare(tmp_path, ("libero", "."))
    assert only(pack_states(tmp_path)).state is State.MISSING
    (tmp_path / "scene.xml").touch()
    assert only(pack_states(tmp_path)).state is State.UNVERIFIED


@pytest.mark.parametrize("make", ["file", "dangling"])
def test_something_else_in_the_place_of_dest(tmp_path: Path, make: str) -> None:
    declare(tmp_path, ("libero", "assets"))
    if make == "file":
        (tmp_path / "assets").touch()
        assert only(pack_states(tmp_path)).state is State.UNVERIFIED
    else:
        (tmp_path / "assets").symlink_to("gone")
        assert only(pack_states(tmp_path)).state is State.MISSING


def test_a_wrong_declaration_is_invalid_and_says_where(tmp_path: Path) -> None:
    declare(tmp_path / "a", ("good", "x"), ("bad", "/abs"))
    good, bad = pack_states(tmp_path)
    assert (good.state, bad.state) == (State.MISSING, State.INVALID)
    assert (
        bad.detail == f"{tmp_path}/a/assets.kv, line 8: dest: '/abs' is absolute; it is a folder below that of the file"
    )


def test_two_packs_in_one_folder_are_invalid_across_files(tmp_path: Path) -> None:
    declare(tmp_path, ("outer", "a/assets"))
    declare(tmp_path / "a", ("inner", "assets"))
    assert [status.state for status in pack_states(tmp_path)] == [State.INVALID, State.INVALID]


def test_the_filter_looks_at_the_path_and_still_sees_overlaps(tmp_path: Path) -> None:
    declare(tmp_path / "alpha", ("outer", "x"))
    declare(tmp_path / "beta", ("one", "x"), ("two", "x/y"))
    states = pack_states(tmp_path, filter_text="beta")
    assert [(status.pack, status.state) for status in states] == [("one", State.INVALID), ("two", State.INVALID)]


def test_a_link_that_leads_out_of_the_folder_is_invalid(tmp_path: Path) -> None:
    declare(tmp_path / "env", ("libero", "assets"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "env/assets").symlink_to(tmp_path / "elsewhere")
    status = only(pack_states(tmp_path))
    assert status.state is State.INVALID
    assert "leaves the folder of the file through a link" in status.detail
