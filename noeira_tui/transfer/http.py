"""One HTTP exchange at a time over `http.client`, the fastest data path measured, with what real networks need.

Proxies, custom authorities (`SSL_CERT_FILE`), IPv6 and redirects are honoured; no credential is sent but the one a
caller names for one origin, and never where others could read it. Bodies are
read straight into the caller's buffer from a socket that never blocks longer than a tick, so that a silent server
cannot hold up a cancel. Nothing raised here carries the query of a URL.
"""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from types import TracebackType
from typing import Self
from urllib.parse import SplitResult, urljoin, urlsplit

from noeira_tui.core.errors import NetworkError
from noeira_tui.core.outages import NEVER_REACHED, in_words
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import plain_body, without_query
from noeira_tui.transfer.chunked import ChunkedBody
from noeira_tui.transfer.dial import Line, certificate_hint, dial, host_header
from noeira_tui.transfer.facts import Patience
from noeira_tui.transfer.headers import PatientResponse, patient_response, wait_for
from noeira_tui.transfer.prompt import promptly
from noeira_tui.transfer.stall import StallGuard

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_ERROR_BODY = 4096
_HELPING_BYTES = 256 << 10
_CAN_ASK = sys.platform == "linux"

Send = Callable[[Line, SplitResult], None]


class Client:
    """One connection at a time to wherever it is asked to go, kept open between requests to one origin.

    Not for use by two threads at once.
    """

    def __init__(self, patience: Patience, cancel: CancelToken) -> None:
        self.patience = patience
        self.cancel = cancel
        self.requests = 0
        self._response = patient_response(patience, cancel)
        self._line: Line | None = None
        self._origin: tuple[str, str | None, int | None] | None = None

    def get(self, url: str, headers: Mapping[str, str], authorization: str | None = None) -> Answer:
        """The answer to a GET, redirects followed. Raises NetworkError, CancelledError.

        `authorization` is sent to the origin of `url` only, until a redirect leaves it, over https or to this host.
        """

        def send(line: Line, parts: SplitResult) -> None:
            own = headers
            if authorization is not None and keeps_secrets(parts) and not line.absolute_targets:
                own = {**headers, "Authorization": authorization}
            put_headers(line, parts, "GET", own)
            line.connection.endheaders()

        first = origin_of(split_url(url))
        for _ in range(MAX_REDIRECTS + 1):
            if origin_of(split_url(url)) != first:
                authorization = None
            answer = self.send(url, send)
            if answer.status not in REDIRECTS or answer.header("Location") is None:
                return answer
            answer.close()
            url = redirected(url, answer)
        raise NetworkError(f"{without_query(url)} redirects more than {MAX_REDIRECTS} times.", retryable=False)

    def send(self, url: str, send: Send, answer_s: float | None = None) -> Answer:
        """The answer to the one request that `send` puts on the connection; no redirect is followed."""
        parts = split_url(url)
        origin = (parts.scheme, parts.hostname, parts.port)
        reused = self._line is not None and self._origin == origin
        if not reused:
            self.close()
        try:
            return self._exchange(url, parts, send, answer_s)
        except NetworkError as err:
            # A server may close an idle connection whenever it likes; that says nothing about the network.
            if not reused or not err.retryable:
                raise
        return self._exchange(url, parts, send, answer_s)

    def _exchange(self, url: str, parts: SplitResult, send: Send, answer_s: float | None) -> Answer:
        try:
            if self._line is None:
                self._line = self._dial(parts)
                self._origin = (parts.scheme, parts.hostname, parts.port)
            self.requests += 1
            line = self._line
            _socket(line).settimeout(self.patience.answer_s)
            send(line, parts)
            self._await_answer(line, self.patience.answer_s if answer_s is None else answer_s)
            _socket(line).setblocking(False)
            response = line.connection.getresponse()
            assert isinstance(response, PatientResponse)
        except (OSError, http.client.HTTPException) as err:
            self.close()
            raise network_error(err, url) from None
        except BaseException:
            self.close()
            raise
        return Answer(self, line, response, url)

    def _dial(self, parts: SplitResult) -> Line:
        line = promptly(
            lambda: dial(parts, self.patience), self.cancel, self.patience.tick_s, lambda line: line.connection.close()
        )
        line.connection.response_class = self._response
        return line

    def _await_answer(self, line: Line, answer_s: float) -> None:
        """Wait for the first byte of an answer; the time begins when the last byte of the request was taken."""
        sock = _socket(line)
        waited_s = 0.0
        unsent = _unsent(sock)
        while waited_s < answer_s and not _pending(sock):
            began = time.monotonic()
            ready = wait_for(sock, select.POLLIN, self.patience.tick_s)
            waited_s += time.monotonic() - began
            if ready:
                return
            self.cancel.check()
            if unsent and (still := _unsent(sock)) < unsent:
                unsent, waited_s = still, 0.0
        if not _pending(sock):
            raise TimeoutError(f"no answer for {answer_s:.0f} s")

    def close(self) -> None:
        """Drop the connection; the next request makes a new one."""
        line, self._line, self._origin = self._line, None, None
        if line is not None:
            line.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Answer:
    """Status, headers and the body of one answer, read at most once."""

    def __init__(self, client: Client, line: Line, response: PatientResponse, url: str) -> None:
        self.status = response.status
        self.url = url
        self.shown_url = without_query(url)
        self.guard = StallGuard(client.patience)
        self._client = client
        self._response = response
        # A connection gives its socket away for `Connection: close`.
        self._socket = line.connection.sock or response.reader.sock
        self._chunked = ChunkedBody() if response.chunked else None
        self.left: int | None = None if response.chunked else response.length
        """Body bytes still to come; None when only the end of the body tells."""
        self._ended = self.left == 0
        self._failure: NetworkError | None = None
        self._low_water = 1
        self._head = memoryview(response.read_ahead())

    def header(self, name: str) -> str | None:
        value: str | None = self._response.headers.get(name)
        return value

    def read_into(self, view: memoryview) -> int:
        """Read body bytes into `view`, as many as are there or it holds; 0 at the end.

        Raises NetworkError, also for a body cut short.
        """
        if self._failure is not None:
            raise self._failure
        filled = 0
        try:
            while not self._ended and filled < len(view):
                room = view[filled:] if self.left is None else view[filled : filled + self.left]
                count = self._receive(room, wait=not filled)
                if count is None:
                    break
                filled += self._take(room, count)
        except (OSError, http.client.HTTPException) as err:
            self._client.close()
            self._failure = network_error(err, self.url)
            if not filled:
                raise self._failure from None
        self.guard.moved(filled)
        return filled

    def _take(self, room: memoryview, count: int) -> int:
        """How many of the `count` bytes received are payload; 0 received is the end of the connection."""
        if count == 0:
            if self._chunked is not None or self.left:
                raise http.client.IncompleteRead(b"", self.left)
            self._ended = True
            self._client.close()
        elif self._chunked is not None:
            count = self._chunked.strip(room[:count])
            self._ended = self._chunked.finished
        elif self.left is not None:
            self.left -= count
            self._ended = self.left == 0
        return count

    def _receive(self, room: memoryview, *, wait: bool) -> int | None:
        """Bytes received, 0 at the end of the connection, None when there are none now and `wait` is off."""
        while True:
            event = select.POLLIN
            try:
                return self._receive_now(room)
            except (BlockingIOError, ssl.SSLWantReadError):
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            if not wait:
                return None
            self._client.cancel.check()
            self._ask_for(room)
            began = time.monotonic()
            wait_for(self._socket, event, self._client.patience.tick_s)
            self.guard.waited(time.monotonic() - began)

    def _receive_now(self, room: memoryview) -> int:
        if self._head:
            count = min(len(self._head), len(room))
            room[:count] = self._head[:count]
            self._head = self._head[count:]
            return count
        return self._socket.recv_into(room)

    def _ask_for(self, room: memoryview) -> None:
        """Be woken for a good helping only: on a fast link that saves most of the work of reading.

        A slower one is looked at every tick all the same.
        """
        low_water = max(1, min(len(room), _HELPING_BYTES))
        if low_water != self._low_water and _CAN_ASK:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)
            self._low_water = low_water

    def text(self) -> str:
        """The first words of the body, for an error message; empty when it cannot be read."""
        buffer = bytearray(_MAX_ERROR_BODY)
        filled = 0
        view = memoryview(buffer)
        with contextlib.suppress(NetworkError):
            while filled < len(buffer) and (count := self.read_into(view[filled:])):
                filled += count
        return bytes(buffer[:filled]).decode("utf-8", "replace")

    def close(self) -> None:
        """Finish with this answer; the connection is kept when its body was read to the end."""
        reusable = self._ended and not self._response.will_close and not self._head
        if reusable and self._low_water > 1:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        self._response.close()
        if not reusable:
            self._client.close()


def put_headers(line: Line, parts: SplitResult, method: str, headers: Mapping[str, str]) -> None:
    """Put a request line and exactly these headers, `Host` and what a proxy needs on a connection."""
    connection = line.connection
    connection.putrequest(method, line.target(parts), skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", host_header(parts))
    for name, value in {**line.headers, **headers}.items():
        connection.putheader(name, value)


def split_url(url: str) -> SplitResult:
    """The parts of an http or https URL. Raises NetworkError for anything else."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or any(character <= " " or character > "~" for character in url):
        raise NetworkError(f"Not a URL that can be fetched: {without_query(url)!r}.", retryable=False)
    return parts


def origin_of(parts: SplitResult) -> tuple[str, str, int]:
    """Scheme, host and port: what a credential belongs to."""
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def keeps_secrets(parts: SplitResult) -> bool:
    """Whether a credential may be sent there: over https, or to this very host."""
    if parts.scheme == "https":
        return True
    host = parts.hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def redirected(url: str, answer: Answer) -> str:
    """Where a redirect leads. Raises NetworkError where it must not be followed."""
    target = urljoin(url, answer.header("Location") or "")
    if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
        raise NetworkError(f"{answer.shown_url} redirects from https to a place without it.", retryable=False)
    return target


def network_error(err: OSError | http.client.HTTPException, url: str) -> NetworkError:
    """What a failed exchange means, in words that hold no secret."""
    place = without_query(url)
    if isinstance(err, ssl.SSLCertVerificationError):
        return NetworkError(
            f"The certificate of {place} was not accepted: {err.verify_message.rstrip('.')}.",
            hint=certificate_hint(),
            retryable=False,
        )
    if isinstance(err, socket.gaierror):
        return NetworkError(f"The host of {place} was not found.", hint="Check the network and the URL.")
    if isinstance(err, http.client.IncompleteRead):
        missing = "" if err.expected is None else f", {err.expected:,} bytes before its end"
        return NetworkError(f"The answer of {place} was cut short{missing}.")
    if isinstance(err, OSError):
        if err.errno in NEVER_REACHED:
            host = urlsplit(place).netloc or place
            hint = f"Is what answers at {host} running, and can this box reach it?"
            return NetworkError(f"{place} cannot be reached: {in_words(err)}.", hint=hint)
        return NetworkError(f"{place}: {in_words(err)}.")
    return NetworkError(f"{place}: {plain_body(str(err)) or type(err).__name__}.")


def _unsent(sock: socket.socket) -> int:
    """Bytes that the system took and the other side has not; 0 where it cannot be told."""
    if not _CAN_ASK:
        return 0
    import array
    import fcntl
    import termios

    count = array.array("i", [0])
    fcntl.ioctl(sock, termios.TIOCOUTQ, count)
    return count[0]


def _pending(sock: socket.socket) -> bool:
    return isinstance(sock, ssl.SSLSocket) and sock.pending() > 0


def _socket(line: Line) -> socket.socket:
    sock = line.connection.sock
    if sock is None:
        raise ConnectionError("the connection was closed")
    return sock
