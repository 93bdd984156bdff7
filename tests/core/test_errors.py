from __future__ import annotations

import inspect
import pickle
import re

import pytest

from noeira_tui.core import errors
from noeira_tui.core.errors import (
    CancelledError,
    ConfigError,
    DiskFullError,
    MissingSettingError,
    NoeiraError,
    RefusedError,
    StorageRefusedError,
    VerificationError,
)

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, NoeiraError)]


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    tree = (errors.__doc__ or "").split("```")[1].splitlines()
    parents: list[str] = []
    drawn: dict[str, str] = {}
    for line in filter(None, tree):
        name = re.search(r"[A-Za-z]+Error", line)
        assert name is not None, line
        depth = name.start() // 4
        parents[depth:] = [name[0]]
        drawn[name[0]] = parents[depth - 1] if depth else "Exception"
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in ALL}


@pytest.mark.parametrize("kind", ALL)
def test_every_error_has_a_title_that_no_other_branch_has(kind: type[NoeiraError]) -> None:
    assert kind.title
    same = [other for other in ALL if other.title == kind.title]
    assert all(issubclass(kind, other) or issubclass(other, kind) for other in same), "two kinds, one title"
    assert kind is NoeiraError or kind.title != NoeiraError.title


def test_only_use_and_configuration_exit_with_two() -> None:
    assert {kind for kind in ALL if kind.exit_code == 2} == {ConfigError, MissingSettingError}
    assert {kind for kind in ALL if kind.exit_code == 130} == {CancelledError}
    assert {kind.exit_code for kind in ALL} == {1, 2, 130}


def test_one_call_can_say_more_than_its_class() -> None:
    plain, told = NoeiraError("Why."), NoeiraError("Why.", title="What", hint="Do this.", retryable=True)
    assert (str(plain), plain.retryable) == ("Something failed: Why.", False)
    assert (str(told), told.retryable) == ("What: Why. Do this.", True)
    assert NoeiraError.title == "Something failed"


def test_what_an_error_carries() -> None:
    assert MissingSettingError("NAME", "m").name == "NAME"
    assert RefusedError("m", status=409, server_text="t").server_text == "t"
    assert StorageRefusedError("m", status=403).status == 403
    assert DiskFullError("m", missing_bytes=7).missing_bytes == 7
    differs = VerificationError("m", expected="a", actual="b")
    assert (differs.expected, differs.actual) == ("a", "b")


def test_a_simple_error_survives_the_way_between_processes() -> None:
    again = pickle.loads(pickle.dumps(ConfigError("Why.", hint="Do this.")))
    assert (type(again), again.message, again.hint) == (ConfigError, "Why.", "Do this.")
