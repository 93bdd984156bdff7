"""When to try again: one memory of failures for all connections of a transfer."""

from __future__ import annotations

import random
import re
import threading
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from noeira_tui.core.errors import StorageRefusedError, TransferError
from noeira_tui.core.presigned import PresignedUrl, UrlSource
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import plain_body
from noeira_tui.transfer.facts import Patience
from noeira_tui.transfer.http import Answer
from noeira_tui.transfer.stall import StalledError

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_REFRESHES = 2
_ABOUT_TO_EXPIRE_S = 20.0


class Attempts:
    """Counts rounds of tries that brought nothing, and holds everybody back while the server asks for it.

    Sixteen connections that fail together are one round: a failure counts only when its try began after the last one
    that counted.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._failures = 0
        self._round = 0
        self._not_before = 0.0

    def ticket(self) -> int:
        """The round that a try beginning now belongs to."""
        return self._round

    def progressed(self) -> None:
        """Bytes arrived: earlier failures are forgiven."""
        if self._failures:
            with self._lock:
                self._failures = 0

    def wait(self, cancel: CancelToken) -> None:
        """Wait for as long as the server or the backoff asks. Raises CancelledError."""
        while (left_s := self._not_before - time.monotonic()) > 0:
            cancel.sleep(min(left_s, 1.0))
        cancel.check()

    def failed(
        self, error: TransferError, ticket: int, *, brought: int = 0, retry_after_s: float | None = None
    ) -> None:
        """Take note of a failed try; raise `error` when it can never succeed, or after too many rounds of them.

        A try that brought bytes is cheap, but a starved connection never counts as progress: else a dribble would keep
        a transfer alive for ever.
        """
        if not error.retryable:
            raise error
        with self._lock:
            delay_s = self._patience.backoff_s / 10
            if brought and not isinstance(error, StalledError):
                self._failures = 0
            elif ticket == self._round:
                self._round += 1
                self._failures += 1
                if self._failures >= self._patience.attempts:
                    raise error
                delay_s = self._patience.backoff_s * 2 ** (self._failures - 1)
            delay_s = min(delay_s, self._patience.backoff_max_s) * random.uniform(0.75, 1.25)
            if retry_after_s is not None:
                delay_s = max(delay_s, min(retry_after_s, self._patience.retry_after_max_s))
            self._not_before = max(self._not_before, time.monotonic() + delay_s)


class SharedUrl:
    """The URL of a transfer, refreshed once for all connections that met its refusal."""

    def __init__(self, source: UrlSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._presigned: PresignedUrl | None = None
        self._generation = 0
        self._fruitless = 0
        self._trusts_clock = True

    def get(self) -> tuple[PresignedUrl, int]:
        """The URL and its generation; a fresh one when the present one is about to expire."""
        with self._lock:
            if self._presigned is None:
                self._presigned = self._source.current()
            if self._trusts_clock and self._presigned.expires_within(_ABOUT_TO_EXPIRE_S):
                self._renew()
                # A URL that is born expired tells of a wrong clock: from then on only refusals count.
                self._trusts_clock = not self._presigned.expires_within(_ABOUT_TO_EXPIRE_S)
            return self._presigned, self._generation

    def progressed(self) -> None:
        """Bytes arrived with the present URL."""
        self._fruitless = 0

    def refused(self, generation: int, error: TransferError) -> None:
        """The URL of `generation` was refused: get a fresh one unless another connection already did.

        Raises `error` when fresh URLs do not help.
        """
        with self._lock:
            if generation < self._generation:
                return
            if self._fruitless >= _MAX_REFRESHES:
                raise error
            self._fruitless += 1
            self._renew()

    def _renew(self) -> None:
        self._presigned = self._source.refresh()
        self._generation += 1


def asks_for_fresh_url(answer: Answer, body: str) -> bool:
    """Whether a refusal can mean that the URL expired; stores disagree on the status."""
    if answer.status in {401, 403, 404, 410}:
        return True
    return answer.status == 400 and re.search(r"(?i)expired", body) is not None


def refusal(answer: Answer, body: str) -> StorageRefusedError:
    """The error for a status that brings no bytes, with the store's own words."""
    code = re.search(r"<Code>([^<]{1,80})</Code>", body)
    message = re.search(r"<Message>([^<]{1,200})</Message>", body)
    words = " ".join(match[1] for match in (code, message) if match) or plain_body(body)
    hint = ""
    if answer.status in {401, 403}:
        hint = "The URL may have expired, or the clock of this box may be wrong."
    elif answer.status in {404, 410}:
        hint = "The object is gone from the store; the catalog row may be out of date."
    return StorageRefusedError(
        f"{answer.shown_url} answered {answer.status}" + (f": {plain_body(words).rstrip('.')}." if words else "."),
        status=answer.status,
        hint=hint,
        retryable=answer.status in _BUSY,
    )


def retry_after_s(value: str | None) -> float | None:
    """The seconds a `Retry-After` header asks for, given as seconds or as a date; None when it says nothing usable."""
    if not value:
        return None
    if re.fullmatch(r"\s*\d{1,9}\s*", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
