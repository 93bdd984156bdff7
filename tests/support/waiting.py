"""Waiting for something to become true, with a deadline instead of a guess."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], T], *, deadline_s: float = 20.0, every_s: float = 0.01, what: str = "it") -> T:
    """What `look` gives once that is true; an AssertionError when it does not become so in time."""
    end = time.monotonic() + deadline_s
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < end, f"{what} did not happen within {deadline_s:.0f} s"
        time.sleep(every_s)
