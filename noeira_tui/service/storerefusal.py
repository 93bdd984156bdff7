"""What an object store's refusal means, in words: what it said itself, and what is likely wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from noeira_tui.core.errors import ServiceError
from noeira_tui.service.storehttp import Answer

_CODE = re.compile(rb"<Code>\s*([A-Za-z0-9.]{1,60})\s*</Code>")
_MESSAGE = re.compile(rb"<Message>([^<]{1,300})</Message>")
_REGION = re.compile(rb"<Region>\s*([a-z0-9-]{1,40})\s*</Region>")
_PLAIN_REGION = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
# Stores refuse a signature whose time is a quarter of an hour off.
_SKEW_S = 600.0
_KEYS_ARE_WRONG = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken"})
_FOR_NOW = frozenset({"InternalError", "SlowDown", "ServiceUnavailable", "OperationAborted", "RequestTimeout"})
_HERE_NO_MORE = frozenset({"NoSuchKey", "NotFound", "NoSuchUpload"})


class StoreError(ServiceError):
    """The object store gave no usable answer to the service. `is_gone` tells that what was asked for is not there.

    One that is not `retryable` is a fault of the settings or of the store's own rules, which stays until somebody acts.
    """

    title = "Object store"
    retryable = True

    def __init__(self, message: str, *, is_gone: bool = False, hint: str = "", retryable: bool | None = None) -> None:
        super().__init__(message, hint=hint, retryable=retryable)
        self.is_gone = is_gone


def refusal(what: str, place: str, answer: Answer, region: str) -> StoreError:
    """The error for an answer that a control call should not have.

    `what` was asked of `place` with a signature for `region`.
    """
    code = _found(_CODE, answer.body)
    told = ": ".join(text for text in (code, _found(_MESSAGE, answer.body)) if text)
    advice = _advice(answer, code, region)
    status = answer.status
    return StoreError(
        f"{what} on {place} was answered {status}{f' ({told})' if told else ''}.",
        hint=advice or "Try again; the service's log has more.",
        retryable=advice is None,
        is_gone=code in _HERE_NO_MORE or (status == 404 and code != "NoSuchBucket"),
    )


def _advice(answer: Answer, code: str, region: str) -> str | None:
    """What somebody has to do; None for what may pass by itself."""
    status = answer.status
    if code == "NoSuchBucket":
        return "The bucket is not there any more, or belongs to another account."
    if status == 501:
        return "This store does not know such a request, which the service cannot do without."
    if status >= 500 or status in {404, 408, 409, 429} or code in _FOR_NOW:
        return None
    there = answer.headers.get("x-amz-bucket-region", "") or _found(_REGION, answer.body)
    if there != region and _PLAIN_REGION.fullmatch(there):
        return f"The bucket is in the region {there}, and requests are signed for {region}: --s3-region {there}."
    skew_s = _skew_s(answer.headers)
    if code == "RequestTimeTooSkewed" or (status == 403 and abs(skew_s) > _SKEW_S):
        which = "behind" if skew_s > 0 else "ahead of"
        return f"The clock of this machine is {abs(skew_s) / 60:.0f} min {which} the store's: set it."
    if code in _KEYS_ARE_WRONG:
        return "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: the store does not accept the pair."
    if status == 403 or code == "AccessDenied":
        return (
            "Either the key pair is not the store's, or a rule of the bucket forbids it: the service reads, writes, "
            "copies and removes objects."
        )
    if status < 300:
        # Some report a failure below a status that says success.
        return None
    return "Check the endpoint, bucket, region and key pair of the object store."


def _found(pattern: re.Pattern[bytes], body: bytes) -> str:
    found = pattern.search(body[:10_000])
    text = found[1].decode("utf-8", "replace") if found else ""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _skew_s(headers: Mapping[str, str]) -> float:
    """How far the store's clock is ahead of ours; 0 when it does not tell."""
    try:
        moment = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return 0.0
    return (moment - datetime.now(UTC)).total_seconds() if moment.tzinfo is not None else 0.0
