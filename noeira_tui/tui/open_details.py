"""The details of a row, opened and kept up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.errors import NoeiraError
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.picture import RecordingView
from noeira_tui.tui import details
from noeira_tui.tui.ports import BoxLike

if TYPE_CHECKING:
    from textual.timer import Timer

    from noeira_tui.overview.packfacts import PackFacts
    from noeira_tui.tui.modals.details import DetailsDialog
    from noeira_tui.tui.screens.main import MainScreen


LOG_EVERY_S = 0.5
"""How often the log of a job is read while its page is open."""


class OpenDetails:
    """The dialog that is open, if one is."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box
        self._details: DetailsDialog | None = None
        self._reading = False
        self._timer: Timer | None = None

    def open(self) -> None:
        """Show everything about the highlighted row."""
        from noeira_tui.tui.modals.details import DetailsDialog

        screen = self._screen
        row = screen.current
        if row is None:
            return
        dialog = DetailsDialog(row, screen.board)

        def closed(_: None) -> None:
            self._details, self._reading = None, False
            if self._timer is not None:
                self._timer.stop()

        screen.app.push_screen(dialog, closed)
        self._details = dialog
        self._read_log()
        if isinstance(row.subject, JobRecord):
            # Its log grows without its row changing.
            self._timer = screen.set_interval(LOG_EVERY_S, self._follow_log)
        self._read_pack(dialog)
        self._read_rows(dialog)

    def follow(self) -> None:
        """Bring open details up to date: the row, and a job's log."""
        dialog = self._details
        if dialog is None:
            return
        for row in self._screen.board.all_rows(dialog.row.place):
            if row.key == dialog.row.key and row != dialog.row:
                dialog.take(row)
                self._read_log()

    def _follow_log(self) -> None:
        subject = None if self._details is None else self._details.row.subject
        if isinstance(subject, JobRecord) and subject.is_live:
            self._read_log()

    def _read_log(self) -> None:
        dialog = self._details
        if dialog is None or self._reading or not isinstance(dialog.row.subject, JobRecord):
            return
        job_id = dialog.row.subject.id

        def read(text: str) -> None:
            self._reading = False
            if dialog.is_attached:
                dialog.show_log(text)

        self._reading = True
        self._screen.errands.run(lambda: self._box.log(job_id), read)

    def _read_pack(self, dialog: DetailsDialog) -> None:
        """Add what takes a moment to find out about a pack."""
        pack = dialog.row.subject
        if not isinstance(pack, PackStatus):
            return

        def read(found: PackFacts) -> None:
            if dialog.is_attached:
                dialog.add_facts(details.pack_facts(found, self._screen.board.glyphs))

        self._screen.errands.run(lambda: self._box.pack_details(pack), read)

    def _read_rows(self, dialog: DetailsDialog) -> None:
        """Add which data files of a recording have other rows than their episodes; that reads each one's footer."""
        view = dialog.row.subject
        if not isinstance(view, RecordingView) or not view.here:
            return

        def read(faults: Mapping[str, str]) -> None:
            if dialog.is_attached and faults:
                dialog.add_facts(details.row_facts(faults, self._screen.board.glyphs))

        def failed(error: NoeiraError) -> None:
            if dialog.is_attached:
                dialog.add_facts((details.rows_not_read(error, self._screen.board.glyphs),))

        self._screen.errands.run(lambda: self._box.row_faults(view), read, failed)
