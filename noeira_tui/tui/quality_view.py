"""What the quality screen shows of a catalog: the table, which of it is wanted, where the cursor is, what is marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from noeira_tui.tui.quality_table import QualityTable, Sort, Wanted
from noeira_tui.tui.rejecting import why_not_rejectable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noeira_tui.episodes.facts import EpisodeInfo


class QualityView:
    """The state behind the screen. `rows` are the wanted rows of the table, in their order."""

    def __init__(self) -> None:
        self.table: QualityTable | None = None
        self.wanted = Wanted()
        self.problem = ""
        self.rows: Sequence[int] = ()
        self.cursor = 0
        self.marked: frozenset[str] = frozenset()
        self._refusal: tuple[object, str | None] | None = None

    def take(self, table: QualityTable) -> None:
        """Show this table from now on; the cursor stays on its episode."""
        here = self.current_id
        self.table = table
        self._order(here)

    def take_rejected(self, rejected: Mapping[str, frozenset[int]]) -> None:
        """Show these episodes as rejected from now on."""
        if self.table is not None:
            self.take(QualityTable(self.table.columns, rejected))

    def forget(self) -> None:
        """There is no table."""
        self.table, self.rows, self.cursor = None, (), 0

    def _order(self, here: str | None) -> None:
        if self.table is None:
            return
        rows, self.problem = self.table.rows(self.wanted, self.marked)
        self.rows = rows  # type: ignore[assignment]  # an array of numbers is a sequence of them
        self.cursor = 0 if here is None else self.table.place_of(here, rows, self.cursor)

    @property
    def row(self) -> int | None:
        """The table's row under the cursor."""
        return int(self.rows[self.cursor]) if 0 <= self.cursor < len(self.rows) else None

    @property
    def current_id(self) -> str | None:
        return None if self.table is None or self.row is None else self.table.columns.id_at(self.row)

    @property
    def episode(self) -> EpisodeInfo | None:
        """The episode under the cursor."""
        return None if self.table is None or self.row is None else self.table.columns.episode(self.row)

    @property
    def is_rejected(self) -> bool:
        """Whether the episode under the cursor is rejected."""
        return self.table is not None and self.row is not None and bool(self.table.is_rejected[self.row])

    def move_to(self, index: int) -> None:
        self.cursor = index

    def filter(self, needle: str) -> None:
        """Show only what a filter keeps."""
        self._want(replace(self.wanted, needle=needle))

    def choose_flag(self, flag: str) -> None:
        """Show only who has a flag; once more shows all again."""
        self._want(replace(self.wanted, flag="" if flag == self.wanted.flag else flag))

    def sort(self, sort: Sort) -> None:
        """Show them in another order, from its beginning."""
        self.wanted = replace(self.wanted, sort=sort)
        self._order(None)

    def _want(self, wanted: Wanted) -> None:
        if wanted != self.wanted:
            here, self.wanted = self.current_id, wanted
            self._order(here)

    # Marks

    def mark(self) -> None:
        """Mark the episode under the cursor, or take its mark away."""
        here = self.current_id
        if here is not None:
            self.marked ^= {here}

    def mark_all(self) -> None:
        """Mark all that are shown, or none of them when all of them were marked."""
        if self.table is None:
            return
        shown = frozenset(self.table.columns.ids_at(self.rows))
        self.marked = self.marked - shown if shown <= self.marked else self.marked | shown

    def unmark(self) -> None:
        self.marked = frozenset()

    def chosen(self) -> tuple[int, ...]:
        """The rows of the marked episodes, shown or not; else that under the cursor."""
        if self.table is None:
            return ()
        if not self.marked:
            return () if self.row is None else (self.row,)
        return tuple(int(row) for row in self.table.marked_rows(self.marked))

    def chosen_episodes(self) -> dict[str, frozenset[int]]:
        """Their numbers by the addresses of their datasets."""
        assert self.table is not None
        columns = self.table.columns
        found: dict[str, set[int]] = {}
        for row in self.chosen():
            source, index = columns.sources.at(row), columns.index_at(row)
            if source is not None and index is not None:
                found.setdefault(source, set()).add(index)
        return {source: frozenset(episodes) for source, episodes in found.items()}

    def why_not_rejectable(self) -> str | None:
        """Why the chosen episodes cannot be rejected here, in words."""
        if self.table is None:
            return None
        key = (self.table, self.marked, None if self.marked else self.row)
        if self._refusal is None or self._refusal[0] != key:
            # Asked at every move of the cursor.
            columns, rows = self.table.columns, self.chosen()
            told = ((columns.sources.at(row), columns.coded["source_format"].at(row)) for row in rows)
            self._refusal = (key, _first_reason(told))
        return self._refusal[1]


def _first_reason(datasets: Iterable[tuple[str | None, str | None]]) -> str | None:
    for source, dataset_format in dict.fromkeys(datasets):
        reason = why_not_rejectable(source or "", dataset_format or "")
        if reason is not None:
            return reason
    return None
