from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.paths import absolute, git_work_tree, is_file, is_folder, is_segment, is_wire_path, suffix_of
from tests.support.unprivileged import ordinary_user

_FIRST = "abcXYZ019"
_SEGMENTS = st.builds(str.__add__, st.sampled_from(_FIRST), st.text(_FIRST + "._-", max_size=20))


@given(st.lists(_SEGMENTS, min_size=1, max_size=8))
def test_up_to_eight_segments_by_the_rule_are_a_path(segments: list[str]) -> None:
    path = "/".join(segments)
    assert is_wire_path(path) == (len(path) <= 512)


@given(st.text(max_size=60))
def test_no_accepted_text_can_leave_its_folder(text: str) -> None:
    if not is_wire_path(text):
        return
    assert text.isascii() and text.isprintable()
    parts = PurePosixPath(text).parts
    assert "/".join(parts) == text
    assert not any(part.startswith(".") or part == ".." for part in parts)


@given(st.lists(_SEGMENTS, min_size=1, max_size=4), st.sampled_from("\0\\\n\r\t :~*é/\u2028\uff0e"), st.integers(0, 60))
def test_one_bad_character_anywhere_refuses_a_path(segments: list[str], bad: str, where: int) -> None:
    path = "/".join(segments)
    where = min(where, len(path))
    spoiled = path[:where] + bad + path[where:]
    if bad == "/" and is_wire_path(spoiled):
        # A slash between two characters that may begin and end a segment makes two segments of one.
        assert all(is_segment(part) for part in spoiled.split("/"))
        return
    assert not is_wire_path(spoiled)


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", "..", "a/../b", ".", ".hid", "a/.b", "-a", "_a", "a\n", "\ta", "a\\b", "C:/x", "é",
     "a\0", "a/b/c/d/e/f/g/h/i", "a" * 513, "٣", "a b"],
)  # fmt: skip
def test_a_path_that_is_refused(path: str) -> None:
    assert not is_wire_path(path)


@pytest.mark.parametrize("path", ["a", "a/b/c/d/e/f/g/h", "a" * 512, "meta/info.json", "0._-", "A..b", "a-"])
def test_a_path_that_is_accepted(path: str) -> None:
    assert is_wire_path(path)


def test_a_segment_is_no_path() -> None:
    assert is_segment("walker-random")
    assert not any(is_segment(text) for text in ("a/b", "", "a\n", "..", "a" * 513))


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("walker.h5", ".h5"),
        ("walker.v1.h5", ".h5"),
        ("set.tar.zst", ".tar.zst"),
        ("set.zarr.zip", ".zarr.zip"),
        ("a/b/set.tar.gz", ".tar.gz"),
        ("nothing", ""),
        (".hidden", ""),
        ("", ""),
        ("bad.h 5", ""),
        ("bad.h5\n", ""),
        ("bad.é", ""),
        ("end.", ""),
    ],
)
def test_the_suffix_a_name_keeps(name: str, suffix: str) -> None:
    assert suffix_of(name) == suffix


@given(st.text(max_size=40))
def test_a_suffix_can_always_follow_a_name(name: str) -> None:
    assert is_segment("x" + suffix_of(name))


def test_absolute() -> None:
    base = Path("/base/in")
    assert absolute(Path("a/../b"), base) == Path("/base/in/b")
    assert absolute(Path("/x//y/./z"), base) == Path("/x/y/z")
    assert absolute(Path("~"), base) == Path.home()
    with pytest.raises(ConfigError, match="home folder"):
        absolute(Path("~nobody-has-this-name/x"), base)


def test_a_link_in_a_path_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert absolute(Path("link/x"), tmp_path) == tmp_path / "link" / "x"


def test_git_work_tree(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / ".git").mkdir()
    assert git_work_tree(tmp_path / "a" / "b" / "c") == tmp_path / "a"
    (tmp_path / "a" / "b" / ".git").write_text("gitdir: x")
    assert git_work_tree(tmp_path / "a" / "b" / "c") == tmp_path / "a" / "b"


def test_where_one_may_not_look_nothing_is() -> None:
    with ordinary_user() as folder:
        (folder / "closed" / "inner").mkdir(parents=True)
        (folder / "closed" / "file").touch()
        assert is_file(folder / "closed" / "file")
        assert is_folder(folder / "closed" / "inner")
        (folder / "closed").chmod(0)
        assert not is_file(folder / "closed" / "file")
        assert not is_folder(folder / "closed" / "inner")
        assert git_work_tree(folder / "closed" / "inner") is None
