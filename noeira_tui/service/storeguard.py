"""What the embedded store refuses before it looks at a request, as the big stores do and nanio does not."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl

from nanio.errors import AccessDenied, EntityTooLarge, InvalidRequest, S3Error
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES

_UNSIGNED = b"x-amz-content-sha256"
# An object is whatever somebody uploaded: a browser is to run none of it.
_ANSWER_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
)


class StoreGuard:
    """The outermost layer of the store.

    A presigned URL permits one plain request: with a header such as `x-amz-copy-source`, which its signature does not
    cover, whoever may write one object could read any other one. nanio does not see parameters without a value either.
    And one PUT carries at most 5 GiB, as everywhere. A listing of the first kind begins anew at every marker: a tool
    that goes on with it would never come to an end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refusal(scope)
        if refusal is not None:
            await answer_xml(refusal.http_status, refusal.to_xml(), send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_ANSWER_HEADERS]
            await send(message)

        await self._app(scope, receive, sending)


def _refusal(scope: Scope) -> S3Error | None:
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    if any(name == "X-Amz-Signature" for name, _ in query):
        if any(not value for _, value in query):
            return AccessDenied("There were parameters present in the request which were not signed")
        signed = next((value for name, value in query if name == "X-Amz-SignedHeaders"), "").lower().split(";")
        for name, _ in headers:
            if name.startswith(b"x-amz-") and name != _UNSIGNED and name.decode("latin-1") not in signed:
                return AccessDenied("There were headers present in the request which were not signed")
    names = {name for name, _ in query}
    if scope["method"] == "GET" and "marker" in names and "list-type" not in names:
        return InvalidRequest("This store lists by ListObjectsV2: ask with list-type=2 and a continuation-token.")
    announced = next((value for name, value in headers if name == b"content-length"), b"0")
    if scope["method"] == "PUT" and announced.isdigit() and int(announced) > MAX_SINGLE_PUT_BYTES:
        return EntityTooLarge()
    return None


async def answer_xml(status: int, body: bytes, send: Send, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """An error as S3 tells it."""
    told = [(b"content-type", b"application/xml"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
