"""Unpacking: every kind of archive, whole or not at all, and nothing outside of it."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path
from tarfile import BLKTYPE, CHRTYPE, FIFOTYPE, GNU_FORMAT, PAX_FORMAT, USTAR_FORMAT

import pytest
import zstandard

from noeira_tui.assets.compression import MAX_WINDOW_BYTES
from noeira_tui.assets.contents import Unpacked
from noeira_tui.assets.unpack import unpack
from noeira_tui.core.errors import ArchiveError, CancelledError, DiskFullError
from noeira_tui.core.progress import CancelToken
from tests.support.pack_archives import (
    MESHES,
    PACKERS,
    file,
    folder,
    hard_link,
    link,
    sha256,
    tar,
    tar_of,
    tree,
    zip_of,
    zst,
)


def unpacked(data: bytes, tmp_path: Path) -> Unpacked:
    archive = tmp_path / "archive"
    archive.write_bytes(data)
    return unpack(archive, tmp_path / "tree", cancel=CancelToken())


def refused(data: bytes, tmp_path: Path) -> str:
    """What was said when an archive was refused; nothing may appear outside of its own folder."""
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    with pytest.raises(ArchiveError) as caught:
        unpacked(data, tmp_path)
    assert outside.read_text() == "untouched"
    assert {path.name for path in tmp_path.iterdir()} <= {"outside", "archive", "tree"}
    for path in (tmp_path / "tree").rglob("*"):
        assert not path.is_symlink()
    return caught.value.message


@pytest.mark.parametrize("kind", PACKERS)
def test_every_kind_of_archive(kind: str, tmp_path: Path) -> None:
    contents = unpacked(PACKERS[kind](), tmp_path)
    assert contents.kind == kind
    assert tree(tmp_path / "tree") == dict(MESHES)
    assert {one.path: (one.size_bytes, one.sha256) for one in contents.files} == {
        name: (len(data), sha256(data)) for name, data in MESHES.items()
    }
    for one in contents.files:
        found = (tmp_path / "tree" / one.path).lstat()
        assert (found.st_ino, found.st_mtime_ns, stat.S_IMODE(found.st_mode)) == (one.inode, one.mtime_ns, 0o444)


@pytest.mark.parametrize("form", [USTAR_FORMAT, GNU_FORMAT, PAX_FORMAT])
def test_every_tar_format_and_long_names(form: int, tmp_path: Path) -> None:
    name = "/".join(["a-folder-with-quite-a-name"] * 8) + "/mesh.stl"
    members = [folder("empty"), file(name, b"x" * 1000), file("./b//c", b""), file("run.sh", b"#!", mode=0o6755)]
    if form != USTAR_FORMAT:
        members += [file("n" * 200, b"long"), file("é→.txt", b"accents")]
    contents = unpacked(tar(members, form=form), tmp_path)
    assert contents.folders[0] in {"a-folder-with-quite-a-name", "b"} and "empty" in contents.folders
    assert tree(tmp_path / "tree")[name] == b"x" * 1000
    assert len(contents.files) == len(members) - 1
    assert stat.S_IMODE((tmp_path / "tree/run.sh").stat().st_mode) == 0o555


def test_large_members_and_what_lies_between(tmp_path: Path) -> None:
    files = {"big": os.urandom(3_000_001), "small": b"s", "bigger": os.urandom(5_000_000), "none": b""}
    assert {one.path: one.sha256 for one in unpacked(zst(tar_of(files)), tmp_path).files} == {
        name: sha256(data) for name, data in files.items()
    }
    assert tree(tmp_path / "tree") == files


def test_what_is_no_archive_is_one_file(tmp_path: Path) -> None:
    for number, data in enumerate((b"solid mesh", b"", bytes(512) * 3, zst(b"just compressed" * 100))):
        (tmp_path / str(number)).mkdir()
        contents = unpacked(data, tmp_path / str(number))
        assert contents.kind == "file"
        assert [one.sha256 for one in contents.files] == [sha256(data)]


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([file("../outside")], "climbs"),
        ([file("a/../../outside")], "climbs"),
        ([file("/etc/passwd")], "absolute"),
        ([file("a\\..\\b")], "backslash"),
        ([link("l", "/etc")], "out of the tree"),
        ([link("l", "../outside")], "out of the tree"),
        ([link("a/l", "../../outside")], "out of the tree"),
        ([link("l", "..")], "out of the tree"),
        ([link("l", "gone")], "not in the archive"),
        ([link("a", "b"), link("b", "a")], "too many other links"),
        ([link("l", "."), file("x")], "a folder that it lies in"),
        ([folder("d"), link("d/up", "..")], "a folder that it lies in"),
        ([link("l", "."), file("l/outside")], "same name"),
        ([link("l", "../"), file("l/outside")], "same name"),
        ([file("x"), link("l", "x"), file("l", b"through")], "same name"),
        ([hard_link("h", "/etc/passwd")], "absolute"),
        ([hard_link("h", "../outside")], "climbs"),
        ([hard_link("h", "later"), file("later")], "no file before it"),
        ([link("l", "../outside"), hard_link("h", "l")], "no file before it"),
        ([file("a"), file("a")], "same name"),
        ([file("a/b"), file("./a//b")], "same name"),
        ([file("Wood.png"), file("wood.PNG")], "same name"),
        ([file("caf\u00e9"), file("cafe\u0301")], "same name"),
        ([file("a"), file("a/b")], "same name"),
        ([file("a/b"), file("a")], "same name"),
        ([file("A/b"), file("a")], "same name"),
        ([file("dev", b"", type=CHRTYPE)], "device"),
        ([file("dev", b"", type=BLKTYPE)], "device"),
        ([file("pipe", b"", type=FIFOTYPE)], "device"),
        ([file("s" * 300)], "longer than 255 bytes"),
        ([file("/".join(["deep"] * 100))], "folders deep"),
        (
            [file("x/" * 20 + "y" * 200 + "/" + "z" * 250 + "/" + "w" * 250 + "/" + "v" * 250 + "/" + "u" * 250)],
            "longer",
        ),
        ([file(".")], "place of the whole tree"),
    ],
)
@pytest.mark.parametrize("packed", ["tar", "tar.zst"])
def test_members_that_attack(
    members: list[tuple[tarfile.TarInfo, bytes]], why: str, packed: str, tmp_path: Path
) -> None:
    data = tar([file("good"), *members], form=PAX_FORMAT)
    assert why in refused(zst(data) if packed == "tar.zst" else data, tmp_path)


def test_a_link_chain_that_fools_the_library(tmp_path: Path) -> None:
    """The long chain with which the library's `data` filter lets a member write outside (CVE-2025-4517)."""
    component = "d" * 247
    members, path = [], ""
    for step in "abcdefghijklmnop":
        members.append(folder(path + component))
        members.append(link(path + step, component))
        path += component + "/"
    chain = "/".join("abcdefghijklmnop") + "/" + "l" * 254
    members += [link(chain, "../" * 16), link("escape", chain + "/../../../outside"), hard_link("flag", "escape")]
    refused(tar([*members, file("flag", b"overwritten")], form=PAX_FORMAT), tmp_path)


def test_links_inside_the_tree_become_files(tmp_path: Path) -> None:
    members = [
        file("v1/mesh.stl", b"mesh"),
        link("latest", "v1"),
        link("mesh.stl", "latest/../v1/./mesh.stl"),
        link("v1/again.stl", "../mesh.stl"),
        hard_link("v1/hard.stl", "v1/mesh.stl"),
    ]
    unpacked(tar(members), tmp_path)
    found = tree(tmp_path / "tree")
    assert found == dict.fromkeys(
        ["v1/mesh.stl", "latest/mesh.stl", "latest/again.stl", "latest/hard.stl", "mesh.stl", "v1/again.stl",
         "v1/hard.stl"],
        b"mesh",
    )  # fmt: skip
    assert not any(path.is_symlink() for path in (tmp_path / "tree").rglob("*"))
    assert len({(tmp_path / "tree" / name).stat().st_ino for name in found}) == 1


def test_several_frames_and_skippable_ones(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    files = {f"f{number}": os.urandom(4000) for number in range(50)}
    unpacked(skippable + zst(tar_of(files), frames=7) + skippable, tmp_path)
    assert tree(tmp_path / "tree") == files


def test_several_gzip_members_in_a_row(tmp_path: Path) -> None:
    data = tar_of()
    unpacked(gzip.compress(data[:700]) + gzip.compress(data[700:]), tmp_path)
    assert tree(tmp_path / "tree") == dict(MESHES)


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_an_archive_that_is_cut(kind: str, share: float, tmp_path: Path) -> None:
    data = PACKERS[kind]({f"f{number}": os.urandom(3000) for number in range(20)})
    kept = data[: int(len(data.rstrip(b"\0")) * share)]
    with pytest.raises(ArchiveError):
        unpacked(kept, tmp_path)


@pytest.mark.parametrize("pack", [lambda data: data, zst, gzip.compress], ids=["tar", "zst", "gz"])
def test_a_tar_that_is_cut_on_a_member_edge(pack: object, tmp_path: Path) -> None:
    whole = tar_of({f"f{number}": b"x" * 512 for number in range(10)})
    assert callable(pack)
    assert "cut" in refused(pack(whole[: 1024 * 5]), tmp_path)


def test_a_frame_that_is_missing(tmp_path: Path) -> None:
    data = tar_of({f"f{number}": os.urandom(3000) for number in range(20)})
    first, second = zst(data[:30000]), zst(data[30000:])
    assert "cut" in refused(first, tmp_path)
    assert len(second) > 0


def test_two_archives_one_after_the_other(tmp_path: Path) -> None:
    assert "two archives" in refused(zst(tar_of({"a": b"1"})) + zst(tar_of({"b": b"2"})), tmp_path)


@pytest.mark.parametrize("kind", ["tar.zst", "tar.gz", "tar.xz", "zip"])
def test_an_archive_with_a_wrong_byte(kind: str, tmp_path: Path) -> None:
    data = bytearray(PACKERS[kind]({f"f{number}": os.urandom(3000) for number in range(20)}))
    data[len(data) // 2] ^= 0x55
    if kind == "tar.zst":
        checked = zstandard.ZstdCompressor(write_checksum=True)
        data = bytearray(checked.compress(tar_of({f"f{number}": os.urandom(3000) for number in range(20)})))
        data[len(data) // 2] ^= 0x55
    with pytest.raises(ArchiveError):
        unpacked(bytes(data), tmp_path)


@pytest.mark.parametrize("window_log", [27, 28])
def test_a_long_window_works(window_log: int, tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=window_log, enable_ldm=True)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = stream.compress(tar_of()) + stream.flush()
    unpacked(data, tmp_path)
    assert tree(tmp_path / "tree") == dict(MESHES)


def test_a_window_that_is_too_long_says_what_it_needs(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=31)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = stream.compress(tar_of()) + stream.flush()
    assert MAX_WINDOW_BYTES < 1 << 31
    assert "needs 2.1 GB of memory" in refused(data, tmp_path)


def test_bombs(tmp_path: Path) -> None:
    for number, data in enumerate((zst(tar([file("zeros", bytes(90_000_000))])), zip_of({"zeros": bytes(90_000_000)}))):
        (tmp_path / str(number)).mkdir()
        assert "200 times its size" in refused(data, tmp_path / str(number))
        assert sum(path.stat().st_size for path in (tmp_path / str(number) / "tree").rglob("*")) < 70_000_000


def test_no_room_is_noticed_before_writing(tmp_path: Path) -> None:
    def no_room(size_bytes: int) -> None:
        raise DiskFullError("full", missing_bytes=size_bytes)

    archive = tmp_path / "archive"
    archive.write_bytes(tar_of())
    with pytest.raises(DiskFullError):
        unpack(archive, tmp_path / "tree", cancel=CancelToken(), room_for=no_room)
    assert tree(tmp_path / "tree") == {}


def test_cancelled(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.write_bytes(tar_of({f"f{number}": b"x" for number in range(200)}))
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        unpack(archive, tmp_path / "tree", cancel=cancel)


def zip_with(name: str, data: bytes = b"data", mode: int = 0o100644, **fields: int) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        info.create_system = 3
        info.external_attr = mode << 16
        for key, value in fields.items():
            setattr(info, key, value)
        archive.writestr(info, data)
    return raw.getvalue()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zip_with("../outside"), "climbs"),
        (zip_with("/outside"), "absolute"),
        (zip_with("a\\b"), "backslash"),
        (zip_with("l", b"../outside", 0o120777), "out of the tree"),
        (zip_with("l", b"/etc", 0o120777), "out of the tree"),
        (zip_with("dev", b"", 0o020666), "device"),
        (zip_with("l", b"x" * 5000, 0o120777), "very long target"),
        (zip_with("x", b"x" * 99, compress_type=zipfile.ZIP_LZMA), "method 14"),
    ],
)
def test_zips_that_attack(data: bytes, why: str, tmp_path: Path) -> None:
    assert why in refused(data, tmp_path)


def test_a_zip_that_is_encrypted(tmp_path: Path) -> None:
    data = bytearray(zip_of({"a": b"x" * 50}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refused(bytes(data), tmp_path)


def test_modes_and_links_of_a_zip(tmp_path: Path) -> None:
    raw = io.BytesIO(zip_with("run", b"#!", 0o104755))
    with zipfile.ZipFile(raw, "a") as archive:
        info = zipfile.ZipInfo("again")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "run")
    unpacked(raw.getvalue(), tmp_path)
    assert tree(tmp_path / "tree") == {"run": b"#!", "again": b"#!"}
    assert stat.S_IMODE((tmp_path / "tree/run").stat().st_mode) == 0o555


def test_names_of_a_zip_that_unix_tools_made(tmp_path: Path) -> None:
    """They write names as they are on disk, and leave the flag for UTF-8 out."""
    raw = bytearray(zip_of({"caf\u00e9.stl": b"x", "plain": b"y"}))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(magic) + at + 1] &= ~0x08
    assert not any(info.flag_bits & 0x800 for info in zipfile.ZipFile(io.BytesIO(raw)).infolist())
    unpacked(bytes(raw), tmp_path)
    assert sorted(tree(tmp_path / "tree")) == ["caf\u00e9.stl", "plain"]
