"""Work in a process beside this one: what it imports and holds is gone when that process ends, and it ends with us.

For an app that is kept open for days: libraries which take half of its memory and are needed for a moment. The process
is started at the first question. It has a session of its own, so that the terminal's signals do not reach it, and it
ends when its connection does, in whatever way this process ended.
"""

from __future__ import annotations

import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar, cast

from noeira_tui.core.besidechild import Answer, Ask, Said, Stop
from noeira_tui.core.childenv import child_environment
from noeira_tui.core.errors import BesideError, CancelledError, NoeiraError
from noeira_tui.core.progress import CancelToken

T = TypeVar("T")

_SLICE_S = 0.1
_END_S = 2.0
_CRASHES = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE})
_SERVE = "import sys; from noeira_tui.core.besidechild import serve; serve(*sys.argv[1:])"


class Beside:
    """A process that calls functions for this one. May be used from several threads, which do not wait for each other.

    `niceness` is how far it stands behind others for the processor; it does `without` some packages, as if they were
    not installed; `said` hears what the work says meanwhile, in a thread of its own. After an end that nobody wanted
    the next question starts another process.
    """

    def __init__(
        self, *, niceness: int = 0, without: tuple[str, ...] = (), said: Callable[[str], None] | None = None
    ) -> None:
        self._arguments = (str(niceness), *without)
        self._said = said
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        """Whether there is such a process now."""
        process = self._process
        return process is not None and not process.has_ended

    def call(
        self,
        function: Callable[..., T],
        *arguments: object,
        cancel: CancelToken | None = None,
        timeout_s: float | None = None,
    ) -> T:
        """What a function of a module gives there; arguments and result are copies.

        With `cancel` the function is given such a token as its last argument. Raises what the function raised of
        NoeiraError, CancelledError at once when cancelled or closed, and BesideError when the process ended or gave no
        answer within `timeout_s`, which ends it.
        """
        process = self._running()
        question = process.ask(function, arguments, stoppable=cancel is not None)
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not question.answered.wait(_SLICE_S if until is None else min(_SLICE_S, until - time.monotonic())):
            if cancel is not None and cancel.is_cancelled:
                process.stop(question)
                cancel.check()
            if until is not None and time.monotonic() >= until:
                late = BesideError(f"the process that reads gave no answer for {timeout_s:g} s")
                process.end(late)
                raise late
        return cast("T", question.result())

    def ask(self, function: Callable[..., T], *arguments: object, then: Callable[[T], None]) -> bool:
        """Ask the process that is there without waiting; whether there is one to ask.

        `then` is given the answer in a thread of its own, if ever there is one.
        """
        process = self._process
        if process is None or process.has_ended:
            return False
        process.ask(function, arguments, then=cast("Callable[[object], None]", then))
        return True

    def give_up(self, why: str) -> None:
        """End the process as one that is stuck; whoever waits for it hears why. The next question starts another."""
        process = self._process
        if process is not None:
            process.end(BesideError(why))

    def close(self) -> None:
        """End the process; what still waits for it is cancelled. Returns at once, and may be called twice."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.end(_cancelled())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _running(self) -> _Process:
        with self._lock:
            if self._closed:
                raise _cancelled()
            if self._process is None or self._process.has_ended:
                self._process = _Process(self._arguments, self._said)
            return self._process


class _Question:
    """One question, and its answer once it is there."""

    def __init__(self, number: int, then: Callable[[object], None] | None) -> None:
        self.number = number
        self.then = then
        self.answered = threading.Event()
        self._answer: Answer | None = None

    def take(self, answer: Answer) -> None:
        self._answer = answer
        self.answered.set()
        if self.then is not None and answer.error is None:
            self.then(answer.result)

    def result(self) -> object:
        """Raises what was raised there."""
        assert self._answer is not None
        if self._answer.error is not None:
            raise self._answer.error
        return self._answer.result


class _Process:
    def __init__(self, arguments: tuple[str, ...], said: Callable[[str], None] | None) -> None:
        self._said = said
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._waiting: dict[int, _Question] = {}
        self._number = 0
        self._ended = False
        self._error: NoeiraError | None = None
        self._socket, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                # Nothing in the current folder may hide a library.
                [sys.executable, "-P", "-c", _SERVE, str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=child_environment(),
            )
        except OSError as err:
            self._socket.close()
            raise BesideError(f"the process that reads cannot be started: {err.strerror or err}") from err
        finally:
            theirs.close()
        threading.Thread(target=self._hear, name="noeira-beside", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._ended or self._error is not None

    def ask(
        self,
        function: Callable[..., object],
        arguments: tuple[object, ...],
        *,
        stoppable: bool = False,
        then: Callable[[object], None] | None = None,
    ) -> _Question:
        with self._lock:
            self._number += 1
            question = _Question(self._number, then)
            if self._ended:
                question.take(Answer(question.number, error=self._why()))
                return question
            self._waiting[question.number] = question
        self._send(Ask(question.number, function, arguments, stoppable))
        return question

    def stop(self, question: _Question) -> None:
        """Nobody waits for this any more."""
        with self._lock:
            self._waiting.pop(question.number, None)
        self._send(Stop(question.number))

    def end(self, error: NoeiraError) -> None:
        """End it now, whatever it does; from here on nobody asks it, and those who wait hear of this error."""
        self._error = self._error or error
        self._process.kill()

    def _send(self, message: object) -> None:
        data = pickle.dumps(message)
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError:
            # It ended: who listens learns that too, and answers all questions.
            return

    def _hear(self) -> None:
        try:
            with self._socket.makefile("rb") as stream:
                while (message := _next(stream)) is not None:
                    self._take(message)
        finally:
            # Also when it says what nobody here understands, such as after an upgrade: nothing may wait for ever.
            self._settle()

    def _take(self, message: object) -> None:
        if isinstance(message, Answer):
            with self._lock:
                question = self._waiting.pop(message.number, None)
            if question is not None:
                question.take(message)
        elif isinstance(message, Said) and self._said is not None:
            self._said(message.text)

    def _settle(self) -> None:
        """It closed its connection, so it has nothing more to do: none is left as a zombie, and nobody waits."""
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._ended = True
            waiting, self._waiting = self._waiting, {}
        self._socket.close()
        for question in waiting.values():
            question.take(Answer(question.number, error=self._why()))

    def _why(self) -> NoeiraError:
        return self._error or _ended(self._process.returncode)


def _next(stream: object) -> object:
    """The next message; None at the end of the connection."""
    try:
        return cast("object", pickle.load(stream))  # type: ignore[arg-type]  # a socket's stream
    except (EOFError, OSError, pickle.UnpicklingError):
        return None


def _cancelled() -> CancelledError:
    return CancelledError("It was closed before the answer came.")


def _ended(code: int) -> BesideError:
    """Why it ended, in words. A process that is killed after its connection broke counts by what broke it."""
    if code >= 0:
        return BesideError("the process that reads ended by itself")
    try:
        number = signal.Signals(-code)
    except ValueError:
        return BesideError(f"the process that reads was ended by signal {-code}")
    if number in _CRASHES:
        return BesideError(f"reading it ends the process that reads ({number.name})", is_crash=True)
    more = "; is there enough memory?" if number is signal.SIGKILL else ""
    return BesideError(f"the process that reads was ended by {number.name}{more}")
