"""Keeping secrets out of every text a person or a log may see."""

from __future__ import annotations

import re

_QUERY = re.compile(r"(?i)(?P<base>https?://[^\s\"'<>?]+)\?[^\s\"'<>]*")
_BEARER = re.compile(r"(?i)\b(bearer)\s+[\"']?[^\s\"',]+")
_USERINFO = re.compile(r"(?i)(https?://)[^/\s?#]*@")
# What is left of a signed URL that was cut, quoted or given as path and query alone, and settings with a key in them.
_SECRETS = re.compile(
    r"(?i)(?<![A-Za-z0-9])((?:x-amz-|x-goog-)?(?:signature|credential|security-token)|sig|api_?key|(?:access_)?token)"
    r"=[^&\s\"'<>`]+"
)
# An API key of our own service, wherever somebody pasted it.
_API_KEY = re.compile(r"\bnk_[0-9a-f]+_[A-Za-z0-9_-]+")
_TAGS = re.compile(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>")
MAX_BODY_CHARACTERS = 200


def redact(text: str) -> str:
    """`text` without queries of URLs, signatures and keys, user names in URLs, and bearer tokens."""
    text = _USERINFO.sub(r"\1", text)
    text = _QUERY.sub(r"\g<base>?…", text)
    text = _SECRETS.sub(r"\1=…", text)
    text = _API_KEY.sub("nk_…", text)
    return _BEARER.sub(r"\1 …", text)


def without_query(url: str) -> str:
    """A URL as it may be shown."""
    return redact(url.split("?", 1)[0])


def plain_body(text: str) -> str:
    """The words of a body that should have been JSON: tags stripped, at most 200 characters."""
    # Imported here: its table of entities takes its time to load, and only failures need it.
    from html import unescape

    words = " ".join(unescape(_TAGS.sub(" ", text)).split())
    # Cut last: a cut secret would no longer be recognised.
    return redact(words)[:MAX_BODY_CHARACTERS]
