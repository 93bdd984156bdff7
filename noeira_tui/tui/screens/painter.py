"""Gives every widget of the main screen what it shows; equal contents cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.core.installed import PROGRAM
from noeira_tui.tui import headline, job_rows
from noeira_tui.tui.board import PANES
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.headline import TitleStyle
from noeira_tui.tui.rows import Columns, Place, Row
from noeira_tui.tui.text import Line, Piece, clean, cut, spread, width_of
from noeira_tui.tui.thing_rows import Order
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.painted import Painted
from noeira_tui.tui.widgets.pane import Pane

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen

TALL_FROM = 32
SHORT_FROM = 18
"""Heights, in lines, from which details and jobs get more room; as the style sheet has them."""


class Painter:
    """Paints the main screen from its board."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen

    def paint(self) -> None:
        """Give every widget what it shows; equal contents cost nothing."""
        self.paint_lists()
        self.paint_jobs()
        self.paint_lines()
        self.paint_row()

    def paint_lists(self) -> None:
        """The lists above the details and their titles."""
        board, glyphs = self._screen.board, self._screen.board.glyphs
        mode = self._screen.width_mode
        top: tuple[Line, ...] = ()
        packs_top: tuple[Line, ...] = ()
        if board.overview is not None:
            top = headline.banner(board.overview.service, board.clock(), glyphs, brief=mode == "list")
            packs_top = headline.packs_banner(board.overview, glyphs)
        if mode == "list":
            plain = self._screen.query_one("#everything", Pane)
            rows = board.plain_list() if board.overview else ()
            plain.list.show(rows, top=(*top, *packs_top), empty=self._empty(Place.CATALOG))
            plain.show_title((), self._note(self._screen.place))
        else:
            for place in PANES:
                found = board.rows(place)
                above = {Place.CATALOG: top, Place.PACKS: packs_top}.get(place, ()) if found else ()
                empty = (*top, *self._empty(place)) if place is Place.CATALOG else self._empty(place)
                self._screen.pane(place).list.show(found, top=above, empty=empty)
        for place in PANES:
            self._screen.query_one(f"#{place.value}", Pane).show_title(self._title(place, mode), self._note(place))

    def paint_notes(self) -> None:
        """What the lower borders of the three lists say."""
        for place in PANES:
            self._screen.query_one(f"#{place.value}", Pane).show_note(self._note(place))
        if self._screen.width_mode == "list":
            self._screen.query_one("#everything", Pane).show_note(self._note(self._screen.place))

    def _title(self, place: Place, mode: str) -> Line:
        """A pane's title; where panes are tabs, those of all three in one line."""
        if mode == "panes":
            active = place is self._screen.place
            whole = self._own_title(place, active=active, style=TitleStyle())
            room = self._screen.query_one(f"#{place.value}", Pane).outer_size.width - 6
            # Whole words where they fit, else symbols.
            return whole if width_of(whole) <= room else self._own_title(place, active=active, style=TitleStyle(True))
        pieces: list[Piece] = []
        for other in PANES:
            if pieces:
                pieces.append(("   ", ""))
            style = TitleStyle() if other is place else TitleStyle(brief=True, counts=1)
            pieces += self._own_title(other, active=other is place, style=style)
        return tuple(pieces)

    def _own_title(self, place: Place, *, active: bool, style: TitleStyle) -> Line:
        board = self._screen.board
        return headline.title(place, board.census(place), active=active, glyphs=board.glyphs, style=style)

    def _note(self, place: Place) -> Line:
        """What the lower border of a list says: its filter, its marks."""
        pieces: list[Piece] = []
        needle = self._screen.board.filters.get(place, "")
        if needle:
            from noeira_tui.tui.filtering import parse_filter

            glyphs = self._screen.board.glyphs
            shown, whole = len(self._screen.board.rows(place)), len(self._screen.board.all_rows(place))
            pieces += [("/", "accent"), (cut(clean(needle, glyphs), 24, glyphs), "strong")]
            pieces.append((f" {shown} of {whole}", "quiet"))
            problem = parse_filter(needle).problem
            if problem:
                pieces.append((f"  {clean(problem, glyphs)}", "trouble"))
        marked = len(self._screen.pane(place).list.marked)
        if marked:
            pieces += [("   " if pieces else "", ""), (f"{marked} marked", "accent")]
        if self._screen.background.is_at(place):
            pieces += [("   " if pieces else "", ""), *self._screen.background.told()]
        order = Order.TROUBLE if place is Place.JOBS else self._screen.board.order(place)
        if order is not Order.TROUBLE:
            pieces += [("   " if pieces else "", ""), (order.value, "quiet")]
        return tuple(pieces)

    def _empty(self, place: Place) -> tuple[Line, ...]:
        board = self._screen.board
        problem = board.jobs_problem if place is Place.JOBS else board.look_problem if board.overview is None else ""
        return headline.empty(place, board.overview, board.filters.get(place, ""), board.glyphs, problem=problem)

    def paint_jobs(self) -> None:
        """The jobs, as tall as they need within reason."""
        board = self._screen.board
        pane = self._screen.query_one("#jobs", Pane)
        found = board.rows(Place.JOBS)
        pane.list.show(found, empty=self._empty(Place.JOBS))
        extra = job_rows.summary(board.listed_jobs(), board.glyphs)
        active, style = self._screen.place is Place.JOBS, TitleStyle()
        title = headline.title(Place.JOBS, {}, active=active, glyphs=board.glyphs, style=style, extra=extra)
        pane.show_title(title, self._note(Place.JOBS))
        most = 7 if self._screen.size.height >= TALL_FROM else 3 if self._screen.size.height >= SHORT_FROM else 1
        if self._screen.place is Place.JOBS:
            most = max(most, self._screen.size.height // 3)
        height = max(1, min(len(found), most)) + 2
        if pane.styles.height is None or pane.styles.height.value != height:
            pane.styles.height = height

    def paint_job(self, row: Row, width: int, columns: Columns, glyphs: Glyphs) -> Line:
        return job_rows.paint_job(row, width, columns, self._screen.board.glyphs)

    def paint_lines(self) -> None:
        """The header and the status line."""
        board, width = self._screen.board, self._screen.size.width
        parts = headline.header(
            board.overview,
            job_rows.rates(board.jobs, board.pace),
            looking=self._screen.looking,
            glyphs=board.glyphs,
            width=width,
            replaced=PROGRAM.was_replaced,
        )
        self._screen.query_one("#header", Painted).show([spread(*parts, width, board.glyphs)])
        parts = headline.status(board.overview, glyphs=board.glyphs, width=width, problem=board.look_problem)
        self._screen.query_one("#status", Painted).show([spread(*parts, width, board.glyphs)])

    def paint_row(self) -> None:
        """What depends on the highlighted row: details and keys."""
        board, glyphs = self._screen.board, self._screen.board.glyphs
        row = self._screen.current
        shown = self._screen.query_one("#details", Painted)
        inner = max(1, self._screen.size.width - 4)
        if row is None or row.is_heading:
            shown.show_title((("Details", "quiet"),))
            shown.show([(("Nothing is highlighted.", "faint"),)])
        else:
            from noeira_tui.tui import details

            shown.show_title(((cut(row.name, inner - 4, glyphs), "strong"),))
            facts = details.facts_of(row, board.clock(), glyphs, board.moving(row.subject))
            shown.show(details.brief_lines(facts, inner, 3 if self._screen.size.height >= TALL_FROM else 2, glyphs))
        self._screen.query_one(KeyBar).show_keys(self._screen.situation())
