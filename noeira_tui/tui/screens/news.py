"""What the app's threads tell the main screen, and what follows from it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from noeira_tui.core.installed import PROGRAM
from noeira_tui.core.settings import NOTIFY, SLOTS
from noeira_tui.core.settingspecs import no_slots
from noeira_tui.tui.board import PANES
from noeira_tui.tui.messages import JobsFailed, JobsRead, Looked, LookFailed
from noeira_tui.tui.thing_rows import is_watch

if TYPE_CHECKING:
    from noeira_tui.core.settings import Settings
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.tui.screens.main import MainScreen


class News:
    """Takes up what was heard: into the board, onto the screen, and into words."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._seen_whole = self._has_begun = False
        self._told_replaced = False

    def expect_first(self) -> None:
        """Take the next whole look for the first one."""
        self._seen_whole = False

    def looked(self, message: Looked) -> None:
        """A look ended."""
        screen = self._screen
        is_first = message.is_whole and not self._seen_whole
        screen.board.take(message.shelved)
        screen.board.look_problem = ""
        if message.is_whole:
            screen.looking, self._seen_whole = False, True
        if PROGRAM.was_replaced and not self._told_replaced:
            self._told_replaced = True
            screen.telling.tell_replaced()
        for warning in message.shelved.overview.warnings:
            screen.telling.tell_once(warning)
        screen.follow()
        screen.painter.paint()
        if is_first and screen.owns_process:
            # What is known now mostly stays: looking through all of it for garbage again and again would stop the keys
            # for a tenth of a second each time.
            gc.freeze()
        if is_first:
            # What the service said may have brought other trouble to the top.
            for place in PANES:
                screen.pane(place).list.begin_at_top()
            if not self._has_begun:
                self._begin_where_something_is()
            self._has_begun = True
        # What was said before stands until the box is heard again.
        screen.verdicts.ask(anew=True)

    def _begin_where_something_is(self) -> None:
        """Without a service the catalog is empty, and what is on this box would be behind another tab."""
        screen = self._screen
        filled = [place for place in PANES if screen.board.all_rows(place)]
        if screen.place in PANES and filled and screen.place not in filled:
            screen.go_to(filled[0])

    def look_failed(self, message: LookFailed) -> None:
        """A look could not be made."""
        self._screen.looking = False
        self._screen.board.look_problem = message.error.message
        # A toast goes; before the first picture there is nothing else to see.
        self._screen.painter.paint()
        self._tell(message)

    def jobs_read(self, message: JobsRead) -> None:
        """The jobs changed."""
        screen = self._screen
        screen.jobs_known = True
        before = {job.id: job for job in screen.board.jobs}
        screen.board.slots = _slots(screen.box.settings)
        screen.board.take_jobs(message.jobs)
        screen.board.jobs_problem = ""
        ended = [job for job in message.jobs if not job.is_live and job.id in before and before[job.id].is_live]
        for job in ended:
            self._tell_ended(job)
        if ended:
            how = (screen.box.settings.get(NOTIFY) or "off").lower()
            screen.telling.notify_end(f"noeira: {ended[0].spec.title} {ended[0].state}", how)
        if ended or any(_sent_more(before.get(job.id), job) for job in message.jobs):
            screen.watcher.look_now()
        if ended:
            # It may have been refused only because of that job.
            screen.verdicts.forget()
        if len(before) != len(message.jobs) or ended:
            screen.verdicts.ask(anew=True)
        screen.follow()
        screen.painter.paint_lists()
        screen.painter.paint_jobs()
        screen.painter.paint_lines()
        screen.painter.paint_row()

    def jobs_failed(self, message: JobsFailed) -> None:
        """The jobs could not be read."""
        self._screen.board.jobs_problem = message.error.message
        self._screen.painter.paint_jobs()
        self._tell(message)

    def _tell(self, message: LookFailed | JobsFailed) -> None:
        error = message.error
        self._screen.telling.tell_once(f"{error.message} {error.hint}", title=error.title)

    def _tell_ended(self, job: JobRecord) -> None:
        if job.state == "done":
            self._screen.tell(f"{job.spec.title}: done")
        elif job.state in ("failed", "interrupted"):
            why = job.failure.message if job.failure else "its process ended"
            self._screen.tell(f"{job.spec.title}: {job.state}. {why}", severity="error")


def _slots(settings: Settings) -> int:
    """How many transfers run at once; the default where the setting cannot be read."""
    text = settings.get(SLOTS) or "2"
    return 2 if no_slots(text) else int(text)


def _sent_more(before: JobRecord | None, job: JobRecord) -> bool:
    """Whether a watch sent an episode meanwhile: what the service has is another since."""
    return before is not None and is_watch(job) and job.progress.items_done > before.progress.items_done
