from __future__ import annotations

import unicodedata

import pytest

from noeira_tui.core.states import FAILS_CHECK, LOOKS, TO_FETCH, UNSENT, State, trouble_rank


def test_every_state_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == set(State)
    for what in ("symbol", "ascii"):
        signs = [getattr(look, what) for look in LOOKS.values()]
        assert len(set(signs)) == len(signs), f"two states share their {what}: told apart by colour and word alone"


@pytest.mark.parametrize("state", State)
def test_a_symbol_is_one_cell_wide(state: State) -> None:
    look = LOOKS[state]
    assert len(look.symbol) == len(look.ascii) == 1
    assert unicodedata.east_asian_width(look.symbol) not in "WF"
    assert look.ascii.isascii()
    assert look.meaning


def test_trouble_comes_first() -> None:
    ordered = sorted(State, key=trouble_rank)
    assert ordered[0] is State.MISSING and ordered[-1] is State.CURRENT
    assert max(map(trouble_rank, TO_FETCH | UNSENT)) < trouble_rank(State.REMOTE)


def test_what_counts_as_what() -> None:
    assert {State.MISSING, State.PARTIAL, State.STALE, State.INVALID} == FAILS_CHECK
    assert {State.LOCAL, State.AHEAD, State.MODIFIED, State.DIVERGED} == UNSENT
    assert not TO_FETCH & UNSENT
