"""The tables of old databases are brought up to date, once, and newer ones are left alone; on SQLite and Postgres."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text

from noeira_tui.core.errors import StateError
from noeira_tui.service import schema
from noeira_tui.service.config import database_url_of
from noeira_tui.service.database import Database
from noeira_tui.service.keys import KeyCheck, KeyStore
from noeira_tui.service.tables import Base

NEW_TABLES = ("audit_events", "doomed_objects", "alembic_version")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> str:
    if request.param == "sqlite":
        return database_url_of(tmp_path)
    return request.getfixturevalue("postgres").database(name)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    yield engine
    engine.dispose()


def make_old(url: str, engine: Engine, *, stamp: int = 1) -> str:
    """A database as the release before migrations left it; an API key that it knows."""
    keys = KeyStore(url)
    _, key = keys.create("old")
    keys.close()
    with engine.begin() as connection:
        for table in NEW_TABLES:
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("UPDATE schema_version SET version = :stamp"), {"stamp": stamp})
    return key


def test_the_steps_make_exactly_the_tables_the_code_uses(url: str, engine: Engine) -> None:
    Database(url).create()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_the_newest_step_is_the_one_the_code_knows() -> None:
    scripts = ScriptDirectory(str(Path(schema.__file__).parent / "migrations"))
    assert scripts.get_heads() == [schema.HEAD]


def test_a_database_of_the_time_before_migrations_is_adopted(url: str, engine: Engine) -> None:
    key = make_old(url, engine)
    database = Database(url)
    database.create()
    assert KeyCheck(database).access(key) is not None
    assert set(NEW_TABLES) <= set(inspect(engine).get_table_names())
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version FROM schema_version")) == 2, "older releases refuse it now"


def test_a_column_that_was_added_without_a_stamp_is_added(url: str, engine: Engine) -> None:
    make_old(url, engine)
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_blobs_unnamed_since"))
        connection.execute(text("ALTER TABLE blobs DROP COLUMN unnamed_since"))
    Database(url).create()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.parametrize("statement", ["UPDATE alembic_version SET version_num = '9999'", None])
def test_a_database_of_a_newer_version_is_refused(url: str, engine: Engine, statement: str | None) -> None:
    if statement is None:
        make_old(url, engine, stamp=7)
    else:
        Database(url).create()
        with engine.begin() as connection:
            connection.execute(text(statement))
    before = sorted(inspect(engine).get_table_names())
    with pytest.raises(StateError, match="newer version") as caught:
        KeyStore(url)
    assert caught.value.hint
    assert sorted(inspect(engine).get_table_names()) == before


def test_a_database_that_lost_a_column_is_named_and_left_as_it_was(url: str, engine: Engine) -> None:
    make_old(url, engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE revisions DROP COLUMN fps"))
    with pytest.raises(StateError, match=r"the column revisions\.fps"):
        Database(url).create()
    assert not set(NEW_TABLES) & set(inspect(engine).get_table_names())


def test_processes_that_start_at_once_do_it_once(url: str, engine: Engine, tmp_path: Path) -> None:
    code = "import sys; from noeira_tui.service.database import Database; Database(sys.argv[1]).create()"
    started = [subprocess.Popen([sys.executable, "-c", code, url], stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        _, words = process.communicate(timeout=60)
        assert process.returncode == 0, words
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM accounts")).scalar() == 1
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1


def test_a_database_that_is_up_to_date_needs_no_alembic(tmp_path: Path) -> None:
    """Every `keys` command opens the database: it must not pay for what is not to be done."""
    Database(database_url_of(tmp_path)).create()
    code = (
        "import sys; from noeira_tui.service.database import Database; Database(sys.argv[1]).create();"
        "print('alembic' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code, database_url_of(tmp_path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "False\n"), ran.stderr
