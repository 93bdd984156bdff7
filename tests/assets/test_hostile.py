"""Archives made at random, hostile ones among them: whole and inside their folder, or refused; never anything else."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
import zipfile
from pathlib import Path
from tarfile import DIRTYPE, FIFOTYPE, GNU_FORMAT, LNKTYPE, PAX_FORMAT, REGTYPE, SYMTYPE, USTAR_FORMAT, TarInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noeira_tui.assets.names import member_path, place_of
from noeira_tui.assets.unpack import unpack
from noeira_tui.core.errors import ArchiveError
from noeira_tui.core.progress import CancelToken
from tests.support.pack_archives import tar, zst

SEGMENT = st.sampled_from(["a", "b", "A", "..", ".", "", "\u00e9", "e\u0301", "outside", "x" * 20, "a\\b", "-"])
NAME = st.lists(SEGMENT, min_size=1, max_size=5).map("/".join)
TARGET = st.one_of(NAME, st.sampled_from(["/etc/passwd", "../outside", "../../outside", "..", "."]))
MEMBER = st.tuples(
    NAME, st.sampled_from([REGTYPE, REGTYPE, DIRTYPE, SYMTYPE, LNKTYPE, FIFOTYPE]), TARGET, st.binary(max_size=700)
)
SOME = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(data: bytes) -> None:
    """Unpack, or be refused; either way nothing outside changed, and no link was made."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "outside").write_text("untouched")
        (home / "box").mkdir()
        (home / "box" / "archive").write_bytes(data)
        try:
            contents = unpack(home / "box" / "archive", home / "box" / "tree", cancel=CancelToken())
        except ArchiveError:
            contents = None
        assert (home / "outside").read_text() == "untouched"
        assert {path.name for path in home.iterdir()} == {"outside", "box"}
        assert {path.name for path in (home / "box").iterdir()} <= {"archive", "tree"}
        found = [path for path in (home / "box").rglob("*") if not path.is_dir()]
        assert not any(path.is_symlink() for path in found)
        if contents is not None:
            tree = home / "box" / "tree"
            assert {str(path.relative_to(tree)) for path in found if path.is_relative_to(tree)} == {
                one.path for one in contents.files
            }
            assert len({place_of(one.path) for one in contents.files}) == len(contents.files)


@SOME
@given(st.lists(MEMBER, max_size=8), st.sampled_from([USTAR_FORMAT, GNU_FORMAT, PAX_FORMAT]), st.booleans())
def test_any_tar(members: list[tuple[str, bytes, str, bytes]], form: int, compress: bool) -> None:
    made = []
    for name, kind, target, data in members:
        info = TarInfo(name)
        info.type, info.linkname = kind, target if kind in {SYMTYPE, LNKTYPE} else ""
        info.size = len(data) if kind == REGTYPE else 0
        made.append((info, data if kind == REGTYPE else b""))
    data = tar(made, form=form)
    check(zst(data) if compress else data)


@SOME
@given(
    st.lists(
        st.tuples(NAME, st.sampled_from([0o100644, 0o120777, 0o040755, 0o010644]), st.binary(max_size=300)), max_size=8
    )
)
def test_any_zip(members: list[tuple[str, int, bytes]]) -> None:
    raw = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(raw, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)
        for name, mode, data in members:
            info = zipfile.ZipInfo("x")
            info.filename, info.create_system, info.external_attr = name, 3, mode << 16
            archive.writestr(info, data)
    check(raw.getvalue())


@SOME
@given(st.binary(max_size=2000), st.integers(0, 4000), st.binary(min_size=1, max_size=40))
def test_any_damage(body: bytes, at: int, noise: bytes) -> None:
    whole = bytearray(tar([(_file("a/b", len(body)), body), (_file("c", 3), b"123")]))
    at = min(at, len(whole) - 1)
    whole[at : at + len(noise)] = noise
    check(bytes(whole))
    check(os.urandom(3) + bytes(whole))


def _file(name: str, size: int) -> TarInfo:
    info = TarInfo(name)
    info.size = size
    return info


@given(st.text(max_size=60))
def test_a_name_that_is_accepted_stays_below(name: str) -> None:
    try:
        path = member_path(name)
    except ArchiveError:
        return
    assert not path.startswith("/") and ".." not in path.split("/") and "\0" not in path
    assert os.path.normpath(f"/tree/{path}").startswith("/tree")
    assert member_path(path) == path
