"""When to ask a service again, and how long to wait before."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRY_STATUSES = frozenset({429, 502, 503, 504})
_LONGEST_WAIT_S = 30.0
_COMPARING_S = 600.0
_COMPARED_PER_S = 30e6


def comparing_s(size_bytes: int) -> float:
    """How many seconds a service may go on comparing what was uploaded with its digest, asking to come again for the
    result: giving up would send gigabytes once more."""
    return _COMPARING_S + size_bytes / _COMPARED_PER_S


@dataclass(frozen=True)
class Patience:
    """How many times a call is tried, and the longest `Retry-After` it obeys, in seconds."""

    attempts: int
    longest_wait_s: float = _LONGEST_WAIT_S


INTERACTIVE = Patience(attempts=2, longest_wait_s=3.0)
"""For somebody who waits at a prompt or a screen."""

PERSISTENT = Patience(attempts=6)
"""For a job that may wait out a restart of the service."""


def wait_before(attempt: int, retry_after: str | None, patience: Patience, now: datetime | None = None) -> float:
    """Seconds to wait before the try that follows try number `attempt` (from 1): `Retry-After`, else a growing,
    jittered pause."""
    asked = _seconds(retry_after, now or datetime.now(UTC))
    if asked is not None:
        return min(asked, patience.longest_wait_s)
    return min(0.25 * 2.0 ** (attempt - 1) * random.uniform(0.7, 1.3), patience.longest_wait_s)


def _seconds(retry_after: str | None, now: datetime) -> float | None:
    """`Retry-After` as seconds from now; it may be a number or an HTTP date."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
