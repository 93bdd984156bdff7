"""Turning a service's refusal into an error that says which fault it is and what to do."""

from __future__ import annotations

import json
from http import HTTPStatus

from noeira_tui.core.errors import NoeiraError, ProtocolError, RefusedError
from noeira_tui.core.redact import plain_body, redact
from noeira_tui.core.settings import API_KEY, URL

_HTML_HINT = f"{URL} should be the address of the catalog service itself, without a page's path."
_STORE_HINT = f"{URL} should be the address of the catalog service, which gives out links to the store."
_S3_ERROR = (b"<?xml", b"<Error")
"""How the refusals of S3 and everything that speaks like it begin; the catalog service speaks JSON."""


def refusal(method: str, path: str, status: int, body: bytes, content_type: str) -> NoeiraError:
    """The error for an answer with an error status. Its message has method, path, status and the server's text."""
    text = server_text(body)
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    message = f"{method} {path}: {status} {phrase}".rstrip() + (f": {text}" if text else "") + "."
    message = message.replace("..", ".")
    if status >= 300 and "html" in content_type and status not in {502, 503, 504}:
        return ProtocolError(message, hint=_HTML_HINT)
    if body.lstrip()[:500].startswith(_S3_ERROR):
        return ProtocolError(message, title="An object store, not the catalog service", hint=_STORE_HINT)
    title, hint = _advice(status, text)
    retryable = status in {408, 429} or status >= 500
    return RefusedError(message, status=status, server_text=text, title=title, hint=hint, retryable=retryable)


def redirected(method: str, path: str, status: int, location: str) -> NoeiraError:
    """The error for a redirect: a key is not carried to another address without the user's word."""
    where = redact(location.split("?", 1)[0])
    return ProtocolError(
        f"{method} {path}: {status}, redirected to {where or 'nowhere'}.",
        hint=f"If that is the service, set {URL} to it.",
    )


def not_json(method: str, path: str, body: bytes, content_type: str) -> NoeiraError:
    """The error for a success whose body is not JSON."""
    words = plain_body(body[:20_000].decode("utf-8", "replace"))
    kind = "an HTML page" if "html" in content_type or body.lstrip()[:1] == b"<" else "something that is not JSON"
    return ProtocolError(f"{method} {path} was answered with {kind}: {words}", hint=_HTML_HINT)


def server_text(body: bytes) -> str:
    """What the server said: the `error` of a JSON body, else the first words of the body without tags."""
    decoded = body[:20_000].decode("utf-8", "replace")
    try:
        answer = json.loads(body)
    except (ValueError, UnicodeDecodeError):
        return plain_body(decoded)
    if isinstance(answer, dict):
        for key in ("error", "detail", "message"):
            if isinstance(answer.get(key), str):
                return redact(str(answer[key]))[:500]
    return plain_body(decoded)


def _advice(status: int, text: str) -> tuple[str, str]:
    if status == 401:
        if "missing api key" in text.lower():
            return (
                "No API key arrived",
                f"A proxy may have dropped the Authorization header; check {API_KEY} and {URL}.",
            )
        if "invalid api key" in text.lower():
            return "Wrong API key", f"Check {API_KEY}: `noeira-tui doctor` tells where it comes from."
        return "Wrong service address", f"Check {URL}: the routes are at its root, so an added /api is one too many."
    if status == 403:
        return "Not allowed", "This API key's scope or project does not cover it; ask for a wider key."
    if status == 404:
        return "Not found", "Check the name; `noeira-tui catalog list` shows what there is."
    if status == 409:
        return "Not possible now", ""
    if status == 429:
        return "Too many requests", "Wait a little and try again."
    if status >= 500:
        return "Service in trouble", "Try again in a moment; if it stays, look at the service's own log."
    return "Service refused", ""
