"""Opening the quality screen, and ingesting what is highlighted, marked or typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from noeira_tui.core.errors import NoeiraError
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.picture import DatasetView, RecordingView
from noeira_tui.tui import things
from noeira_tui.tui.ingest_rows import KIND
from noeira_tui.tui.inspections import Inspections, address_of
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.quality_reading import Catalogs, EpisodeQuality, missing_extra
from noeira_tui.tui.rejecting import Rejecting

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen


class Curation:
    """The handlers of `quality` and `ingest`, and what the inspector shows of quality."""

    def __init__(self, screen: MainScreen, box: BoxLike, inspections: Inspections) -> None:
        self._screen = screen
        self._box = box
        self._inspections = inspections
        self.catalogs = Catalogs(box)
        self._ended: frozenset[int] | None = None
        self.rejecting = Rejecting(read_only=screen.read_only)
        self._quality = EpisodeQuality(self.catalogs, screen.board.glyphs)
        inspections.curation = self
        self.quality_of = self._quality.lines
        self.handlers: dict[str, Callable[[], None]] = {"quality": self._open, "ingest": self._ingest}

    def _open(self) -> None:
        from noeira_tui.tui.screens.quality import QualityScreen
        from noeira_tui.tui.screens.quality_links import QualityLinks

        main = self._screen
        links = QualityLinks(
            catalogs=self.catalogs,
            rejecting=self.rejecting,
            jobs=lambda: main.board.jobs,
            inspect=lambda uri, episode: self._inspections.open(uri, None, episode=episode),
            ingest=lambda uri: self.start([uri]),
            ingest_refusal=missing_extra,
            quit=lambda: main.act("quit"),
        )
        main.app.push_screen(QualityScreen(links, main.board.glyphs))

    def _ingest(self) -> None:
        """Ingest what is marked, else what is highlighted."""
        rows = self._screen.list
        marked = [row for row in rows.rows if row.key in rows.marked]
        found = [things.thing_of(row) for row in marked or [row for row in (rows.current,) if row]]
        addresses = [address_of(thing) for thing in found if isinstance(thing, RecordingView | DatasetView)]
        if not addresses:
            self._screen.tell("None of the marked rows is a recording or a dataset.", severity="warning")
            return

        def started() -> None:
            rows.clear_marks()
            self._screen.painter.paint_lists()
            self._screen.painter.paint_row()

        self.start(addresses, started)

    def start(self, uris: Sequence[str], then: Callable[[], None] = lambda: None) -> None:
        """Start one job that ingests these datasets into the catalog that is looked at."""
        from noeira_tui.tui.modals.error import ErrorDialog

        screen = self._screen
        busy = self._busy_with(uris)
        if busy is not None:
            self._tell(f"Job {busy.id} ({busy.spec.title}) is {busy.state}.", severity="warning")
            return

        def started(job: JobRecord) -> None:
            then()
            self._tell(f"{job.spec.title.capitalize()}: a job, which goes on without the app.")

        def failed(error: NoeiraError) -> None:
            screen.app.push_screen(ErrorDialog(error, screen.board.glyphs))

        screen.errands.run(lambda: self._box.ingest(uris, catalog=self.catalogs.chosen), started, failed)

    def ingest_ended(self) -> bool:
        """Whether an ingest ended since this was asked last."""
        jobs = (job for job in self._screen.board.jobs if job.spec.kind == KIND and not job.is_live)
        before, self._ended = self._ended, frozenset(job.id for job in jobs)
        if before is None or self._ended <= before:
            return False
        self.catalogs.changes += 1
        return True

    def _busy_with(self, uris: Sequence[str]) -> JobRecord | None:
        """The live job that ingests exactly this."""
        if len(uris) != 1:
            return None
        live = (job for job in self._screen.board.jobs if job.is_live and job.spec.kind == KIND)
        return next((job for job in live if job.spec.target == uris[0].rstrip("/")), None)

    def _tell(self, text: str, *, severity: str = "information") -> None:
        self._screen.tell(text, severity=severity)
