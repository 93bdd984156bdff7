"""API keys: made, listed, revoked, and never kept in the clear."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from noeira_tui.core.errors import ConfigError, ServiceError, StateError
from noeira_tui.service.config import database_url_of
from noeira_tui.service.database import Database
from noeira_tui.service.keys import Access, KeyCheck, KeyFacts, KeyStore, Scope


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_url_of(tmp_path)


@pytest.fixture
def keys(url: str) -> KeyStore:
    return KeyStore(url)


def test_a_key_is_told_once_and_listed_without_its_secret(keys: KeyStore, tmp_path: Path) -> None:
    facts, key = keys.create("box 3", "read", "towers")
    assert isinstance(facts, KeyFacts)
    assert (facts.name, facts.scope, facts.project, facts.last_used_at, facts.revoked) == (
        "box 3", "read", "towers", None, False,
    )  # fmt: skip
    assert abs((datetime.now(UTC) - facts.created_at).total_seconds()) < 60
    assert key.startswith(f"nk_{facts.id}_") and len(key) > 50
    assert keys.list() == [facts]
    secret = key.removeprefix(f"nk_{facts.id}_")
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert secret not in repr(facts)


def test_revoking(keys: KeyStore, url: str) -> None:
    facts, key = keys.create("box")
    check = KeyCheck(Database(url))
    assert check.access(key) == Access(1, facts.id, Scope.WRITE, None)
    assert keys.revoke(facts.id).revoked
    assert keys.revoke(facts.id).revoked
    assert check.access(key) is None
    assert [one.revoked for one in keys.list()] == [True]
    with pytest.raises(ServiceError, match="no key 'nothing'"):
        keys.revoke("nothing")


@pytest.mark.parametrize("key", ["", "nk", "nk_", "nk__", "nk_x_y", "xx_y_z", "nk_%_%", "nk_\x00_\x00", "é" * 50])
def test_what_is_no_key(keys: KeyStore, url: str, key: str) -> None:
    keys.create("box")
    assert KeyCheck(Database(url)).access(key) is None


@pytest.mark.parametrize(
    ("name", "scope", "project"),
    [("", "read", None), ("  ", "read", None), ("a\nb", "read", None), ("x" * 201, "read", None),
     ("a", "owner", None), ("a", "read", "no/segment"), ("a", "read", "")],
)  # fmt: skip
def test_wrong_input_is_refused(keys: KeyStore, name: str, scope: str, project: str | None) -> None:
    with pytest.raises(ConfigError):
        keys.create(name, scope, project)
    assert keys.list() == []


def test_scopes_include_each_other() -> None:
    assert [[have.covers(need) for need in Scope] for have in Scope] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_a_database_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"service\.db"):
        KeyStore(database_url_of(tmp_path / "missing"))
    (tmp_path / "service.db").write_bytes(b"this is no database, and long enough to be told from one" * 100)
    with pytest.raises(StateError, match=r"service\.db"):
        KeyStore(database_url_of(tmp_path))


@pytest.mark.parametrize("address", ["nonsense", "mystery://host/db", "postgresql+nothing://h/d"])
def test_an_address_of_no_database_is_a_configuration_error(address: str) -> None:
    with pytest.raises(ConfigError, match="database address"):
        KeyStore(address)


def test_keys_import_no_web_framework() -> None:
    code = (
        "import sys, noeira_tui.service.config, noeira_tui.service.keys;"
        "print([name for name in sys.modules if name.partition('.')[0]"
        " in {'fastapi', 'starlette', 'uvicorn', 'pydantic', 'httpx', 'nanio'}])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_configuration_imports_no_database_either() -> None:
    code = "import sys, noeira_tui.service.config; print('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
