"""Taking the framing out of a chunked body, in place, whatever the edges of the reads are."""

from __future__ import annotations

from http.client import IncompleteRead

_MAX_LINE = 4096


class ChunkedBody:
    """The state of one chunked body between reads. `finished` once its last chunk and trailers were seen."""

    def __init__(self) -> None:
        self.finished = False
        self._left = 0
        self._line = bytearray()
        self._expect = "size"

    def strip(self, view: memoryview) -> int:
        """Move the payload in `view` to its front and return how long it is. Raises HTTPException on bad framing."""
        kept = 0
        at = 0
        while at < len(view) and not self.finished:
            if self._expect == "data":
                take = min(self._left, len(view) - at)
                view[kept : kept + take] = view[at : at + take]
                kept += take
                at += take
                self._left -= take
                if not self._left:
                    self._expect = "end"
            else:
                at = self._read_line(view, at)
        return kept

    def _read_line(self, view: memoryview, at: int) -> int:
        piece = bytes(view[at : at + _MAX_LINE])
        end = piece.find(b"\n")
        self._line += piece if end < 0 else piece[:end]
        if len(self._line) > _MAX_LINE:
            raise IncompleteRead(b"")
        if end < 0:
            return at + len(piece)
        line, self._line = bytes(self._line).strip(), bytearray()
        self._next(line)
        return at + end + 1

    def _next(self, line: bytes) -> None:
        if self._expect == "size":
            try:
                self._left = int(line.split(b";", 1)[0], 16)
            except ValueError:
                raise IncompleteRead(b"") from None
            self._expect = "data" if self._left else "trailer"
        elif self._expect == "end":
            if line:
                raise IncompleteRead(b"")
            self._expect = "size"
        elif not line:
            self.finished = True
