"""Producing in another thread, a few pieces ahead of whoever uses them: decoding and writing overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

_T = TypeVar("_T")
_TICK_S = 0.1


class _End:
    """The last thing in the queue; `error` is what ended the producer, None at the end of its pieces."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def ahead(pieces: Iterator[_T], depth: int = 4) -> Iterator[_T]:
    """The same pieces, with at most `depth` of them waiting. What the producer raises is raised here, in its turn.

    Closing the result ends the producer.
    """
    waiting: queue.Queue[_T | _End] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: _T | _End) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=_TICK_S)
            except queue.Full:
                continue
            return True
        return False

    def produce() -> None:
        error: BaseException | None = None
        try:
            for piece in pieces:
                if not put(piece):
                    return
        except BaseException as err:  # noqa: BLE001  carried over to the thread that uses the pieces
            error = err
        put(_End(error))

    thread = threading.Thread(target=produce, name="ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        thread.join()
