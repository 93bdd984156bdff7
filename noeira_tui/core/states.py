"""The one vocabulary of states, told by colour and symbol and word; panes, commands, JSON and docs all use it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What a dataset, recording or pack is, seen from this box."""

    MISSING = "missing"
    REMOTE = "remote"
    PARTIAL = "partial"
    UNVERIFIED = "unverified"
    CURRENT = "current"
    STALE = "stale"
    MODIFIED = "modified"
    DIVERGED = "diverged"
    AHEAD = "ahead"
    RECORDING = "recording"
    PENDING = "pending"
    LOCAL = "local"
    INVALID = "invalid"
    UNKNOWN = "unknown"


class Tone(StrEnum):
    """How a state wants to be seen; themes map it to a colour."""

    GOOD = "good"
    QUIET = "quiet"
    ATTENTION = "attention"
    TROUBLE = "trouble"
    LIVE = "live"


@dataclass(frozen=True)
class StateLook:
    """How a state is shown: `symbol` is one cell wide, `ascii` stands in where the locale has no symbols."""

    symbol: str
    ascii: str
    tone: Tone
    meaning: str


LOOKS: dict[State, StateLook] = {
    State.MISSING: StateLook("✗", "x", Tone.TROUBLE, "wanted here, nothing here"),
    State.INVALID: StateLook("!", "!", Tone.TROUBLE, "the declaration or the dataset is broken"),
    State.DIVERGED: StateLook(
        "≠", "#", Tone.TROUBLE, "changed here and on the service; nothing moves without a choice"
    ),
    State.PARTIAL: StateLook("◐", "%", Tone.ATTENTION, "partly here; a pull goes on from where it stopped"),
    State.STALE: StateLook("↻", "<", Tone.ATTENTION, "the service has newer contents"),
    State.MODIFIED: StateLook("✎", "~", Tone.ATTENTION, "changed here since the last sync"),
    State.AHEAD: StateLook("↑", "^", Tone.ATTENTION, "files here that the service does not have yet"),
    State.LOCAL: StateLook("○", "o", Tone.ATTENTION, "only here, unknown to the service"),
    State.PENDING: StateLook("‼", "p", Tone.ATTENTION, "its upload never completed; it cannot be pulled"),
    State.RECORDING: StateLook("●", "*", Tone.LIVE, "being written right now"),
    State.UNVERIFIED: StateLook("?", "?", Tone.ATTENTION, "here, right size, contents not compared since they changed"),
    State.UNKNOWN: StateLook("·", ".", Tone.QUIET, "the service could not be asked"),
    State.REMOTE: StateLook("☁", "-", Tone.QUIET, "on the service, never asked for here"),
    State.CURRENT: StateLook("✓", "=", Tone.GOOD, "contents equal what the catalog or declaration says"),
}
"""Ordered by trouble first: sorting a list by `trouble_rank` follows it."""

TO_FETCH = frozenset({State.MISSING, State.STALE, State.PARTIAL})
"""Something a pull would mend."""

UNSENT = frozenset({State.LOCAL, State.AHEAD, State.MODIFIED, State.DIVERGED})
"""Contents that only this box has: destroying it would lose them."""

FAILS_CHECK = frozenset({State.MISSING, State.PARTIAL, State.STALE, State.INVALID})
"""`status --check` exits with 3 for any of these."""

_RANK = {state: rank for rank, state in enumerate(LOOKS)}


def trouble_rank(state: State) -> int:
    """Sort key: smaller is more urgent."""
    return _RANK[state]
