"""What a download may replace, where it may write, and what it leaves behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from noeira_tui.core.errors import DestinationError
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.transfer import publish as publish_module
from noeira_tui.transfer.download import download, part_path, partial_bytes
from noeira_tui.transfer.facts import FileStamp, Replace
from noeira_tui.transfer.journal import Journal, read_journal, write_journal
from noeira_tui.transfer.part import claim, journal_path
from tests.support.faulty_server import FAST_CONTEXT, FaultyServer


def pull(server: FaultyServer, dest: Path, **more: object):
    return download(more.pop("source", None) or server.source(), dest, server.wanted, context=FAST_CONTEXT, **more)


@pytest.fixture(params=["one step", "link", "neither"])
def rename(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The system can rename exclusively; it cannot, but has hard links; it has neither."""
    if request.param != "one step":
        monkeypatch.setattr(publish_module, "rename_exclusively", lambda source, dest: 38)
    if request.param == "neither":

        def refuse(*args: object) -> None:
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    return request.param


def test_a_file_of_the_users_stays(small: FaultyServer, dest: Path, rename: str) -> None:
    dest.parent.mkdir()
    dest.write_bytes(b"mine")
    with pytest.raises(DestinationError, match="exists"):
        pull(small, dest)
    assert (dest.read_bytes(), small.requests) == (b"mine", 0)


def test_a_file_that_appears_meanwhile_stays(small: FaultyServer, dest: Path, rename: str) -> None:
    class Appears:
        def current(self) -> PresignedUrl:
            dest.write_bytes(b"mine")
            return small.presigned("/object")

    with pytest.raises(DestinationError, match="exists"):
        pull(small, dest, source=Appears())
    assert dest.read_bytes() == b"mine"
    assert partial_bytes(dest) == len(small.content), "what was fetched is kept"


def test_the_same_contents_that_appear_meanwhile_are_fine(small: FaultyServer, dest: Path, rename: str) -> None:
    class Appears:
        def current(self) -> PresignedUrl:
            dest.write_bytes(small.content)
            return small.presigned("/object")

    pull(small, dest, source=Appears())
    assert [path.name for path in dest.parent.iterdir()] == [dest.name]


def test_published_where_nothing_was(small: FaultyServer, dest: Path, rename: str) -> None:
    pull(small, dest)
    assert dest.read_bytes() == small.content
    assert dest.stat().st_nlink == 1
    assert [path.name for path in dest.parent.iterdir()] == [dest.name]


def test_wanted_contents_are_left_alone(small: FaultyServer, dest: Path) -> None:
    dest.parent.mkdir()
    dest.write_bytes(small.content)
    before = FileStamp.of(dest.stat())
    done = pull(small, dest)
    assert (done.requests, done.bytes_transferred, FileStamp.of(dest.stat())) == (0, 0, before)


def test_replaced_by_its_stamp(small: FaultyServer, dest: Path) -> None:
    dest.parent.mkdir()
    dest.write_bytes(b"what was last pulled")
    pull(small, dest, replace=Replace(stamp=FileStamp.of(dest.stat())))
    assert dest.read_bytes() == small.content


def test_edited_since_its_stamp(small: FaultyServer, dest: Path) -> None:
    dest.parent.mkdir()
    dest.write_bytes(b"what was last pulled")
    stamp = FileStamp.of(dest.stat())

    class Edits:
        def current(self) -> PresignedUrl:
            dest.write_bytes(b"edited by the user..")
            return small.presigned("/object")

    with pytest.raises(DestinationError):
        pull(small, dest, source=Edits(), replace=Replace(stamp=stamp))
    assert dest.read_bytes() == b"edited by the user.."


def test_forced(small: FaultyServer, dest: Path) -> None:
    dest.parent.mkdir()
    dest.write_bytes(b"mine")
    pull(small, dest, replace=Replace(anything=True))
    assert dest.read_bytes() == small.content


def test_a_folder_is_never_replaced(small: FaultyServer, dest: Path) -> None:
    dest.mkdir(parents=True)
    with pytest.raises(DestinationError, match="is a folder"):
        pull(small, dest, replace=Replace(anything=True))


def test_a_file_where_a_folder_should_be(small: FaultyServer, dest: Path) -> None:
    dest.parent.write_bytes(b"")
    with pytest.raises(DestinationError) as caught:
        pull(small, dest)
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder(small: FaultyServer, dest: Path) -> None:
    dest.parent.mkdir(mode=0o500)
    with pytest.raises(DestinationError) as caught:
        pull(small, dest)
    assert caught.value.hint


def test_a_link_at_the_part_is_not_followed(small: FaultyServer, dest: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    dest.parent.mkdir()
    part_path(dest).symlink_to(victim)
    with pytest.raises(DestinationError, match="plain file"):
        pull(small, dest)
    assert victim.read_bytes() == b"precious"


def test_a_part_with_a_second_name_is_not_written(small: FaultyServer, dest: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    dest.parent.mkdir()
    os.link(victim, part_path(dest))
    pull(small, dest)
    assert victim.read_bytes() == b"precious"
    assert dest.read_bytes() == small.content


def test_mode_follows_the_umask(small: FaultyServer, dest: Path) -> None:
    old = os.umask(0o027)
    try:
        pull(small, dest)
    finally:
        os.umask(old)
    assert stat.S_IMODE(dest.stat().st_mode) == 0o640


def test_part_removed_meanwhile(small: FaultyServer, dest: Path) -> None:
    class Removes:
        left = 1

        def current(self) -> PresignedUrl:
            if self.left:
                self.left = 0
                part_path(dest).unlink()
            return small.presigned("/object")

    pull(small, dest, source=Removes())
    assert dest.read_bytes() == small.content


def foreign(part: Path, owner: ProcessOwner, sha256: str, size: int) -> None:
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(b"\0" * 1000)
    write_journal(journal_path(part), Journal(sha256, size, "0123456789abcdef", owner, ((0, 1000),)))


def test_living_owner_keeps_its_part(small: FaultyServer, dest: Path) -> None:
    """(a) 5: also where locks lie, and they do here: nobody holds one."""
    me = ProcessOwner.me()
    parent = ProcessOwner(me.host, me.boot_id, me.pid_namespace, os.getppid(), start_of_parent())
    foreign(part_path(dest), parent, small.wanted.sha256, len(small.content))
    pull(small, dest)
    assert dest.read_bytes() == small.content
    assert part_path(dest).read_bytes() == b"\0" * 1000


def test_dead_owner_is_taken_over(small: FaultyServer, dest: Path) -> None:
    me = ProcessOwner.me()
    gone = ProcessOwner(me.host, me.boot_id, me.pid_namespace, os.getpid(), "1")
    foreign(part_path(dest), gone, small.wanted.sha256, len(small.content))
    part_path(dest).write_bytes(small.content[:1000])
    assert pull(small, dest).resumed_from == 1000


@pytest.mark.parametrize(("age_s", "taken"), [(5, False), (120, True)])
def test_owner_on_another_host_lives_by_its_heartbeat(
    small: FaultyServer, dest: Path, age_s: float, taken: bool
) -> None:
    foreign(part_path(dest), ProcessOwner("elsewhere", "b", "n", 1, "1"), small.wanted.sha256, len(small.content))
    journal = journal_path(part_path(dest))
    os.utime(journal, (journal.stat().st_atime, journal.stat().st_mtime - age_s))
    pull(small, dest)
    assert part_path(dest).exists() is not taken


def test_taken_over_by_another_process_meanwhile(small: FaultyServer, dest: Path) -> None:
    """(a) 5: who was taken for dead gives way and still ends with a good file."""
    other = ProcessOwner("elsewhere", "b", "n", 1, "1")

    class TakesOver:
        left = 1

        def current(self) -> PresignedUrl:
            if self.left:
                self.left = 0
                foreign(part_path(dest), other, small.wanted.sha256, len(small.content))
            return small.presigned("/object")

    pull(small, dest, source=TakesOver())
    assert dest.read_bytes() == small.content
    found = read_journal(journal_path(part_path(dest)))
    assert found is not None and found.owner == other


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "owner": {"pid": "x"}}', "\0"])
def test_broken_journal(small: FaultyServer, dest: Path, text: str) -> None:
    dest.parent.mkdir()
    part_path(dest).write_bytes(small.content[:1000])
    journal_path(part_path(dest)).write_text(text)
    assert partial_bytes(dest) is None
    pull(small, dest)
    assert dest.read_bytes() == small.content


def test_nothing_left_of_an_empty_attempt(small: FaultyServer, dest: Path) -> None:
    claim(dest, small.wanted).release()
    assert list(dest.parent.iterdir()) == []


def start_of_parent() -> str:
    return Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
