"""What an answer to a request for bytes really brings: only `Content-Range` is believed."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from noeira_tui.core.errors import NetworkError, VerificationError
from noeira_tui.transfer.facts import Wanted
from noeira_tui.transfer.http import Answer

_CONTENT_RANGE = re.compile(r"\s*bytes\s+(?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)\s*", re.IGNORECASE)


class OddAnswerError(NetworkError):
    """A server that answers a range with something else; trying again may reach a better one."""

    title = "Odd answer"


@dataclass(frozen=True)
class ContentRange:
    """`first` is None in the answer to a range that cannot be had; `total` where it is not told."""

    first: int | None
    end: int | None
    total: int | None


def content_range(answer: Answer) -> ContentRange | None:
    """The parsed `Content-Range`; None without one, or when it makes no sense."""
    found = _CONTENT_RANGE.fullmatch(answer.header("Content-Range") or "")
    if found is None:
        return None
    total = None if found[3] == "*" else int(found[3])
    if found[1] is None:
        return ContentRange(None, None, total)
    first, last = int(found[1]), int(found[2])
    if last < first or (total is not None and last >= total):
        return None
    return ContentRange(first, last + 1, total)


def check_part(answer: Answer, offset: int) -> ContentRange:
    """The range of a 206 that begins at `offset`. Raises OddAnswerError for any other."""
    found = content_range(answer)
    if found is None or found.first is None:
        raise OddAnswerError(f"{answer.shown_url} sent a part without saying which.")
    if found.first != offset:
        raise OddAnswerError(f"{answer.shown_url} sent bytes from {found.first:,} on when asked for {offset:,}.")
    return found


def other_size(wanted: Wanted, told: int | None) -> VerificationError:
    """The store has an object of another size than the catalog says; `told` is None for merely more."""
    has = "more" if told is None else f"{told:,}"
    return VerificationError(
        f"The object has {has} bytes where {wanted.size_bytes or 0:,} are promised.",
        expected=wanted.sha256,
        actual="",
        hint="The store and the catalog disagree; push the dataset again.",
    )


def decoder_for(answer: Answer, size: int | None) -> Decoder | None:
    """What undoes an encoding that a proxy put on; None when the bytes are the object's own.

    An object that was stored encoded has the promised size as it is: its raw bytes are what the digest is of.
    """
    encoding = (answer.header("Content-Encoding") or "identity").strip().lower()
    if encoding in {"identity", ""} or (size is not None and answer.left == size):
        return None
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise OddAnswerError(
            f"{answer.shown_url} is sent with the encoding {encoding!r}, which was not asked for.",
            hint="A proxy on the way changes what it passes on; except the host from it with NO_PROXY.",
            retryable=False,
        )
    return Decoder()


class Decoder:
    """Undoes gzip or deflate, in pieces of bounded size."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=47)
        self._left = b""

    @property
    def pending(self) -> bool:
        """Whether `take` has more to give without further input."""
        return bool(self._left)

    @property
    def finished(self) -> bool:
        return self._inflate.eof

    def take(self, data: bytes, at_most: int) -> bytes:
        """Up to `at_most` decoded bytes. Raises OddAnswerError for data that is not encoded so."""
        try:
            out = self._inflate.decompress(self._left + data, at_most)
        except zlib.error:
            raise OddAnswerError("The body is not encoded as its headers say.") from None
        self._left = self._inflate.unconsumed_tail
        return out
