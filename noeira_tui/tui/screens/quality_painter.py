"""Gives every widget of the quality screen what it shows; equal contents cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.episodes.flags import METRICS
from noeira_tui.tui import figures, inspector_lines, quality_lines
from noeira_tui.tui.actions import keyed
from noeira_tui.tui.ingest_rows import progress_text
from noeira_tui.tui.quality_actions import QUALITY
from noeira_tui.tui.text import Line, Piece, clean, cut_line, cut_middle, short_path, spread, width_of, wrap
from noeira_tui.tui.widgets.key_bar import KeyBar
from noeira_tui.tui.widgets.painted import Painted, title_content

if TYPE_CHECKING:
    from noeira_tui.tui.quality_table import QualityTable
    from noeira_tui.tui.screens.quality import QualityScreen

TALL_FROM = 32
TOP_FROM, SCORES_FROM = 18, 70
"""Lines and columns from which scores and flags stand above the list, and both of them side by side."""
TALL_TOP, SHORT_TOP = 10, 7
WIDE_SCORES, NARROW_SCORES = 64, 44
"""Lines and columns of the scores, with their frame."""
MAX_NAME = 26

_AGAIN = "{quality_refresh} reads again, {quality_place} opens another catalog"


class QualityPainter:
    """Paints the screen from its view."""

    def __init__(self, screen: QualityScreen) -> None:
        self._screen = screen
        self._names: tuple[object, dict[int, str], int, int] | None = None

    @property
    def _has_parts(self) -> bool:
        screen = self._screen
        return screen.is_attached and all(screen.query(name) for name in ("#keys", "#quality-about", "#quality-scores"))

    def arrange(self) -> None:
        """Lay everything out for the size, and for whether there is anything to see."""
        if not self._has_parts:
            return
        screen = self._screen
        known, wide = screen.view.table is not None and len(screen.view.table.columns) > 0, screen.is_wide
        alone = screen.shows_details and not wide
        tall = screen.app.size.height >= TALL_FROM
        screen.query_one("#quality-top").display = known and not alone and screen.app.size.height >= TOP_FROM
        screen.query_one("#quality-scores").display = screen.app.size.width >= SCORES_FROM
        screen.query_one("#quality-top").styles.height = TALL_TOP if tall else SHORT_TOP
        screen.query_one("#quality-list").display = not alone or not known
        screen.about.display = known and screen.shows_details
        screen.set_class(not wide, "-narrow")
        screen.query_one("#quality-scores").styles.width = WIDE_SCORES if wide else NARROW_SCORES
        if known and alone:
            screen.about.focus()
        elif screen.about.has_focus or not known:
            screen.rows.focus()

    def paint(self) -> None:
        """Everything."""
        self.arrange()
        if self._has_parts:
            self._paint_flags()
            self.paint_rows()

    def paint_rows(self) -> None:
        """The list, and what follows from it."""
        if not self._has_parts:
            return
        screen, view = self._screen, self._screen.view
        table = view.table
        if table is None or not len(table.columns):
            screen.rows.show_lines(self._instead(max(12, screen.size.width - 6)))
            screen.rows.border_title = title_content((("episodes", "strong"),))
            screen.rows.border_subtitle = None
        else:
            widths = self._widths(table)
            head = quality_lines.row_head(view.wanted.sort, widths, screen.glyphs)
            screen.rows.show(len(view.rows), self._paint_row, cursor=view.cursor, head=[head], lead=self._lead)
            self._title_rows(table)
        self._paint_scores()
        self.paint_episode()
        self.paint_lines()

    def _title_rows(self, table: QualityTable) -> None:
        screen, view, glyphs = self._screen, self._screen.view, self._screen.glyphs
        shown, total = len(view.rows), len(table.columns)
        count = f"{shown:,}" if shown == total else f"{shown:,} of {total:,}"
        pieces: list[Piece] = [("episodes", "strong"), (f" {glyphs.dot} {count}", "quiet")]
        if view.wanted.flag:
            pieces.append((f" {glyphs.dot} {clean(view.wanted.flag, glyphs)}", "accent"))
        if view.wanted.needle:
            pieces.append((f" {glyphs.dot} /{clean(view.wanted.needle, glyphs)}", "accent"))
        if view.problem:
            pieces.append((f" {glyphs.dot} {clean(view.problem, glyphs)}", "trouble"))
        screen.rows.border_title = title_content(cut_line(pieces, max(8, screen.rows.outer_size.width - 6), glyphs))
        notes: Line = ((f"{len(view.marked):,} marked", "accent"),) if view.marked else ()
        screen.rows.border_subtitle = title_content(notes)

    def _widths(self, table: QualityTable) -> tuple[int, int]:
        """Digits of the numbers of episodes, and cells of the names of datasets."""
        _, _, digits, name_width = self._named(table)
        return digits, min(name_width, MAX_NAME if self._screen.size.width >= 100 else 16)

    def _named(self, table: QualityTable) -> tuple[object, dict[int, str], int, int]:
        if self._names is None or self._names[0] is not table.columns:
            import numpy as np

            numbers = table.columns.numbers["episode"]
            known = numbers[~np.isnan(numbers)]
            digits = max(2, len(str(int(known.max())))) if len(known) else 2
            longest = max((len(_last(name or "")) for name in table.columns.sources.names[:1000]), default=8)
            self._names = (table.columns, {}, digits, max(8, longest))
        return self._names

    def _name(self, table: QualityTable, row: int) -> str:
        """The name of an episode's dataset, cleaned once."""
        names = self._named(table)[1]
        code = int(table.columns.sources.codes[row])
        if code not in names:
            names[code] = clean(_last(table.columns.sources.names[code] or ""), self._screen.glyphs)
        return names[code]

    def _paint_row(self, index: int, width: int) -> Line:
        screen, view = self._screen, self._screen.view
        table = view.table
        if table is None or index >= len(view.rows):
            return ()
        row, columns = int(view.rows[index]), table.columns
        sort = view.wanted.sort
        facts = quality_lines.RowFacts(
            columns.number_at("score", row),
            columns.index_at(row),
            self._name(table, row),
            int(columns.number_at("frames", row) or 0),
            columns.number_at("time", row) or 0.0,
            columns.flags_at(row),
            columns.number_at(sort.key, row) if sort.key in METRICS else None,
        )
        rejected = bool(table.is_rejected[row])
        widths = self._widths(table)
        return quality_lines.row_line(facts, sort, widths, width, screen.glyphs, rejected=rejected)

    def _lead(self, index: int) -> Piece:
        """The mark of an episode."""
        view = self._screen.view
        if not view.marked or view.table is None or index >= len(view.rows):
            return " ", ""
        is_marked = view.table.columns.id_at(int(view.rows[index])) in view.marked
        return (self._screen.glyphs.mark, "marked") if is_marked else (" ", "")

    def show_list(self) -> None:
        """Bring the list into sight, where the details stand in its place."""
        if self._screen.shows_details and not self._screen.is_wide:
            self._screen.shows_details = False
            self.arrange()

    def _instead(self, width: int) -> list[Line]:
        """What stands where episodes would be: how to get some, or why there are none."""
        screen, glyphs = self._screen, self._screen.glyphs
        if screen.error is not None and screen.error.title != "No catalog":
            return inspector_lines.error(screen.error, width, glyphs, keys=_AGAIN)
        if screen.reading:
            return [((f"Reading the catalog{glyphs.ellipsis}", "quiet"),)]
        place = cut_middle(clean(short_path(screen.links.catalogs.place), glyphs), width, glyphs)
        lines: list[Line] = [(("No episodes here yet.", "strong"),), ((place, "faint"),), ()]
        for text in (
            "A catalog of episodes tells how good each one is: smoothness, dead actions, jitter, and what it is "
            "flagged for. Only states and actions are read for it, never the videos.",
        ):
            lines += [((part, "quiet"),) for part in wrap(text, min(width, 78))]
        lines.append(())
        keys = (
            (glyphs.key("quality_ingest"), "here: type or paste the address of a dataset"),
            (glyphs.key("ingest"), "on the main screen: ingests what is highlighted or marked"),
            (glyphs.key("quality_place"), "opens another catalog: a folder or s3://bucket/prefix"),
        )
        lines += [cut_line(((f"  {key}  ", "accent"), (told, "")), width, glyphs) for key, told in keys]
        return lines

    def _paint_scores(self) -> None:
        screen, view, glyphs = self._screen, self._screen.view, self._screen.glyphs
        scores = screen.query_one("#quality-scores", Painted)
        table = view.table
        if table is None:
            return
        rows = view.rows
        width = (WIDE_SCORES if screen.is_wide else NARROW_SCORES) - 4
        height = (TALL_TOP if screen.app.size.height >= TALL_FROM else SHORT_TOP) - 2
        counts = table.histogram(rows)  # type: ignore[arg-type]  # they came from it
        scores.show(quality_lines.histogram(counts, width, height, glyphs))
        span = table.span(rows)  # type: ignore[arg-type]  # as above
        told: list[Piece] = [("score", "strong")]
        if span is not None:
            told += [(f" {glyphs.dot} mean ", "quiet"), (f"{span[0]:.2f}", quality_lines.score_look(span[0]))]
            told.append((f" {glyphs.dot} {span[1]:.2f} {glyphs.dash} {span[2]:.2f}", "quiet"))
        scores.show_title(tuple(told))

    def _paint_flags(self) -> None:
        screen, view, glyphs = self._screen, self._screen.view, self._screen.glyphs
        table = view.table
        if table is None:
            return
        flags = table.flags
        most = max((count for _, count in flags), default=0)

        def paint(index: int, width: int) -> Line:
            flag, count = flags[index]
            return quality_lines.flag_line(flag, count, most, width, glyphs, active=flag == view.wanted.flag)

        if flags:
            screen.flags.show(len(flags), paint, cursor=min(screen.flags.cursor, len(flags) - 1))
        else:
            screen.flags.show_lines([((f"{glyphs.good} no episode has a flag", "good"),)])
        told = f" {glyphs.dot} {figures.count(table.flagged, 'episode')}"
        screen.flags.border_title = title_content((("flags", "strong"), (told, "quiet")))

    def paint_episode(self) -> None:
        """The details of the highlighted episode."""
        screen, view, glyphs = self._screen, self._screen.view, self._screen.glyphs
        episode = view.episode
        if not screen.about.display:
            return
        if episode is None or view.table is None:
            screen.about.show_lines([])
            screen.about.border_title = None
            return
        width = max(24, (screen.about.size.width or 60) - 4)
        rejected = view.is_rejected
        lines = quality_lines.details(episode, view.table.medians, width, glyphs, rejected=rejected)
        screen.about.show_lines(inspector_lines.fitted(lines, width, glyphs))
        number = "episode" if episode.episode_index is None else f"episode {episode.episode_index}"
        name = clean(_last(episode.source_uri), glyphs)
        title = cut_line(((number, "strong"), (f" of {name}", "quiet")), width - 2, glyphs)
        screen.about.border_title = title_content(title)

    def paint_lines(self) -> None:
        """Header, status and keys."""
        if not self._has_parts:
            return
        screen, width = self._screen, self._screen.size.width
        screen.query_one("#header", Painted).show([self._header(width)])
        screen.query_one("#status", Painted).show([self._status(width)])
        screen.query_one(KeyBar).show_keys(screen.situation(), keyed(screen.app, QUALITY))

    def _header(self, width: int) -> Line:
        screen, glyphs, table = self._screen, self._screen.glyphs, self._screen.view.table
        right: list[Piece] = [(f"{glyphs.again} ", "live")] if screen.reading else []
        if table is not None:
            sources = len([name for name in table.columns.sources.names if name])
            right.append((figures.count(len(table.columns), "episode"), "strong"))
            right.append((f" {glyphs.dot} {figures.count(sources, 'dataset')}", "quiet"))
            if width >= 100:
                right.append((f" {glyphs.dot} {table.flagged:,} flagged", "quiet"))
        left = (" quality  ", "heading")
        room = max(8, width - width_of([left, *right]) - 3)
        place = cut_middle(clean(short_path(screen.links.catalogs.place), glyphs), room, glyphs)
        return spread([left, (place, "")], [*right, (" ", "")], width, glyphs)

    def _status(self, width: int) -> Line:
        """An ingest that goes on, beside what is highlighted, in words."""
        screen, view, glyphs = self._screen, self._screen.view, self._screen.glyphs
        right: Line = ()
        ingests = screen.ingests
        if ingests:
            right = ((f"{glyphs.again} {progress_text(ingests[0], glyphs)} ", "live"),)
        table = view.table
        if table is None:
            return spread(((" no catalog is open", "faint"),), right, width, glyphs)
        if screen.flags.has_focus and table.flags:
            flag = table.flags[min(screen.flags.cursor, len(table.flags) - 1)][0]
            left: list[Piece] = [(f" {clean(flag, glyphs)}: ", "strong"), (quality_lines.meaning(flag, glyphs), "")]
            return spread(left, right, width, glyphs)
        episode = view.episode
        if episode is None:
            return spread(
                ((f" no episode is shown: {glyphs.key('quality_close')} shows all again", "quiet"),),
                right,
                width,
                glyphs,
            )
        number = "" if episode.episode_index is None else f" {episode.episode_index}"
        left = [(f" episode{number}", "strong"), (f" of {clean(_last(episode.source_uri), glyphs)}  ", "quiet")]
        if view.is_rejected:
            left.append((f"{glyphs.bad} rejected  ", "trouble"))
        if episode.flags:
            more = f" (and {len(episode.flags) - 1} more)" if len(episode.flags) > 1 else ""
            left.append(
                (f"{glyphs.warn} {quality_lines.reason_text(episode, episode.flags[0], glyphs)}{more}", "attention")
            )
        else:
            left.append((f"{glyphs.good} no flags", "good"))
        return spread(left, right, width, glyphs)


def _last(address: str) -> str:
    """The dataset's own name: the end of its address."""
    return address.rstrip("/").rpartition("/")[2] or address
