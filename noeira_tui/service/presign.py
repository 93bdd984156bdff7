"""AWS Signature Version 4 for S3, as much of it as a catalog needs.

Source of the rules: "Authenticating Requests: Using Query Parameters" and "Using the Authorization Header" in the S3
API reference. Paths are signed as they are sent (S3 does not normalise them), with every segment percent-encoded once.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import quote, urlsplit

from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.service.config import MAX_EXPIRY_S

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


def object_url(endpoint: str, bucket: str, key: str = "", *, style: str = "path") -> str:
    """The address of an object, or of the bucket when `key` is empty; `style` is `path` or `host` (`bucket.host`)."""
    parts = [_encoded(part) for part in key.split("/")] if key else []
    base = endpoint.rstrip("/")
    if style == "host":
        scheme, _, host = base.partition("://")
        return f"{scheme}://{bucket}.{host}/{'/'.join(parts)}"
    return "/".join((base, _encoded(bucket), *parts))


@dataclass(frozen=True)
class Signer:
    """A key pair and region that sign requests for S3. The secret does not show in `repr()`."""

    access_key: str
    secret_key: str = field(repr=False)
    region: str = "us-east-1"

    def presign(self, method: str, url: str, expires_s: int, now: datetime | None = None) -> PresignedUrl:
        """A URL that lets anyone do one plain `method` on `url` for `expires_s` seconds (at most 7 days).

        Only `host` is signed and the payload is not, so a PUT needs nothing but its Content-Length.
        Raises ValueError for an expiry that stores refuse.
        """
        if not 1 <= expires_s <= MAX_EXPIRY_S:
            raise ValueError(f"a presigned URL lives from 1 to {MAX_EXPIRY_S} seconds, not {expires_s}")
        moment = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
        stamp = moment.strftime("%Y%m%dT%H%M%SZ")
        query = {
            "X-Amz-Algorithm": ALGORITHM,
            "X-Amz-Credential": f"{self.access_key}/{self._scope(stamp)}",
            "X-Amz-Date": stamp,
            "X-Amz-Expires": str(expires_s),
            "X-Amz-SignedHeaders": "host",
        }
        canonical = canonical_query(query)
        headers = {"host": urlsplit(url).netloc}
        signature = self._signature(method, url, canonical, headers, UNSIGNED, stamp)
        return PresignedUrl(f"{url}?{canonical}&X-Amz-Signature={signature}", moment + timedelta(seconds=expires_s))

    def headers(
        self,
        method: str,
        url: str,
        *,
        extra: Mapping[str, str] | None = None,
        payload_sha256: str = EMPTY_SHA256,
        now: datetime | None = None,
    ) -> dict[str, str]:
        """The headers that authorise one request of the service's own; `extra` headers (lower-case) are signed too."""
        stamp = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        signed = {
            **(extra or {}),
            "host": urlsplit(url).netloc,
            "x-amz-content-sha256": payload_sha256,
            "x-amz-date": stamp,
        }
        signature = self._signature(method, url, urlsplit(url).query, signed, payload_sha256, stamp)
        names = ";".join(sorted(signed))
        credential = f"{self.access_key}/{self._scope(stamp)}"
        authorization = f"{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        return {**signed, "authorization": authorization}

    def _scope(self, stamp: str) -> str:
        return f"{stamp[:8]}/{self.region}/s3/aws4_request"

    def _signature(
        self, method: str, url: str, query: str, headers: Mapping[str, str], payload: str, stamp: str
    ) -> str:
        lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in sorted(headers))
        request = "\n".join((method, urlsplit(url).path or "/", query, lines, ";".join(sorted(headers)), payload))
        to_sign = "\n".join((ALGORITHM, stamp, self._scope(stamp), hashlib.sha256(request.encode()).hexdigest()))
        key = _signing_key(self.secret_key, stamp[:8], self.region)
        return hmac.digest(key, to_sign.encode(), "sha256").hex()


@lru_cache(maxsize=64)
def _signing_key(secret_key: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for step in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, step.encode(), "sha256")
    return key


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~")


def canonical_query(query: Mapping[str, str]) -> str:
    """A query as it is signed, and as it has to be sent."""
    return "&".join(f"{_encoded(name)}={_encoded(query[name])}" for name in sorted(query))
