"""One episode, looked at: what is read of it, and when; where the cursor stands and what is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from noeira_tui.tui import canvas, inspector_lines
from noeira_tui.tui.inspecting import Lane, Looks, QualityOf
from noeira_tui.tui.text import Line, Piece, clean, wrap_line
from noeira_tui.tui.widgets.episode_view import BESIDE_FROM, EpisodeView, Shown
from noeira_tui.tui.widgets.painted import title_content
from noeira_tui.tui.widgets.plot import Curves, Plot

if TYPE_CHECKING:
    from textual.timer import Timer

    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.core.progress import CancelToken
    from noeira_tui.datasets.facts import Camera, Episode, Picture, Series
    from noeira_tui.tui.screens.inspector import InspectorScreen

PLOT_AFTER_S = 0.1
FRAME_AFTER_S = 0.15
"""How long the cursor rests on an episode, or on a moment, before it is read."""

_KEPT = 16
"""Episodes whose numbers are kept: going back to one costs nothing."""

Quality = tuple[Line, ...] | None
_WHICH = {(True, True): (True, False), (True, False): (False, True), (False, True): (True, True)}
"""State and action, the state, the action, and from the beginning."""


class EpisodeLook:
    """The state of the episodes' section."""

    def __init__(self, screen: InspectorScreen, view: EpisodeView, quality_of: QualityOf | None) -> None:
        self._screen = screen
        self._view = view
        self._quality_of = quality_of
        self._series: dict[int, tuple[Series, Quality]] = {}
        self._timers: dict[Lane, Timer] = {}
        self.shown = Shown()
        self.episode: Episode | None = None
        self.failures: dict[Lane, NoeiraError] = {}
        self.frame = 0
        self.dimension: int | None = None
        self.camera = 0

    @property
    def series(self) -> Series | None:
        """What is plotted."""
        found = None if self.episode is None else self._series.get(self.episode.index)
        return None if found is None else found[0]

    @property
    def dimensions(self) -> int:
        """The most dimensions that state or action have."""
        series = self.series
        tables = () if series is None else (series.state, series.action)
        return max((table.shape[1] for table in tables if table is not None), default=0)

    @property
    def cameras(self) -> tuple[Camera, ...]:
        info = self._screen.info
        return () if info is None else info.cameras

    def turn_to(self, episode: Episode) -> None:
        """Look at another episode; what was being read of the one before is no longer wanted."""
        self.episode, self.frame = episode, 0
        self.failures.clear()
        self._cancel()
        if self.series is None:
            self._after(Lane.PLOT, PLOT_AFTER_S, self.read)
        else:
            self._want_frame()
        self.paint()

    def forget(self) -> None:
        """Everything is read anew."""
        self._cancel()
        self._series.clear()
        self.failures.clear()
        self.episode = None

    def leave(self) -> None:
        """Nothing of an episode is in sight: what is being read of it is not wanted."""
        self._cancel()

    def come_back(self) -> None:
        """The episode is in sight again."""
        if self.episode is not None and self.series is None and Lane.PLOT not in self.failures:
            self._after(Lane.PLOT, PLOT_AFTER_S, self.read)
        self.arrange()

    def read(self) -> None:
        """Read the episode's numbers, and what is known of their quality."""
        episode, screen, quality_of = self.episode, self._screen, self._quality_of
        if episode is None or not self.is_seen:
            return
        self.failures.pop(Lane.PLOT, None)
        uri = screen.uri

        def work(inspector: Looks, cancel: CancelToken) -> tuple[Series, Quality]:
            series = inspector.series(episode.index, cancel)
            return series, None if quality_of is None else quality_of(uri, series)

        def done(found: tuple[Series, Quality]) -> None:
            while len(self._series) >= _KEPT:
                self._series.pop(next(iter(self._series)))
            self._series[episode.index] = found
            self._want_frame()
            self.paint()
            screen.paint_lines()

        screen.reads.ask(Lane.PLOT, work, done, lambda error: self._failed(Lane.PLOT, error))
        self.paint()

    def judge_again(self) -> None:
        """Ask for the quality of the episodes that were read: the catalog knows more than it did."""
        quality_of, screen, uri = self._quality_of, self._screen, self._screen.uri
        known = {index: series for index, (series, _) in self._series.items()}
        if quality_of is None or not known:
            return

        def done(found: dict[int, Quality]) -> None:
            for index, quality in found.items():
                kept = self._series.get(index)
                if kept is not None and kept[0] is known[index]:
                    self._series[index] = (kept[0], quality)
            self.paint()
            screen.paint_lines()

        def work() -> dict[int, Quality]:
            return {index: quality_of(uri, series) for index, series in known.items()}

        screen.errands.run(work, done, lambda error: None)

    def retry(self) -> None:
        """Read once more what failed."""
        failed, self.failures = self.failures, {}
        if Lane.PLOT in failed:
            self.read()
        if Lane.FRAME in failed:
            self._read_frame()

    def _failed(self, lane: Lane, error: NoeiraError) -> None:
        self.failures[lane] = error
        if lane is Lane.PLOT:
            self._want_frame()
        self.paint()
        self._screen.paint_lines()

    def _want_frame(self) -> None:
        if self.cameras and self._view.shows_frame(self.shown):
            self._after(Lane.FRAME, FRAME_AFTER_S, self._read_frame)

    def _read_frame(self) -> None:
        episode, screen = self.episode, self._screen
        if episode is None or not self.cameras or not self._view.shows_frame(self.shown):
            return
        self.failures.pop(Lane.FRAME, None)
        camera, at_s = self.cameras[self.camera], self.at_s

        def work(inspector: Looks, cancel: CancelToken) -> Picture:
            return inspector.picture(episode.index, camera.name, at_s, cancel)

        def done(picture: Picture) -> None:
            self._view.frame.show(picture)
            self._title_frame(picture)
            screen.paint_lines()

        screen.reads.ask(Lane.FRAME, work, done, lambda error: self._failed(Lane.FRAME, error))
        self._title_frame(None)
        if self._view.frame.picture is None:
            self._view.frame.tell((((f"reading{screen.glyphs.ellipsis}", "faint"),),))

    @property
    def frames(self) -> int:
        """Frames of the episode, as far as that is known."""
        series = self.series
        if series is not None:
            return len(series.timestamps)
        return (self.episode.length or 0) if self.episode is not None else 0

    @property
    def at_s(self) -> float:
        """Where the cursor is, in seconds from the start of the episode."""
        series, info = self.series, self._screen.info
        if series is not None and canvas.rising(series.timestamps):
            return float(series.timestamps[min(self.frame, len(series.timestamps) - 1)] - series.timestamps[0])
        return self.frame / (info.fps if info is not None and info.fps else 30.0)

    # What the user does

    def move(self, frames: int) -> None:
        """Move the cursor in time."""
        self.point(self.frame + frames)

    def step(self, share: float) -> None:
        """Move the cursor by a share of the episode, at least a frame."""
        step = max(1, round(self.frames * abs(share)))
        self.move(step if share > 0 else -step)

    def column(self, direction: int) -> None:
        """Move the cursor by what one column of the plot shows."""
        self.move(direction * max(1, round(self.frames / max(1, self._view.state.plot_cells))))

    def point(self, frame: int) -> None:
        """Put the cursor on a frame."""
        frame = max(0, min(self.frames - 1, frame))
        if frame == self.frame:
            return
        self.frame = frame
        for plot in (self._view.state, self._view.action):
            plot.move_cursor(frame)
        self._title_plots()
        self._screen.reads.stop(Lane.FRAME)
        self._want_frame()

    def point_at(self, share: float) -> None:
        """Put the cursor where somebody clicked."""
        self.point(round(share * (self.frames - 1)))

    def turn_dimension(self, step: int) -> None:
        """All dimensions, then one after the other."""
        places = [None, *range(self.dimensions)]
        self.dimension = places[(places.index(self.dimension) + step) % len(places)] if step else None
        self.paint()

    def turn_which(self) -> None:
        """State and action, or one of them."""
        state, action = _WHICH[self.shown.state, self.shown.action]
        self.shown = replace(self.shown, state=state, action=action)
        self.arrange()

    def turn_camera(self, step: int) -> None:
        """Another camera."""
        self.camera = (self.camera + step) % len(self.cameras)
        self._screen.reads.stop(Lane.FRAME)
        self._view.frame.tell(())
        self._read_frame()

    def toggle(self, part: str) -> None:
        """Show or hide `frame`, `about`, or the list (`zoomed`). In little room frame and facts exclude each other."""
        now = self.shown
        if part == "zoomed":
            self.shown = replace(now, zoomed=not now.zoomed)
        elif part == "frame":
            self.shown = replace(now, frame=not now.frame, about=False)
        else:
            self.shown = replace(now, about=not now.about, frame=now.frame and now.about)
        if not self._view.shows_frame(self.shown):
            self._screen.reads.stop(Lane.FRAME)
        self.arrange()
        if self.series is None and self.episode is not None and Lane.PLOT not in self._screen.reads.running:
            self.read()
        self._want_frame()

    def back(self) -> bool:
        """Undo what was opened last; False when there is nothing to undo."""
        now = self.shown
        if now.frame or now.about:
            self.shown = replace(now, frame=False, about=False)
        elif now.zoomed:
            self.shown = replace(now, zoomed=False)
        else:
            return False
        self._screen.reads.stop(Lane.FRAME)
        self.arrange()
        return True

    # What is painted

    def arrange(self) -> None:
        """Lay everything out; the facts are wrapped once their room is known."""
        self._view.lay_out(self.shown)
        self.paint()
        self._view.call_after_refresh(self._paint_about)

    @property
    def is_seen(self) -> bool:
        """Whether more than the list is in sight."""
        return self._view.display and (self.shown.zoomed or self._view.size.width >= BESIDE_FROM)

    def paint(self) -> None:
        """Give the parts what they show."""
        series = self.series
        state = None if series is None else self._curves(series, state=True)
        action = None if series is None else self._curves(series, state=False)
        self._paint_plot(self._view.state, state, "state")
        self._paint_plot(self._view.action, action, "action")
        self._title_plots()
        self._paint_frame()
        self._paint_about()

    def _paint_plot(self, plot: Plot, curves: Curves | None, what: str) -> None:
        glyphs, width = self._screen.glyphs, max(10, plot.size.width)
        failure = self.failures.get(Lane.PLOT)
        if curves is not None:
            plot.show(curves, self.dimension, self.frame)
        elif failure is not None:
            # Told once: in the first of the two that is shown.
            first = plot is (self._view.state if self.shown.state else self._view.action)
            plot.tell(tuple(inspector_lines.error(failure, width, glyphs)) if first else ())
        elif self.series is not None:
            plot.tell((((f"The episode has no {what}.", "quiet"),),))
        elif self.episode is not None:
            plot.tell((((f"reading{glyphs.ellipsis}", "faint"),),))
        else:
            plot.tell(())

    def _curves(self, series: Series, *, state: bool) -> Curves | None:
        import numpy as np

        values = series.state if state else series.action
        if values is None:
            return None
        told = series.state_names if state else series.action_names
        count = values.shape[1]
        names = told if len(told) == count else tuple(f"[{number}]" for number in range(count))
        cleaned = tuple(clean(name, self._screen.glyphs) for name in names)
        if canvas.rising(series.timestamps):
            return Curves(series.timestamps, values, cleaned)
        return Curves(np.arange(len(values), dtype=np.float64), values, cleaned, "frames")

    def _title_plots(self) -> None:
        glyphs, series, episode = self._screen.glyphs, self.series, self.episode
        number = "" if episode is None else f" {glyphs.dot} episode {episode.index}"
        at: Line = ()
        if series is not None and len(series.timestamps):
            at = ((f"frame {self.frame:,}", "accent"), (f" of {self.frames:,} {glyphs.dot} {self.at_s:.2f} s", "quiet"))
        for plot, what, table in (
            (self._view.state, "state", None if series is None else series.state),
            (self._view.action, "action", None if series is None else series.action),
        ):
            size = "" if table is None else f" {glyphs.dot} {table.shape[1]} dimensions"
            if table is not None and self.dimension is not None and self.dimension < table.shape[1]:
                size = f" {glyphs.dot} dimension {self.dimension + 1} of {table.shape[1]}"
            pieces: list[Piece] = [(what, "strong"), (f"{number}{size}", "quiet")]
            plot.border_title = title_content(tuple(pieces))
            plot.border_subtitle = title_content(at)

    def _paint_frame(self) -> None:
        failure = self.failures.get(Lane.FRAME)
        frame, glyphs = self._view.frame, self._screen.glyphs
        if failure is not None:
            frame.tell(tuple(inspector_lines.error(failure, max(10, frame.size.width), glyphs)))
        self._title_frame(frame.picture)

    def _title_frame(self, picture: Picture | None) -> None:
        glyphs, frame = self._screen.glyphs, self._view.frame
        if not self.cameras:
            return
        camera = self.cameras[self.camera]
        of = f" {self.camera + 1}/{len(self.cameras)}" if len(self.cameras) > 1 else ""
        times = "x" if glyphs.is_ascii else "×"
        size = "" if picture is None else f" {glyphs.dot} {picture.width}{times}{picture.height}"
        frame.border_title = title_content(((clean(camera.name, glyphs), "strong"), (f"{of}{size}", "quiet")))
        kind = "" if picture is None or picture.exact else f" {glyphs.dot} nearest key frame before"
        frame.border_subtitle = title_content(((f"{self.at_s:.2f} s", "accent"), (kind, "attention")))

    def _paint_about(self) -> None:
        episode, about, glyphs = self.episode, self._view.about, self._screen.glyphs
        if episode is None:
            about.show([])
            return
        info, width = self._screen.info, max(20, about.size.width)
        found = self._series.get(episode.index)
        told = () if found is None or found[1] is None else (*found[1], ())
        quality = [part for line in told for part in wrap_line(line, width)]
        lines = [*quality, *inspector_lines.about(episode, None if info is None else info.fps, width, glyphs)]
        about.show_title(((f"episode {episode.index}", "strong"),))
        about.show(inspector_lines.fitted(lines, width, glyphs))

    # When

    def _after(self, lane: Lane, seconds: float, act: Callable[[], None]) -> None:
        timer = self._timers.pop(lane, None)
        if timer is not None:
            timer.stop()
        self._timers[lane] = self._screen.set_timer(seconds, act)

    def _cancel(self) -> None:
        for timer in self._timers.values():
            timer.stop()
        self._timers.clear()
        self._screen.reads.stop(Lane.PLOT, Lane.FRAME)
        self._view.frame.tell(())
