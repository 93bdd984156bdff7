"""AWS Signature Version 4 for reading from S3 and what speaks like it: one GET, HEAD or LIST at a time.

Source of the rules: "Authenticating Requests: Using the Authorization Header" in the S3 API reference. Paths are signed
as they are sent, every segment percent-encoded once; the payload of a read is empty.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class S3Keys:
    """A key pair, with the token of a temporary one. Only the access key shows in `repr()`."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def read_headers(
    method: str, url: str, keys: S3Keys, region: str, now: datetime | None = None, *, payload: bytes = b""
) -> dict[str, str]:
    """The headers that authorise reading `url`, or writing a small `payload` to it; its query must be sorted and
    percent-encoded already."""
    payload_sha256 = hashlib.sha256(payload).hexdigest() if payload else _EMPTY_SHA256
    stamp = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    parts = urlsplit(url)
    signed = {"host": parts.netloc, "x-amz-content-sha256": payload_sha256, "x-amz-date": stamp}
    if keys.token:
        signed["x-amz-security-token"] = keys.token
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
    request = "\n".join((method, parts.path or "/", parts.query, lines, names, payload_sha256))
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    to_sign = "\n".join((_ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.digest(_signing_key(keys.secret_key, stamp[:8], region), to_sign.encode(), "sha256").hex()
    authorization = f"{_ALGORITHM} Credential={keys.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    del signed["host"]
    return {**signed, "authorization": authorization}


@lru_cache(maxsize=16)
def _signing_key(secret_key: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for step in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, step.encode(), "sha256")
    return key
