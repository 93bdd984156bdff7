"""Reading and writing the wire's JSON: fields that must be there, fields that may be, times and presigned URLs.

Readers ignore unknown fields and treat an absent or null optional as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from noeira_tui.core.errors import ProtocolError
from noeira_tui.core.presigned import PresignedUrl

Json = Mapping[str, Any]
"""A parsed JSON object; it does not travel past the modules that parse the wire."""


class RowStatus(StrEnum):
    """Whether what a row names can be fetched."""

    PENDING = "pending"
    READY = "ready"


def text(data: Json, key: str) -> str:
    """A text that must be there and not be empty. Raises ProtocolError naming it."""
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise ProtocolError(f"The answer has no {key!r} text.")
    return value


def optional_text(data: Json, key: str) -> str | None:
    """A text; None for an absent, null or other value."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def optional_int(data: Json, key: str) -> int | None:
    """A whole number, also one that is written as `3.0`; None for anything else."""
    value = data.get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def optional_number(data: Json, key: str) -> float | None:
    """A number; None for anything else."""
    value = data.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_object(data: object, what: str) -> Json:
    """`data` as a JSON object. Raises ProtocolError naming `what` was expected."""
    if not isinstance(data, dict):
        raise ProtocolError(f"{what}: expected a JSON object, got {type(data).__name__}.")
    return data


def as_list(data: object, what: str) -> list[Any]:
    """`data` as a JSON array. Raises ProtocolError naming `what` was expected."""
    if not isinstance(data, list):
        raise ProtocolError(f"{what}: expected a JSON array, got {type(data).__name__}.")
    return data


def parse_time(text: str | None) -> datetime | None:
    """An RFC 3339 time as an aware datetime; None for an absent or unreadable one."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def format_time(moment: datetime) -> str:
    """A time as the wire has it: RFC 3339, UTC, with a `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_presigned(data: object, key: str) -> PresignedUrl:
    """Read the URL under `key` and the expiry beside it. Raises ProtocolError when it is not an http(s) URL."""
    answer = as_object(data, key)
    url = text(answer, key)
    if not url.startswith(("http://", "https://")):
        raise ProtocolError(f"{key!r} in the answer is no http(s) URL.")
    return PresignedUrl(url, parse_time(optional_text(answer, "expires_at")))
