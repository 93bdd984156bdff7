"""Completeness of single files, on sound, damaged and half-written ones."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.recordings.files import Verdicts, incompleteness
from noeira_tui.recordings.layout import FileKind, belongs, kind_of, travel_order
from noeira_tui.recordings.tree import Stamp
from tests.recordings.samples import MP4, PARQUET, REAL_DATA, box, put


def verdict(path: Path) -> str | None:
    fd = os.open(path, os.O_RDONLY)
    try:
        return incompleteness(path, fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def judge(tmp_path: Path, name: str, data: bytes) -> str | None:
    return verdict(put(tmp_path / name, data))


LARGE = (1).to_bytes(4) + b"mdat" + (16 + 5).to_bytes(8) + b"12345"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.mp4", MP4),
        ("a.MP4", box(b"ftyp") + box(b"moov") + LARGE),
        ("a.mp4", box(b"ftyp") + box(b"moov") + (box(b"moof") + box(b"mdat", b"x")) * 50),
        ("a.parquet", PARQUET),
        ("a.json", b' {"a": [NaN]}\n'),
        ("a.txt", b""),
        ("README.md", b"anything"),
    ],
)
def test_complete_files(tmp_path: Path, name: str, data: bytes) -> None:
    assert judge(tmp_path, name, data) is None


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.mp4", b"", "empty"),
        ("a.mp4", box(b"ftyp") + box(b"mdat", b"frames"), "still open: no moov yet"),
        ("a.mp4", box(b"ftyp") + box(b"moov"), "still open: no mdat yet"),
        ("a.mp4", box(b"ftyp") + box(b"free") + b"\0\0\0\0mdat1234", "still open: a box has no length yet"),
        ("a.mp4", MP4[:-1], "ends inside a box"),
        ("a.mp4", MP4 + b"\0\0", "ends inside a box"),
        ("a.mp4", b"<html>not a video</html>", "not an mp4"),
        ("a.mp4", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "a Git LFS pointer"),
        ("a.parquet", PARQUET[:-1], "still open: no footer yet"),
        ("a.parquet", b"PAR1", "still open: no footer yet"),
        ("a.parquet", b"PAR1PAR1", "still open: no footer yet"),
        ("a.parquet", b"PAR1" + b"pages" * 9, "still open: no footer yet"),
        ("a.parquet", b"x" + PARQUET, "not a parquet"),
        ("a.parquet", b"PAR1abc" + (99).to_bytes(4, "little") + b"PAR1", "its footer does not fit"),
        ("a.parquet", b"PAR1abc" + (3).to_bytes(4, "little") + b"PAR1", "its footer cannot be read"),
        ("a.json", b'{"total_episodes": 1', "does not parse"),
        ("a.json", b"[" * 100_000, "does not parse"),
        ("a.json", b"\xff\xfe\xff", "does not parse"),
    ],
)
def test_incomplete_files_say_why(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    found = judge(tmp_path, name, data)
    assert found is not None
    assert found.startswith(reason)


@given(st.data())
def test_every_cut_of_a_file_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    name, whole = data.draw(st.sampled_from([("a.mp4", MP4), ("a.parquet", PARQUET), ("a.json", b'{"a": [1, 2]}')]))
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert judge(tmp_path_factory.getbasetemp(), name, whole[:cut]) is not None


@given(st.binary(max_size=200), st.sampled_from(["a.mp4", "a.parquet", "a.json", "a.bin"]))
def test_no_bytes_crash_it(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    found = judge(tmp_path_factory.getbasetemp(), name, data)
    assert found is None or found


def test_a_verdict_is_remembered_until_the_file_changes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.mp4", MP4)
    later = time.time() + 60
    verdicts = Verdicts()
    assert [verdicts.reason(path, Stamp.of(path.stat()), later) for _ in range(3)] == [None, None, None]
    assert verdicts.looked_at == 1
    put(path, MP4[:-1])
    assert verdicts.reason(path, Stamp.of(path.stat()), later) == "ends inside a box"
    assert verdicts.looked_at == 2


def test_a_file_that_has_just_changed_is_looked_at_again(tmp_path: Path) -> None:
    path = put(tmp_path / "a.mp4", MP4, time.time())
    verdicts = Verdicts()
    for _ in range(2):
        verdicts.reason(path, Stamp.of(path.stat()), time.time())
    assert verdicts.looked_at == 2


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("meta/info.json", True),
        ("README.md", True),
        ("videos/cam/chunk-000/file-000.mp4", True),
        ("images/x.png", False),
        ("tmpabc/x.mp4", False),
        ("meta", False),
        ("notes.txt", False),
        ("meta/.hidden.json", False),
        ("meta/.cache/x.json", False),
        ("data/x.parquet.part", False),
        ("data/x.tmp", False),
        ("meta/info.json.lock", False),
    ],
)
def test_what_belongs_to_a_recording(path: str, wanted: bool) -> None:
    assert belongs(path) is wanted


def test_info_travels_last_and_videos_first() -> None:
    paths = ["meta/info.json", "data/a.parquet", "README.md", "videos/a.mp4", "meta/stats.json"]
    assert sorted(paths, key=travel_order) == [
        "videos/a.mp4",
        "data/a.parquet",
        "README.md",
        "meta/stats.json",
        "meta/info.json",
    ]


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real datasets are not beside the repository")
def test_real_files_are_complete_and_their_cuts_are_not(tmp_path: Path) -> None:
    files = [
        path for path in sorted(REAL_DATA.rglob("*")) if kind_of(path.name) is not FileKind.OTHER and path.is_file()
    ]
    assert len(files) > 30
    assert {str(path): reason for path in files if (reason := verdict(path))} == {}
    for path in (path for path in files if path.stat().st_size > 16):
        copy = tmp_path / f"cut{path.suffix}"
        shutil.copyfile(path, copy)
        os.truncate(copy, copy.stat().st_size * 2 // 3)
        assert verdict(copy) is not None, path
