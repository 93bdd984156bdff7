from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noeira_tui.core import statedb
from noeira_tui.core.errors import StateError
from noeira_tui.core.statedb import StateDb, or_without
from tests.support.unprivileged import ordinary_user

SCHEMA = "CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, n INTEGER NOT NULL);"
ADD = "INSERT INTO counts VALUES ('x', 1) ON CONFLICT DO UPDATE SET n = n + 1"


def count(db: StateDb) -> int:
    with db.reading(SCHEMA) as connection:
        row = connection.execute("SELECT n FROM counts").fetchone()
    return 0 if row is None else int(row[0])


def add(db: StateDb) -> None:
    with db.transaction(SCHEMA) as connection:
        connection.execute(ADD)


def test_it_makes_its_folder_for_its_owner_alone(tmp_path: Path) -> None:
    db = StateDb(tmp_path / "a" / "state")
    add(db)
    assert count(db) == 1
    assert db.folder.stat().st_mode & 0o077 == 0


def test_an_error_inside_takes_everything_back(tmp_path: Path) -> None:
    db = StateDb(tmp_path)
    add(db)
    with pytest.raises(KeyError), db.transaction(SCHEMA) as connection:
        connection.execute(ADD)
        raise KeyError
    with pytest.raises(StateError, match="incomplete input"), db.transaction(SCHEMA) as connection:
        connection.execute(ADD)
        connection.execute("INSERT INTO nonsense")
    assert count(db) == 1
    add(db)
    assert count(db) == 2


def test_there_is_no_write_ahead_log(tmp_path: Path) -> None:
    """It does not work on network file systems."""
    db = StateDb(tmp_path)
    with db.transaction(SCHEMA) as connection:
        connection.execute(ADD)
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "persist"
        assert not list(tmp_path.glob("*-wal"))


def test_losing_the_file_loses_memory_only(tmp_path: Path) -> None:
    db = StateDb(tmp_path)
    add(db)
    db.path.unlink()
    assert count(db) == 0
    add(db)
    assert count(db) == 1
    db.path.write_bytes(b"")
    assert count(db) == 0


@pytest.mark.parametrize("garbage", [b"no database at all, " * 400, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_file_is_named_and_may_be_moved_away(tmp_path: Path, garbage: bytes) -> None:
    db = StateDb(tmp_path)
    db.path.write_bytes(garbage)
    for use in (add, count):
        with pytest.raises(StateError) as caught:
            use(db)
        assert str(db.path) in caught.value.message
        assert "away" in caught.value.hint
        assert isinstance(caught.value.__cause__, sqlite3.Error)
    db.path.rename(tmp_path / "damaged")
    add(db)
    assert count(db) == 1


def test_a_file_damaged_while_in_use(tmp_path: Path) -> None:
    db = StateDb(tmp_path)
    with db.transaction(SCHEMA) as connection:
        connection.executemany("INSERT INTO counts VALUES (?, 1)", [(f"{n:0100}",) for n in range(2000)])
    data = bytearray(db.path.read_bytes())
    data[4096:] = b"\xa5" * len(data[4096:])
    db.path.write_bytes(data)
    with pytest.raises(StateError, match="malformed"):
        count(db)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    db = StateDb(tmp_path / "file" / "state")
    with pytest.raises(StateError, match=r"file/state cannot be made: Not a directory") as caught:
        add(db)
    assert "NOEIRA_STATE" in caught.value.hint


def test_a_folder_one_may_not_write_to_is_named() -> None:
    with ordinary_user() as folder:
        (folder / "shut").mkdir(mode=0o500)
        with pytest.raises(StateError, match=r"shut/state cannot be made: Permission denied"):
            add(StateDb(folder / "shut" / "state"))
        with pytest.raises(StateError, match=r"shut/state\.db cannot be used: unable to open"):
            add(StateDb(folder / "shut"))
        db = StateDb(folder)
        add(db)
        folder.chmod(0o500)
        db.path.chmod(0o400)
        try:
            assert count(db) == 1, "what can be read is read"
            with pytest.raises(StateError, match="readonly"):
                add(db)
        finally:
            folder.chmod(0o700)


def test_the_place_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "state.db").mkdir()
    with pytest.raises(StateError, match=r"state\.db cannot be used"):
        add(StateDb(tmp_path))


def test_a_lock_that_is_never_given_up_is_an_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = StateDb(tmp_path)
    add(db)
    monkeypatch.setattr(statedb, "_BUSY_TIMEOUT_S", 0.05)
    other = sqlite3.connect(db.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        for use in (add, count):
            with pytest.raises(StateError, match=r"state\.db cannot be used: database is locked"):
                use(db)
    finally:
        other.close()
    add(db)
    assert count(db) == 2


def test_a_writer_waits_for_another_one(tmp_path: Path) -> None:
    db = StateDb(tmp_path)
    add(db)
    other = sqlite3.connect(db.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.2, other.close).start()
    add(db)
    assert count(db) == 2


def test_many_processes_and_threads_write_at_once_from_the_very_first_moment(tmp_path: Path) -> None:
    """The file is not there yet: they all make it."""
    code = (
        "import sys; from pathlib import Path; from concurrent.futures import ThreadPoolExecutor\n"
        "from noeira_tui.core.statedb import StateDb\n"
        f"db = StateDb(Path(sys.argv[1]) / 'new')\n"
        "def add(_):\n"
        f"    with db.transaction({SCHEMA!r}) as connection: connection.execute({ADD!r})\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "list(ThreadPoolExecutor(3).map(add, range(30)))"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )
        for _ in range(4)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate(timeout=60)[1] for writer in writers] == ["", "", "", ""]
    assert count(StateDb(tmp_path / "new")) == 120


def test_work_that_can_do_without() -> None:
    told: list[StateError] = []

    def broken() -> int:
        raise StateError("gone")

    assert or_without(lambda: 1, 2, told.append) == 1
    assert or_without(broken, 2) == 2
    assert or_without(broken, 2, told.append) == 2
    assert [str(err) for err in told] == ["State folder: gone"]
