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

    def leads_back(self, here: Visit | None) -> bool:
        """Whether there is anything to go back to from `here`."""
        return self._at > 0 or (self._at == 0 and here is not None and self._visits[0] != here)

    @property
    def leads_forward(self) -> bool:
        """Whether one went back before."""
        return self._at < len(self._visits) - 1

    def visit(self, visit: Visit) -> None:
        """Note where one is."""
        if self._at >= 0 and self._visits[self._at] == visit:
            return
        self._visits = [*self._visits[: self._at + 1], visit][-MAX_VISITS:]
        self._at = len(self._visits) - 1

    def back(self, here: Visit | None) -> Visit | None:
        """Where one was before; None when there is nothing. Who strayed from what was visited returns to that first."""
        if self._at >= 0 and here is not None and self._visits[self._at] != here:
            if self.leads_forward:
                return self._visits[self._at]
            self.visit(here)
        if self._at <= 0:
            return None
        self._at -= 1
        return self._visits[self._at]

    def forward(self) -> Visit | None:
        """Where one was before going back; None when there is nothing."""
        if not self.leads_forward:
            return None
        self._at += 1
        return self._visits[self._at]
