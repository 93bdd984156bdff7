"""Keeping secrets out of every text a person or a log may see."""

from __future__ import annotations

import re
from html import unescape

_QUERY = re.compile(r"(?P<base>https?://[^\s\"'<>?]+)\?[^\s\"'<>]*")
_BEARER = re.compile(r"(?i)\b(bearer)\s+[^\s\"',]+")
_USERINFO = re.compile(r"(https?://)[^/\s@]+@")
_TAGS = re.compile(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>")
MAX_BODY_CHARACTERS = 200


def redact(text: str) -> str:
    """`text` without queries of URLs (signatures live there), user names in URLs, and bearer tokens."""
    text = _USERINFO.sub(r"\1", text)
    text = _QUERY.sub(r"\g<base>?…", text)
    return _BEARER.sub(r"\1 …", text)


def without_query(url: str) -> str:
    """A URL as it may be shown."""
    return redact(url.split("?", 1)[0])


def plain_body(text: str) -> str:
    """The words of a body that should have been JSON: tags stripped, at most 200 characters."""
    words = " ".join(unescape(_TAGS.sub(" ", text)).split())
    return redact(words[:MAX_BODY_CHARACTERS])
