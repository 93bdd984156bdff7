"""Who may use the page: this user of this box, through an address of loopback, from the page itself.

A browser sends requests to loopback for any site that asks it to. So a name that somebody made point here (DNS
rebinding) and a page of another origin (cross-site WebSocket) are refused, and, where the system tells whose a
connection is, so are the other users of the box.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ROOT = 0

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refusal(host: str, origin: str | None, *, needs_origin: bool) -> str | None:
    """Why a request is refused, in words; None when its headers are those of our own page.

    The port is not compared: a forwarded one has another number at the browser's end.
    """
    if _name_of(host) not in LOOPBACK:
        return "This page is for localhost only: open it by that name, through a forwarded port."
    if origin is None:
        return "Only the page itself may connect." if needs_origin else None
    parts = urlsplit(origin)
    return None if parts.scheme in {"http", "https"} and parts.netloc == host else "Another site may not use this page."


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def owner_of(peer: tuple[str, int], port: int) -> int | None:
    """The user id that a loopback connection to our `port` belongs to; None where the system does not tell."""
    try:
        address = struct.unpack("=I", socket.inet_aton(peer[0]))[0]
    except OSError:
        return None
    # The other end of the connection: its own address and port, and ours as the remote ones.
    ours, theirs = f":{port:04X}", f"{address:08X}:{peer[1]:04X}"
    for table in _TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[1].endswith(theirs) and fields[2].endswith(ours):
                return int(fields[7])
    return None


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what is not from our own page and user; give every answer the headers that keep other pages out."""
    reason = refusal(
        request.headers.get("Host", ""), request.headers.get("Origin"), needs_origin=request.path == "/ws"
    ) or _other_user(request)
    if reason is not None:
        return web.Response(status=403, text=reason + "\n", headers=_HEADERS)
    answer = await handler(request)
    if not answer.prepared:
        answer.headers.update(_HEADERS)
    return answer


def _other_user(request: web.Request) -> str | None:
    transport = request.transport
    if transport is None:
        return None
    peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    owner = owner_of(peer[:2], own[1]) if peer and own else None
    return None if owner in {None, os.getuid(), _ROOT} else "This app is another user's."
