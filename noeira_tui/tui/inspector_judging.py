"""Marks and rejections in the inspector's list of episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noeira_tui.tui.rejecting import rejected_of, why_not_rejectable
from noeira_tui.tui.text import Piece

if TYPE_CHECKING:
    from noeira_tui.tui.curation import Curation
    from noeira_tui.tui.screens.inspector import InspectorScreen


class InspectorJudging:
    """Which episodes of the dataset are marked and rejected. Without `curation` nothing can be changed."""

    def __init__(self, screen: InspectorScreen, curation: Curation | None) -> None:
        self._screen = screen
        self._curation = curation
        self.marked: frozenset[int] = frozenset()
        self.rejected: frozenset[int] = frozenset()

    @property
    def read_only(self) -> bool:
        return self._curation is None or self._curation.rejecting.read_only

    @property
    def undoable(self) -> int:
        return 0 if self._curation is None else self._curation.rejecting.undoable

    def reject_refusal(self) -> str | None:
        """Why its episodes cannot be rejected here, in words."""
        info = self._screen.info
        return "Nothing is known of it yet." if info is None else why_not_rejectable(self._screen.uri, info.format)

    def ingest_refusal(self) -> str | None:
        """What to install first, in words."""
        from noeira_tui.tui.quality_reading import missing_extra

        return missing_extra()

    def follow_ingests(self) -> None:
        """Look again at the quality of what is plotted when an ingest ended."""
        if self._curation is not None and self._curation.ingest_ended():
            self._screen.look.judge_again()

    def sign(self, index: int) -> Piece:
        """What stands before an episode: its mark."""
        return (self._screen.glyphs.mark, "marked") if index in self.marked else (" ", "")

    def read(self) -> None:
        """Read which are rejected, beside the app."""
        uri = self._screen.uri

        def done(rejected: frozenset[int]) -> None:
            if rejected != self.rejected:
                self.rejected = rejected
                self._screen.view.list.refresh()
                self._screen.paint_lines()

        resolvers = None if self._curation is None else self._curation.catalogs.resolvers
        self._screen.errands.run(lambda: rejected_of(uri, resolvers), done, lambda error: None)

    def mark(self) -> None:
        """Mark the episode under the cursor, or take its mark away, and go on to the next one."""
        episode = self._screen.look.episode
        if episode is not None:
            self.marked ^= {episode.index}
            self._screen.view.list.refresh()
            self._screen.view.list.move_by(1)
            self._screen.paint_lines()

    def unmark(self) -> bool:
        """Take all marks away; False when there were none."""
        had, self.marked = bool(self.marked), frozenset()
        if had:
            self._screen.view.list.refresh()
            self._screen.paint_lines()
        return had

    def reject(self) -> None:
        """Reject the marked episodes, else that under the cursor; or take that back."""
        screen, episode = self._screen, self._screen.look.episode
        if self._curation is None or episode is None:
            return

        def written() -> None:
            self.unmark()
            self.read()

        chosen = {screen.uri: self.marked or frozenset({episode.index})}
        self._curation.rejecting.ask(screen, chosen, {screen.uri: self.rejected}, written)

    def undo(self) -> None:
        """Take the last change back."""
        if self._curation is not None:
            self._curation.rejecting.undo(self._screen, self.read)

    def ingest(self) -> None:
        """Register and score the dataset's episodes."""
        if self._curation is not None:
            self._curation.start([self._screen.uri])
