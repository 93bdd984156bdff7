"""Rejecting episodes of recordings on this box, after a question with counts, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from noeira_tui.core.progress import CancelToken
from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import Glyphs

if TYPE_CHECKING:
    from textual.app import App

    from noeira_tui.datasets.source import Resolvers
    from noeira_tui.recordings.rejected import RejectedEdit
    from noeira_tui.tui.threads import Errands

_NAMED = 12
"""Episodes that a question names of one recording."""

LEROBOT = "lerobot-v3"


class Host(Protocol):
    """The screen that asks."""

    @property
    def app(self) -> App[object]: ...
    @property
    def glyphs(self) -> Glyphs: ...
    @property
    def errands(self) -> Errands: ...
    def tell(self, text: str, *, severity: str = "information") -> None: ...


Chosen = Mapping[str, frozenset[int]]
"""Numbers of episodes by the address of their dataset."""


def local_folder(uri: str) -> Path | None:
    """The folder at an address; None for one that is not on this box."""
    from noeira_tui.datasets.source import scheme_of

    scheme = scheme_of(uri)
    return Path(uri.removeprefix("file://")) if scheme in {None, "file"} else None


def why_not_rejectable(uri: str, dataset_format: str) -> str | None:
    """Why episodes of a dataset cannot be rejected here, in words; reads nothing."""
    if local_folder(uri) is None:
        return "It is not on this box: only what is here can be rejected. Pull it and ingest the copy."
    if dataset_format != LEROBOT:
        return f"Only LeRobot v3 recordings have a list of rejected episodes; this is {dataset_format or 'another'}."
    return None


def rejected_of(uri: str, resolvers: Resolvers | None = None) -> frozenset[int]:
    """The rejected episodes of a dataset; none where there is no list, or it is damaged or cannot be read.

    Of a remote one it costs a small request, and one on the service is opened by `resolvers`. To be called in a thread.
    """
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.recordings.rejected import read_rejected

    folder = local_folder(uri)
    try:
        return read_rejected(folder) if folder is not None else rejected_there(uri, resolvers, CancelToken())
    except NoeiraError:
        # Damage is told when somebody wants to change it, a place out of reach by whoever looks at the dataset itself.
        return frozenset()


def rejected_there(uri: str, resolvers: Resolvers | None, cancel: CancelToken) -> frozenset[int]:
    """The rejected episodes of a remote dataset. Raises DatasetError, NetworkError, ServiceError, CancelledError."""
    from noeira_tui.datasets.source import open_source
    from noeira_tui.recordings.rejected import read_rejected_at

    source = open_source(uri, cancel=cancel, resolvers=resolvers)
    try:
        return read_rejected_at(source)
    finally:
        source.close()


class Rejecting:
    """What was rejected since the app was opened, so that it can be taken back. One for all screens."""

    def __init__(self, *, read_only: bool) -> None:
        self.read_only = read_only
        self._done: list[tuple[RejectedEdit, ...]] = []

    @property
    def undoable(self) -> int:
        """How many changes can be taken back."""
        return len(self._done)

    def ask(self, host: Host, chosen: Chosen, known: Chosen, then: Callable[[], None]) -> None:
        """Reject these episodes, or take them back when all of them are rejected, once that was agreed to.

        `known` are the rejected ones so far. `then` is called in the app's thread when it is written.
        """
        from noeira_tui.tui.modals.confirm import ConfirmDialog

        takes_back = all(episodes <= known.get(uri, frozenset()) for uri, episodes in chosen.items())
        changed = {
            uri: episodes if takes_back else episodes - known.get(uri, frozenset()) for uri, episodes in chosen.items()
        }
        changed = {uri: episodes for uri, episodes in changed.items() if episodes}
        if not changed:
            host.tell("None of them has a number in its dataset to be rejected by.", severity="warning")
            return
        count = sum(len(episodes) for episodes in changed.values())
        of = f" of {figures.count(len(changed), 'recording')}" if len(changed) > 1 else ""
        what = f"{figures.count(count, 'episode')}{of}"
        question = f"Take back the rejection of {what}?" if takes_back else f"Reject {what}?"
        who = ("It is", "It stays on disk and is") if count == 1 else ("They are", "They stay on disk and are")
        first = (
            f"{who[0]} trained on again." if takes_back else f"{who[1]} not trained on. The next push carries the list."
        )
        lines = [first, *(_told(uri, episodes, known, takes_back) for uri, episodes in sorted(changed.items()))]

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._write(host, changed, takes_back, then)

        yes = "Take back" if takes_back else "Reject"
        host.app.push_screen(ConfirmDialog(question, lines, yes, host.glyphs), answered)

    def _write(self, host: Host, changed: Chosen, takes_back: bool, then: Callable[[], None]) -> None:
        from noeira_tui.tui.modals.error import ErrorDialog

        done: list[RejectedEdit] = []

        def work() -> tuple[RejectedEdit, ...]:
            from noeira_tui.recordings.rejected import edit_rejected

            for uri, episodes in changed.items():
                folder = local_folder(uri)
                assert folder is not None, "asked only of what is here"
                edit = edit_rejected(folder, **{"keep" if takes_back else "reject": episodes})
                if edit.rejected or edit.kept:
                    done.append(edit)
            return tuple(done)

        def ended() -> None:
            if done:
                self._done.append(tuple(done))
            then()

        def written(edits: tuple[RejectedEdit, ...]) -> None:
            ended()
            count = sum(len(edit.rejected) + len(edit.kept) for edit in edits)
            verb = "trained on again" if takes_back else "rejected"
            host.tell(f"{figures.count(count, 'episode')} {verb}. u takes that back.")

        def failed(error: object) -> None:
            # Those before it were written.
            ended()
            host.app.push_screen(ErrorDialog(error, host.glyphs))  # type: ignore[arg-type]  # an errand's error

        host.errands.run(work, written, failed)

    def undo(self, host: Host, then: Callable[[], None]) -> None:
        """Take back the last change."""
        from noeira_tui.tui.modals.error import ErrorDialog

        if not self._done:
            return
        edits = self._done.pop()

        def work() -> int:
            from noeira_tui.recordings.rejected import undo_rejected

            for edit in edits:
                undo_rejected(edit)
            return sum(len(edit.rejected) + len(edit.kept) for edit in edits)

        def undone(count: int) -> None:
            then()
            host.tell(f"Taken back: {figures.count(count, 'episode')} as before.")

        def failed(error: object) -> None:
            then()
            host.app.push_screen(ErrorDialog(error, host.glyphs))  # type: ignore[arg-type]  # an errand's error

        host.errands.run(work, undone, failed)


def _told(uri: str, episodes: frozenset[int], known: Chosen, takes_back: bool) -> str:
    """One recording of a question: which episodes, and how many are rejected then."""
    numbers = sorted(episodes)
    named = ", ".join(str(number) for number in numbers[:_NAMED])
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    before = len(known.get(uri, frozenset()))
    after = before - len(episodes) if takes_back else before + len(episodes)
    name = uri.rstrip("/").rpartition("/")[2] or uri
    return f"{name}: {named}{more} ({before:,} rejected so far, {after:,} then)"
