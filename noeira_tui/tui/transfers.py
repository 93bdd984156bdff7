"""Pull, push and watch: what is asked first, and which jobs start then. The box is asked beside the app."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.assets.status import PackStatus
from noeira_tui.core.states import State
from noeira_tui.jobs.records import JobRecord
from noeira_tui.overview.picture import DatasetView, RecordingView
from noeira_tui.tui import figures, things
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.things import Thing, name_of

if TYPE_CHECKING:
    from noeira_tui.tui.screens.main import MainScreen

Judged = tuple[Thing, str | None]
"""A thing and why the box refuses it, None when it does not."""

Start = Callable[[], JobRecord]


class Transfers:
    """Starts the jobs that move things."""

    def __init__(self, screen: MainScreen, box: BoxLike) -> None:
        self._screen = screen
        self._box = box

    def chosen(self) -> list[Thing]:
        """The marked things, else the highlighted one."""
        rows = self._screen.list
        marked = [row for row in rows.rows if row.key in rows.marked]
        found = [things.thing_of(row) for row in marked or [row for row in (rows.current,) if row]]
        return [thing for thing in found if thing is not None]

    def judge(
        self,
        chosen: Sequence[Thing],
        judge: Callable[[Thing], str | None],
        done: str,
        then: Callable[[list[Thing]], None],
    ) -> None:
        """Ask the box about each; tell what it refuses, go on with the rest where there is any."""

        def judged(found: list[Judged]) -> None:
            allowed = self._allowed(found, done)
            if allowed:
                then(allowed)

        self._screen.errands.run(lambda: [(thing, judge(thing)) for thing in chosen], judged)

    def _allowed(self, judged: list[Judged], done: str) -> list[Thing]:
        refused = [(thing, reason) for thing, reason in judged if reason is not None]
        if len(judged) == 1 and refused:
            self._screen.tell(str(refused[0][1]), title=name_of(refused[0][0]), severity="warning")
        elif refused:
            reasons = "; ".join(f"{name_of(thing)}: {reason}" for thing, reason in refused)
            self._screen.tell(reasons, title=f"{len(refused)} of {len(judged)} not {done}", severity="warning")
        return [thing for thing, reason in judged if reason is None]

    # Pull

    def pull(self) -> None:
        """Fetch what is marked or highlighted."""
        self._pull_of(self.chosen())

    def pull_packs(self) -> None:
        """Fetch every pack that is declared and not whole here."""
        self._pull_of(list(self._screen.board.packs_to_fetch()))

    def _pull_of(self, chosen: Sequence[Thing]) -> None:
        self.judge(chosen, partial(things.pull_refusal, self._box), "pulled", self._ask_for_projects)

    def _ask_for_projects(self, allowed: list[Thing]) -> None:
        """Ask before a project is made here that this box lacks."""
        overview = self._screen.board.overview
        here = {project.project for project in overview.projects if project.here} if overview else set()
        recordings = [thing for thing in allowed if isinstance(thing, RecordingView)]
        lacking = [view for view in recordings if view.project not in here]
        if not lacking:
            self._ask_to_overwrite(allowed, frozenset())
            return
        projects, glyphs = sorted({view.project for view in lacking}), self._screen.board.glyphs
        where = overview.projects_dir if overview else ""
        self._confirm(
            f"Make {figures.count(len(projects), 'project')} on this box?",
            [
                f"A recording goes into its project's folder below {where}. This box lacks: {', '.join(projects)}.",
                *(
                    f"{name_of(view)}, {figures.size(view.bytes_to_fetch or view.size_bytes, glyphs)}"
                    for view in lacking
                ),
            ],
            "Make and pull",
            lambda: self._ask_to_overwrite(allowed, frozenset(projects)),
        )

    def _ask_to_overwrite(self, allowed: list[Thing], made: frozenset[str]) -> None:
        losing = [thing for thing in allowed if things.pull_loses(thing)]
        if not losing:
            self._start_pulls(allowed, made)
            return
        what = "file" if all(isinstance(thing, DatasetView) for thing in losing) else "item"
        self._confirm(
            f"Overwrite {figures.count(len(losing), what)} that changed here?",
            [
                "The service does not have these contents; they would be lost.",
                *(line for thing in losing for line in things.lost_by_pull(thing)),
            ],
            "Overwrite",
            lambda: self._start_pulls(allowed, made),
        )

    def _start_pulls(self, allowed: list[Thing], made: frozenset[str]) -> None:
        box, starts = self._box, list[Start]()
        for thing in allowed:
            if isinstance(thing, DatasetView):
                starts.append(partial(box.pull, thing.id, force=things.pull_loses(thing)))
            elif isinstance(thing, RecordingView):
                make, force = thing.project in made, things.pull_loses(thing)
                starts.append(partial(box.pull_recording, thing, create_project=make, force=force))
        # One job a pull of packs: they share what they fetch. Only those that were asked about are overwritten.
        packs = [thing for thing in allowed if isinstance(thing, PackStatus)]
        for force in (False, True):
            those = tuple(pack for pack in packs if things.pull_loses(pack) is force)
            if those:
                starts.append(partial(box.pull_packs, those, force=force))
        self._start(starts, "Pulling")

    # Push

    def push(self) -> None:
        """Send what is marked or highlighted."""
        self.judge(self.chosen(), partial(things.push_refusal, self._box), "pushed", self._push_allowed)

    def _push_allowed(self, allowed: list[Thing]) -> None:
        sendable = [thing for thing in allowed if isinstance(thing, RecordingView) or _has_name(thing)]
        nameless = [thing for thing in allowed if isinstance(thing, DatasetView) and not _has_name(thing)]
        if nameless and len(allowed) == 1:
            self._ask_name(nameless[0])
            return
        if nameless:
            self._screen.tell(
                f"{figures.count(len(nameless), 'file')} without a name in the catalog: push each by itself.",
                severity="warning",
            )
        if not sendable:
            return
        diverged = [thing for thing in sendable if thing.state is State.DIVERGED]
        starts = [self._push_start(thing, force=thing.state is State.DIVERGED) for thing in sendable]
        if not diverged:
            self._start(starts, "Pushing")
            return
        self._confirm(
            "Replace what the service has?",
            [
                "Both sides changed: its contents would be replaced by the ones here.",
                *(
                    line
                    for thing in diverged
                    if not isinstance(thing, PackStatus)
                    for line in things.lost_by_push(thing)
                ),
            ],
            "Replace",
            lambda: self._start(starts, "Pushing"),
        )

    def _push_start(self, thing: Thing, *, force: bool = False) -> Start:
        if isinstance(thing, RecordingView):
            return partial(self._box.push_recording, thing, force=force)
        assert isinstance(thing, DatasetView)
        return partial(self._box.push, thing)

    def _ask_name(self, dataset: DatasetView) -> None:
        from noeira_tui.tui.modals.push_name import PushNameDialog

        def named(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                name, version = answer
                self._start([partial(self._box.push_as, dataset, name, version)], "Pushing")

        self._screen.app.push_screen(PushNameDialog(dataset, self._screen.board.glyphs), named)

    def push_unsent(self) -> None:
        """Send what would be lost with this box: list it, ask once, then start all of it."""
        board = self._screen.board
        if board.overview is None:
            return
        unsent = [thing for thing in things.unsent_things(board.overview) if not self._is_watched(thing)]
        if not unsent:
            self._screen.tell("All of it is on its way: the watches send it.")
        self.judge(unsent, partial(things.push_refusal, self._box), "pushed", self._ask_to_push_unsent)

    def _is_watched(self, thing: Thing) -> bool:
        return isinstance(thing, RecordingView) and self._screen.board.watch_of(thing) is not None

    def _ask_to_push_unsent(self, allowed: list[Thing]) -> None:
        board = self._screen.board
        taken = {view.id for view in board.overview.datasets if view.name} if board.overview else set()
        starts, lines = list[Start](), list[str]()
        watched = filter(self._is_watched, things.unsent_things(board.overview) if board.overview else ())
        left = [f"{name_of(thing)}: its watch sends it" for thing in watched]
        total = 0
        for thing in allowed:
            assert isinstance(thing, RecordingView | DatasetView)
            size = figures.size(thing.unsent_bytes, board.glyphs)
            if thing.state is State.DIVERGED:
                choose = f"{board.glyphs.key('push')} or {board.glyphs.key('pull')}"
                left.append(f"{name_of(thing)}: both sides changed; choose with {choose}")
                continue
            if isinstance(thing, RecordingView) or _has_name(thing):
                starts.append(self._push_start(thing))
                lines.append(f"{name_of(thing)}, {size}")
            else:
                found = things.free_name(thing, taken)
                if found is None:
                    push = board.glyphs.key("push")
                    left.append(f"{name_of(thing)}: the catalog would refuse its name; push it with {push}")
                    continue
                taken.add("-".join(found))
                starts.append(partial(self._box.push_as, thing, *found))
                lines.append(f"{name_of(thing)} as {'-'.join(found)}, {size}")
            total += thing.unsent_bytes
        if not starts:
            self._screen.tell("; ".join(left), title="Nothing can be pushed without a choice", severity="warning")
            return
        self._confirm(
            f"Push {figures.count(len(starts), 'item')}, {figures.size(total, board.glyphs)}?",
            ["What would be lost with this box:", *lines, *(["", "Left as they are:", *left] if left else [])],
            "Push",
            lambda: self._start(starts, "Pushing"),
        )

    # Watch

    def watch(self) -> None:
        """Watch what is marked or highlighted; when all of it is watched already, stop that."""
        board = self._screen.board

        def toggle(allowed: list[Thing]) -> None:
            views = [thing for thing in allowed if isinstance(thing, RecordingView)]
            watched = [view for view in views if board.watch_of(view) is not None]
            if len(watched) == len(views):
                self._unwatch(watched)
            else:
                fresh = [view for view in views if view not in watched]
                self._start([partial(self._box.watch, view) for view in fresh], "Watching")

        self.judge(self.chosen(), partial(things.watch_refusal, self._box), "watched", toggle)

    def _unwatch(self, views: list[RecordingView]) -> None:
        def ended(_: object) -> None:
            self._done_with_marks()
            self._screen.tell(f"No longer watched: {', '.join(name_of(view) for view in views)}")

        self._screen.errands.run(lambda: [self._box.unwatch(view) for view in views], ended)

    # What they share

    def _start(self, starts: Iterable[Start], doing: str) -> None:
        def started(jobs: list[JobRecord]) -> None:
            self._done_with_marks()
            targets = ", ".join(job.spec.target for job in jobs[:3])
            more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
            self._screen.tell(f"{doing} {targets}{more}")

        self._screen.errands.run(lambda: [start() for start in starts], started)

    def _done_with_marks(self) -> None:
        self._screen.list.clear_marks()
        self._screen.painter.paint_lists()
        self._screen.painter.paint_row()

    def _confirm(self, question: str, lines: list[str], yes: str, then: Callable[[], None]) -> None:
        from noeira_tui.tui.modals.confirm import ConfirmDialog

        def answered(agreed: bool | None) -> None:
            if agreed:
                then()

        self._screen.app.push_screen(ConfirmDialog(question, lines, yes, self._screen.board.glyphs), answered)


def _has_name(thing: Thing) -> bool:
    return isinstance(thing, DatasetView) and bool(thing.name and thing.version)
