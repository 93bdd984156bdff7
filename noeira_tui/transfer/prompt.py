"""Calls that block in the system or in a library, left at once when the user cancels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from noeira_tui.core.progress import CancelToken

_T = TypeVar("_T")


def promptly(
    action: Callable[[], _T], cancel: CancelToken, tick_s: float, abandoned: Callable[[_T], object] | None = None
) -> _T:
    """What `action` gives or raises, run in a thread of its own so that a cancel need not wait for it.

    Looking up a name, connecting and shaking hands cannot be interrupted; they can be left alone. What comes of an
    action that was left goes to `abandoned`, which must not raise. Raises CancelledError.
    """
    call = _Call(action, abandoned)
    threading.Thread(target=call.run, name="prompt", daemon=True).start()
    try:
        while not call.over.wait(tick_s):
            cancel.check()
    except BaseException:
        call.leave()
        raise
    return call.result()


class _Call(Generic[_T]):
    def __init__(self, action: Callable[[], _T], abandoned: Callable[[_T], object] | None) -> None:
        self.over = threading.Event()
        self._action = action
        self._abandoned = abandoned
        self._lock = threading.Lock()
        self._left = False
        self._given: list[_T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """In the thread. Whatever is raised belongs to the caller, who may have left."""
        try:
            given = self._action()
        except BaseException as err:  # noqa: BLE001  # not swallowed: raised again in the caller's thread
            self._error = err
        else:
            with self._lock:
                self._given.append(given)
                left = self._left
            if left:
                self._drop()
        finally:
            self.over.set()

    def leave(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._left = True
            given = bool(self._given)
        if given:
            self._drop()

    def result(self) -> _T:
        if self._error is not None:
            raise self._error
        return self._given[0]

    def _drop(self) -> None:
        if self._abandoned is not None:
            self._abandoned(self._given[0])
