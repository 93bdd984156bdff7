"""Who fetches which bytes: pieces handed out to connections in order, taken back when a connection fails."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from noeira_tui.transfer.ranges import Range, Ranges

MIN_PIECE_BYTES = 4 << 20
_PIECES_A_FILE = 128
_LONGEST_BYTES = (8 << 20, 32 << 20)
_PIECES_A_CONNECTION = 3
_FOLLOW_STEP_BYTES = 1 << 20
_NOBODY_WAITS = 1 << 63


@dataclass
class Piece:
    """Bytes `at` to `end` (excluded) that one connection is fetching. `end` is None for a body of unknown length."""

    first: int
    end: int | None
    at: int

    @property
    def brought(self) -> int:
        return self.at - self.first


class Plan:
    """Locked. Pieces shrink towards the end of the file, so that all connections finish together."""

    def __init__(self, size: int | None, done: tuple[Range, ...]) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._advanced = threading.Condition(self._lock)
        self._size = size
        self._written = Ranges(done if size is None else Ranges(done).below(size))
        self._gaps = [] if size is None else self._written.gaps(size)
        self._flying: list[Piece] = []
        self._probing = size is None
        self._stopped = False
        self._follower_wants = _NOBODY_WAITS
        self._longest = min(max((size or 0) // _PIECES_A_FILE, _LONGEST_BYTES[0]), _LONGEST_BYTES[1])
        self.moved = 0

    @property
    def size(self) -> int | None:
        return self._size

    def learn_size(self, size: int) -> None:
        """The server told the size that nobody knew."""
        with self._lock:
            if self._size is None:
                self._size = size
                for piece in self._flying:
                    piece.end = size if piece.end is None else min(piece.end, size)
                covered = Ranges((*self._written.frozen(), *((one.first, one.end or size) for one in self._flying)))
                self._gaps = covered.gaps(size)
                self._changed.notify_all()

    def take(self, connections: int) -> Piece | None:
        """The next piece; waits while all is in flight. None when everything is written, or the plan was stopped."""
        with self._lock:
            while not self._stopped and not self._is_complete():
                if self._probing:
                    self._probing = False
                    return self._fly(Piece(0, MIN_PIECE_BYTES, 0))
                if self._gaps:
                    return self._fly(self._cut(connections))
                self._changed.wait()
            return None

    def whole(self, piece: Piece) -> None:
        """The server sends everything, whatever it is asked for: this piece becomes all there is."""
        with self._lock:
            self._gaps = []
            piece.end = self._size

    def wrote(self, piece: Piece, count: int) -> None:
        """`count` more bytes of a piece are in the file."""
        with self._lock:
            self._written.add(piece.at, piece.at + count)
            piece.at += count
            self.moved += count
            self._tell_follower()

    def landed(self, piece: Piece) -> None:
        """A connection is through with a piece, or gave up: what it did not bring is handed out again."""
        with self._lock:
            self._flying.remove(piece)
            if self._size is None:
                self._probing = True
            elif piece.end is not None and piece.at < piece.end:
                self._gaps = sorted([*self._gaps, (piece.at, piece.end)])
            self._changed.notify_all()

    def ended(self, piece: Piece) -> None:
        """The body of unknown length that `piece` is came to its end."""
        with self._lock:
            self._size = piece.end = piece.at
            self._wake_all()

    def stop(self) -> None:
        """Nothing more is handed out; everybody who waits is woken."""
        with self._lock:
            self._stopped = True
            self._wake_all()

    def front_beyond(self, offset: int) -> int:
        """How far the file is there without a gap; waits until that is well beyond `offset`, complete, or stopped."""
        wanted = offset + _FOLLOW_STEP_BYTES
        with self._lock:
            # Several may follow, each with a wish of its own: one is not to be content with another's.
            while not self._stopped and not self._is_complete() and self._written.front < wanted:
                self._follower_wants = min(self._follower_wants, wanted)
                self._advanced.wait()
            return self._written.front

    @property
    def complete(self) -> bool:
        with self._lock:
            return self._is_complete()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that nobody fetches yet."""
        with self._lock:
            return sum(end - first for first, end in self._gaps)

    @property
    def written_bytes(self) -> int:
        """Bytes in the file, resumed ones included."""
        with self._lock:
            return self._written.total

    def written(self) -> tuple[Range, ...]:
        with self._lock:
            return self._written.frozen()

    def _is_complete(self) -> bool:
        return self._size is not None and self._written.front >= self._size

    def _tell_follower(self) -> None:
        if self._is_complete():
            self._wake_all()
        elif self._written.front >= self._follower_wants:
            self._follower_wants = _NOBODY_WAITS
            self._advanced.notify_all()

    def _wake_all(self) -> None:
        self._changed.notify_all()
        self._advanced.notify_all()

    def _fly(self, piece: Piece) -> Piece:
        self._flying.append(piece)
        return piece

    def _cut(self, connections: int) -> Piece:
        first, end = self._gaps[0]
        left = sum(gap_end - gap_first for gap_first, gap_end in self._gaps)
        wanted = left // (max(1, connections) * _PIECES_A_CONNECTION) if connections else left
        length = min(max(wanted, MIN_PIECE_BYTES), self._longest) if connections else end - first
        if end - first - length < MIN_PIECE_BYTES // 2:
            length = end - first
        if first + length >= end:
            del self._gaps[0]
        else:
            self._gaps[0] = (first + length, end)
        return Piece(first, min(end, first + length), first)
