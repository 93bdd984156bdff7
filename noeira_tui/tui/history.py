"""Which things one was at, to go back and forward between them."""

from __future__ import annotations

from noeira_tui.tui.rows import Place

Visit = tuple[Place, str]
"""A list, and the key of a row in it."""

MAX_VISITS = 100


class History:
    """Like a browser's: going somewhere new forgets what lay ahead."""

    def __init__(self) -> None:
        self._visits: list[Visit] = []
        self._at = -1

    @property
    def can_go_back(self) -> bool:
        return self._at > 0

    @property
    def has_any(self) -> bool:
        """Whether anything was visited."""
        return bool(self._visits)

    @property
    def can_go_forward(self) -> bool:
        return self._at < len(self._visits) - 1

    def visit(self, visit: Visit) -> None:
        """Note where one is."""
        if self._at >= 0 and self._visits[self._at] == visit:
            return
        self._visits = [*self._visits[: self._at + 1], visit][-MAX_VISITS:]
        self._at = len(self._visits) - 1

    def step(self, by: int) -> Visit | None:
        """Where one was before (-1) or after (1); None when there is nothing."""
        if not 0 <= self._at + by < len(self._visits):
            return None
        self._at += by
        return self._visits[self._at]
