"""`Range` as RFC 9110 (14.2) has it, for the embedded store: nanio knows `first-last` inside the object only.

A last byte beyond the end is the end, `-500` is the last 500, what begins beyond the end is 416 with the size, and what
is no range, or several, is answered with the whole object.
"""

from __future__ import annotations

import re
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from noeira_tui.service.storeguard import answer_xml

_ONE = re.compile(rb"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", re.ASCII)


class Ranges:
    """The innermost layer of the store: whoever gets here has a signature for the object."""

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        self._app = app
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = next((value for name, value in scope.get("headers", ()) if name == b"range"), None)
        if asked is not None and scope["method"] == "GET":
            size = self._size_of(scope["path"])
            if size is not None:
                wanted = range_of(asked, size)
                if wanted is not None and wanted[0] > wanted[1]:
                    told = [(b"content-range", f"bytes */{size}".encode())]
                    await answer_xml(416, _INVALID_RANGE, send, told)
                    return
                scope = {**scope, "headers": [one for one in scope["headers"] if one[0] != b"range"]}
                if wanted is not None:
                    scope["headers"].append((b"range", f"bytes={wanted[0]}-{wanted[1]}".encode()))
        await self._app(scope, receive, send)

    def _size_of(self, path: str) -> int | None:
        """The size of the object at a path of the store, None when there is none."""
        try:
            found = (self._folder / path.lstrip("/")).stat(follow_symlinks=False)
        except (OSError, ValueError):
            return None
        return found.st_size


def range_of(header: bytes, size: int) -> tuple[int, int] | None:
    """First and last byte of the range that a header asks of `size` bytes; None for no range, or one to ignore.

    First is after last for a range that begins beyond the end.
    """
    one = _ONE.fullmatch(header.strip())
    if one is None:
        return None
    first, last, of_the_end = one.groups()
    if of_the_end is not None:
        length = int(of_the_end)
        return (max(0, size - length), size - 1) if length else (size, size - 1)
    if last and int(last) < int(first):
        return None
    return int(first), min(int(last), size - 1) if last else size - 1


_INVALID_RANGE = (
    b'<?xml version="1.0" encoding="UTF-8"?>'
    b"<Error><Code>InvalidRange</Code><Message>The requested range is not satisfiable</Message></Error>"
)
