"""Freeing space: what the service holds with the same bytes, the cache of packs, old jobs. Proof first, then a yes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from noeira_tui.core.errors import CancelledError, NoeiraError
from noeira_tui.overview.freeing import Proven
from noeira_tui.overview.picture import DatasetView, RecordingView
from noeira_tui.overview.space import OldJobs
from noeira_tui.tui import figures, things
from noeira_tui.tui.ports import BoxLike
from noeira_tui.tui.rows import Place
from noeira_tui.tui.things import Thing, name_of
from noeira_tui.tui.transfers import Transfers

if TYPE_CHECKING:
    from collections.abc import Callable

    from noeira_tui.assets.keep import CachedPack
    from noeira_tui.tui.screens.main import MainScreen

WORD = "free"
"""What one types to agree."""

_NAMED = 40

Judged = tuple[Proven | None, str]
"""A proof, or why there is none."""


class Freeing:
    """What `x` does in each list."""

    def __init__(self, screen: MainScreen, box: BoxLike, transfers: Transfers) -> None:
        self._screen = screen
        self._box = box
        self._transfers = transfers

    def free(self) -> None:
        """Free what is marked or highlighted; among the packs what the cache holds for nobody, among jobs old ones."""
        if self._screen.place is Place.PACKS:
            self._screen.errands.run(self._unused_cache, self._ask_cache)
        elif self._screen.place is Place.JOBS:
            self._screen.errands.run(self._old_jobs, self._ask_jobs)
        else:
            judge = partial(things.free_refusal, self._box)
            self._transfers.judge(self._transfers.chosen(), judge, "freed", self._prove)

    # Copies

    def _prove(self, allowed: list[Thing]) -> None:
        views = [thing for thing in allowed if isinstance(thing, DatasetView | RecordingView)]
        work = self._screen.background
        name = name_of(views[0]) if len(views) == 1 else figures.count(len(views), "copy", "copies")
        work.start(
            "comparing",
            name,
            lambda: [self._proof(view) for view in views],
            self._proven,
            "Stopped: nothing was removed.",
        )

    def _proof(self, view: DatasetView | RecordingView) -> Judged:
        """In a thread: prove one copy, or say why that cannot be. Raises CancelledError."""
        work = self._screen.background
        try:
            return self._box.space.prove(view, progress=work.go_on_with(name_of(view)), cancel=work.cancel), ""
        except CancelledError:
            raise
        except NoeiraError as err:
            return None, f"{name_of(view)}: {err.message} {err.hint}".rstrip()

    def _proven(self, found: Sequence[Judged]) -> None:
        proven = [one for one, _ in found if one is not None]
        left = [why for one, why in found if one is None]
        if not proven:
            self._screen.show_error(NoeiraError("\n".join(left), title="Nothing can be freed"))
            return
        size = figures.size(sum(one.size_bytes for one in proven), self._screen.board.glyphs)
        files = figures.count(sum(one.files for one in proven), "file")
        pull = self._screen.board.glyphs.key("pull")
        lines = [
            f"The service holds the same bytes: every file was hashed and compared just now. {pull} fetches it again."
        ]
        lines += self._named(f"{one.name}, {self._size(one.size_bytes)}: {one.path}" for one in proven)
        lines += ["", "Left as they are:", *left] if left else []
        copies = figures.count(len(proven), "copy", "copies")
        self._ask(f"Free {copies}, {files}, {size}?", lines, partial(self._remove, proven))

    def _remove(self, proven: Sequence[Proven]) -> None:
        def remove() -> list[tuple[Proven, str]]:
            return [(one, self._removed(one)) for one in proven]

        def removed(results: list[tuple[Proven, str]]) -> None:
            gone = [one for one, why in results if not why]
            failed = [f"{one.name}: {why}" for one, why in results if why]
            self._screen.list.clear_marks()
            if gone:
                size = self._size(sum(one.size_bytes for one in gone))
                self._screen.tell(f"Freed {size}: {', '.join(one.name for one in gone)}")
            if failed:
                self._screen.show_error(NoeiraError("\n".join(failed), title="Not everything was freed"))
            self._screen.watcher.look_now()

        self._screen.errands.run(remove, removed)

    def _removed(self, one: Proven) -> str:
        """In a thread: remove one copy; why not, or nothing."""
        try:
            self._box.space.free(one)
        except NoeiraError as err:
            return f"{err.message} {err.hint}".rstrip()
        return ""

    # The cache, and jobs

    def _unused_cache(self) -> tuple[CachedPack, ...]:
        return self._box.space.unused_cache()

    def _old_jobs(self) -> OldJobs:
        return self._box.space.old_jobs()

    def _ask_cache(self, unused: Sequence[CachedPack]) -> None:
        if not unused:
            self._screen.tell("The cache of asset packs holds nothing that nobody uses.")
            return
        total = self._size(sum(held.size_bytes for held in unused))
        lines = ["Nothing links to these; a pull fetches them again."]
        lines += self._named(
            f"{', '.join(held.titles) or ('unfinished ' if held.is_leftover else '') + held.path.name[:16]}, "
            f"{self._size(held.size_bytes)}"
            for held in unused
        )
        files = figures.count(sum(held.files for held in unused), "file")

        def prune() -> None:
            self._screen.errands.run(lambda: self._box.space.prune_cache(unused), freed)

        def freed(size_bytes: int) -> None:
            self._screen.tell(f"Freed {self._size(size_bytes)} of the cache of asset packs")
            self._screen.watcher.look_now()

        cached = figures.count(len(unused), "cached pack")
        self._ask(f"Free {cached}, {files}, {total}?", lines, prune)

    def _ask_jobs(self, old: OldJobs) -> None:
        if not old.ids:
            self._screen.tell(
                f"There are no old jobs. Failed ones are kept for {self._screen.board.glyphs.key('retry')}."
            )
            return
        lines = [
            "Jobs that are done or were cancelled go for good, with their logs. What they moved stays; failed jobs are "
            f"kept for {self._screen.board.glyphs.key('retry')}."
        ]

        def forget() -> None:
            self._screen.errands.run(lambda: self._box.space.forget_jobs(old), forgotten)

        def forgotten(number: int) -> None:
            self._screen.tell(f"Removed {figures.count(number, 'old job')} and their logs")

        jobs = figures.count(len(old.ids), "old job")
        self._ask(f"Remove {jobs} and {self._size(old.size_bytes)} of logs?", lines, forget)

    # What they share

    def _size(self, size_bytes: int) -> str:
        return figures.size(size_bytes, self._screen.board.glyphs)

    def _named(self, names: Iterable[str]) -> list[str]:
        told = list(names)
        return [*told[:_NAMED], f"and {len(told) - _NAMED:,} more"] if len(told) > _NAMED else told

    def _ask(self, question: str, lines: Sequence[str], then: Callable[[], None]) -> None:
        from noeira_tui.tui.modals.typed import TypedDialog

        def answered(agreed: bool | None) -> None:
            if agreed:
                then()

        self._screen.app.push_screen(TypedDialog(question, lines, WORD, self._screen.board.glyphs), answered)
