"""Why no connection came about, in words: a person is told what stands in the way, not the number of an error."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator

from noeira_tui.core.redact import redact

_WORDS = {
    errno.ECONNREFUSED: "nothing listens there (the connection was refused)",
    errno.EHOSTUNREACH: "no way leads to that host",
    errno.ENETUNREACH: "this box has no network that leads there",
    errno.ENETDOWN: "the network of this box is down",
    errno.EHOSTDOWN: "that host is down",
    errno.ETIMEDOUT: "no answer in time",
    errno.ECONNRESET: "the connection was cut",
    errno.ECONNABORTED: "the connection was cut",
    errno.EPIPE: "the connection was cut",
    errno.EADDRNOTAVAIL: "that address cannot be used from this box",
    errno.EMFILE: "this process has too many files open",
}
NEVER_REACHED = frozenset(
    {errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
)
"""The system's errors that tell that no connection came about at all."""

_NUMBER = re.compile(r"\[(?:Errno -?\d+|WinError \d+|SSL[^\]]*)\]\s*")
_CERTIFICATE = re.compile(r"certificate verify failed:?\s*")
_SOURCE_LINE = re.compile(r"\s*\(_ssl\.c:\d+\)")


def in_words(err: BaseException) -> str:
    """What kept `err` from a connection, without a full stop and without secrets.

    HTTP libraries wrap what the system said: the first cause that is the system's own is the one that is told.
    """
    for cause in _causes(err):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate was not accepted: {cause.verify_message.rstrip('.')}"
        if isinstance(cause, socket.gaierror):
            return "no host of that name was found"
        if isinstance(cause, TimeoutError):
            return cause.args[0] if _is_told(cause) else _WORDS[errno.ETIMEDOUT]
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.errno is not None:
            told = _WORDS.get(cause.errno) or cause.strerror
            if told:
                return told
    return _plain(redact(str(err))) or type(err).__name__


def _is_told(err: TimeoutError) -> bool:
    """Whether it says of itself how long it waited, as ours do; the system's have a number and its words."""
    return err.errno is None and len(err.args) == 1 and str(err.args[0]).startswith("no answer")


def _causes(err: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    now: BaseException | None = err
    while now is not None and id(now) not in seen:
        seen.add(id(now))
        yield now
        now = now.__cause__ or now.__context__


def _plain(text: str) -> str:
    """A library's words without the numbers and places in its source that they carry."""
    text = _SOURCE_LINE.sub("", _NUMBER.sub("", text))
    return _CERTIFICATE.sub("its certificate was not accepted: ", text).strip().rstrip(".")
