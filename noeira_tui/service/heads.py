"""HTTP heads of a bounded size, in a bounded time: uvicorn's fast parser takes any, from anybody, key or not."""

from __future__ import annotations

import asyncio
from typing import Any

MAX_HEAD_BYTES = 64 * 1024
HEAD_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 130
"""Longer than clients and proxies keep an idle connection (Caddy: two minutes): it is they who hang up, and never just
as a request comes."""


def http_protocol() -> Any:
    """What to give uvicorn as `http`: its fast parser with bounds, or the slow one, which has its own."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError:
        return "h11"

    class BoundedHeads(HttpToolsProtocol):
        """Refuses a head that is too long, and hangs up on one that does not end."""

        _in_head = True
        _head_bytes = 0
        _timer: asyncio.TimerHandle | None = None

        def data_received(self, data: bytes) -> None:
            if self._in_head:
                self._head_bytes += len(data)
                if self._timer is None:
                    self._timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)
            super().data_received(data)
            if self._in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long")

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._stop_timer()
            if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
                # The parser hands it on as an error of the request, which is answered 400.
                raise ValueError("the head of the request is too long")
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._in_head, self._head_bytes = True, 0
            super().on_message_complete()

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return BoundedHeads
