"""Asking the object store itself whether it still has what the catalog promises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from noeira_tui.core.errors import NetworkError, StorageRefusedError
from noeira_tui.core.outages import in_words
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.redact import without_query

_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class FirstByte:
    """How a store answered a request for an object's first byte; `where` is its address as it may be shown."""

    where: str
    status: int
    headers: Mapping[str, str]


def ask_for_first_byte(presigned: PresignedUrl, timeout_s: float = _TIMEOUT_S) -> FirstByte:
    """Ask the store behind a download URL for one byte. Raises NetworkError when it cannot be reached."""
    import httpx

    where = without_query(presigned.url)
    try:
        # No client with credentials: a presigned URL carries its own permission. Stores refuse HEAD on it.
        with httpx.stream("GET", presigned.url, headers={"Range": "bytes=0-0"}, timeout=timeout_s) as answer:
            return FirstByte(where, answer.status_code, answer.headers)
    except httpx.HTTPError as err:
        raise NetworkError(
            f"The object store that has {where} cannot be reached: {in_words(err)}.",
            hint="Is the object store running, and can this box reach it?",
        ) from None


def stored_size(presigned: PresignedUrl) -> int:
    """Size in bytes of the object behind a download URL, by a request for its first byte.

    Raises StorageRefusedError when the store does not give it, NetworkError when it cannot be reached.
    """
    answer = ask_for_first_byte(presigned)
    status, headers = answer.status, answer.headers
    total = re.fullmatch(r"bytes (?:\d+-\d+|\*)/(\d+)", headers.get("Content-Range", "").strip())
    if status in {206, 416} and total is not None:
        return int(total[1])
    if status == 200 and headers.get("Content-Length", "").isdigit():
        return int(headers["Content-Length"])
    raise StorageRefusedError(
        f"{answer.where}: the store answered {status} when asked for the object.",
        status=status,
        hint="The catalog has a row for it, but its bytes cannot be had: ask whoever runs the service.",
    )
