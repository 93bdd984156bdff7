"""URLs that carry their own permission, and who can get a fresh one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

MAX_SINGLE_PUT_BYTES = 5 * 1024**3
"""S3 and R2 refuse a larger object in one PUT ("Uploading objects", S3 User Guide)."""


@dataclass(frozen=True)
class PresignedUrl:
    """A URL that carries its own permission until `expires_at` (None on an older service). Its `repr()` hides it.

    `authorization` is for the few places that want a header instead: it goes to the origin of `url` only, dropped on a
    redirect to another one, and never over plain http to a host that is not this one.
    """

    url: str
    expires_at: datetime | None = None
    authorization: str | None = field(default=None, repr=False)

    def expires_within(self, seconds: float, now: datetime | None = None) -> bool:
        """Whether it expires in less than `seconds`; False while its expiry is not known."""
        if self.expires_at is None:
            return False
        return self.expires_at - (now or datetime.now(UTC)) < timedelta(seconds=seconds)

    def __repr__(self) -> str:
        return f"PresignedUrl({self.url.split('?', 1)[0]!r}, expires_at={self.expires_at!r})"


class UrlSource(Protocol):
    """Where a transfer gets its URL from, and a fresh one when it expired or was refused with 403."""

    def current(self) -> PresignedUrl:
        """The URL to begin with."""
        ...

    def refresh(self) -> PresignedUrl:
        """A fresh URL for the same object. Raises ServiceError when the service gives none."""
        ...


@dataclass(frozen=True)
class FixedUrl:
    """A source with one URL that cannot be refreshed."""

    presigned: PresignedUrl

    def current(self) -> PresignedUrl:
        return self.presigned

    def refresh(self) -> PresignedUrl:
        return self.presigned
