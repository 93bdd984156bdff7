"""Who looks at the pages: an API key in a cookie, put there by a form that no other site can send.

The cookie is HttpOnly and SameSite=Strict, so neither a script nor another site's link uses it, and the pages change
nothing. The form carries a token that must equal a cookie of its own (which another site can neither read nor set), and
browsers say which site a form came from.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import parse_qs, urlsplit

from fastapi import Request, Response

from noeira_tui.service.context import context_of
from noeira_tui.service.keys import Access
from noeira_tui.service.problems import RequestRefusedError

KEY_COOKIE = "noeira_key"
FORM_COOKIE = "noeira_form"
PATH = "/ui"
_KEPT_S = 12 * 3600
_MAX_FORM_BYTES = 4096


async def access_of(request: Request) -> Access | None:
    """What the key in the cookie gives access to; None for no cookie, or a key that is not valid (any more)."""
    key = request.cookies.get(KEY_COOKIE, "")
    if not key:
        return None
    try:
        access = await context_of(request).admit(key, _client(request))
    except RequestRefusedError as err:
        if err.status == 401:
            return None
        raise
    # The log says whose key it was.
    request.state.access = access
    return access


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form of ours. Raises RequestRefusedError (403) for one that came from elsewhere."""
    body = await request.body()
    if len(body) > _MAX_FORM_BYTES:
        raise RequestRefusedError(413, "The form is too large")
    fields = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
    token = request.cookies.get(FORM_COOKIE, "")
    if not token or not hmac.compare_digest(token.encode(), fields.get("token", "").encode()) or _is_foreign(request):
        raise RequestRefusedError(403, "This form is too old, or came from another site: open the page again")
    return fields


async def is_valid(request: Request, key: str) -> bool:
    """Whether a key that was typed in is one. Raises RequestRefusedError (429) after too many wrong ones."""
    try:
        await context_of(request).admit(key, _client(request))
    except RequestRefusedError as err:
        if err.status == 401:
            return False
        raise
    return True


def form_token(request: Request, response: Response) -> str:
    """The token of this browser's forms; it is made once and kept in a cookie."""
    token = request.cookies.get(FORM_COOKIE, "")
    if not (len(token) == 43 and token.isascii()):
        token = secrets.token_urlsafe(32)
    _set(request, response, FORM_COOKIE, token)
    return token


def keep_key(request: Request, response: Response, key: str) -> None:
    """Let this browser in until it is closed, and for twelve hours at most."""
    _set(request, response, KEY_COOKIE, key)


def forget_key(response: Response) -> None:
    for name in (KEY_COOKIE, FORM_COOKIE):
        response.delete_cookie(name, path=PATH, httponly=True, samesite="strict")


def _set(request: Request, response: Response, name: str, value: str) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=_KEPT_S, path=PATH, httponly=True, samesite="strict", secure=secure)


def _is_foreign(request: Request) -> bool:
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return True
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host", "")


def _client(request: Request) -> str:
    return request.client.host if request.client is not None else ""
