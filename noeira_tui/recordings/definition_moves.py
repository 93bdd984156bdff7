"""Moving single definition files: offer, upload, complete; download, verify, replace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from noeira_tui.catalog.definitions import Conflict, DefinitionFiles, DefinitionOffer
from noeira_tui.core.errors import (
    CancelledError,
    DestinationError,
    NoeiraError,
    SourceChangedError,
    StateError,
    UnreachableError,
)
from noeira_tui.core.presigned import FixedUrl
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.recordings.definition_bases import BaseDigests
from noeira_tui.recordings.definition_files import destination
from noeira_tui.recordings.definition_outcome import DefinitionConflict, DefinitionFailure, Tally
from noeira_tui.recordings.definition_plan import Direction, Step
from noeira_tui.transfer.facts import FileStamp, Replace, TransferContext, Wanted


class Mover:
    """Moves the files of one plan one after the other, noting in a `Tally` what became of each."""

    def __init__(
        self,
        files: DefinitionFiles,
        folder: Path,
        *,
        progress: Progress,
        cancel: CancelToken,
        context: TransferContext,
    ) -> None:
        self._files = files
        self._folder = folder
        self._progress = progress
        self._cancel = cancel
        self._context = context
        self._bases = BaseDigests(folder)
        self.tally = Tally()

    def move_all(self, direction: Direction, steps: tuple[Step, ...]) -> None:
        """Move every file; a conflict or a failure stops no other. What moved is remembered at once.

        Raises CancelledError between two files or inside one.
        """
        move: Callable[[Step], str | None] = self._send if direction is Direction.PUSH else self._fetch
        self._progress.expect(items=len(steps), size_bytes=sum(step.size_bytes for step in steps))
        gone: UnreachableError | None = None
        for step in steps:
            self._cancel.check()
            self._progress.enter(step.path)
            try:
                if gone is not None:
                    raise gone
                digest = move(step)
            except CancelledError:
                raise
            except NoeiraError as err:
                # Waiting again for every file, for a service that is gone, would help nobody.
                gone = err if isinstance(err, UnreachableError) else None
                self.tally.failed.append(DefinitionFailure(step.path, f"{err.title}: {err.message}"))
            else:
                if digest is not None:
                    self.tally.moved.append(step.path)
                    self.remember({step.path: digest})
            self._progress.item_done()
            self._progress.advance(step.size_bytes)

    def remember(self, equal: Mapping[str, str]) -> None:
        """Note files that are equal on both sides now, path → sha256. Where that fails, only memory is lost."""
        try:
            self._bases.remember(equal)
        except StateError as err:
            warning = f"{err.message} {err.hint}"
            if warning not in self.tally.warnings:
                self.tally.warnings.append(warning)

    def _send(self, step: Step) -> str | None:
        """The digest both sides have now; None for a conflict. The base is what the plan saw on the service."""
        from noeira_tui.transfer.upload import upload

        assert step.here is not None, "a push moves what is here"
        offer = DefinitionOffer(step.path, step.here, step.size_bytes, step.there)
        answer = self._files.offer(offer)
        if isinstance(answer, Conflict):
            self._note_conflict(step, answer)
            return None
        if answer is not None:
            sent = upload(self._folder / step.path, FixedUrl(answer), cancel=self._cancel, context=self._context)
            self.tally.bytes_transferred += sent.bytes_transferred
            if (sent.sha256, sent.size_bytes) != (step.here, step.size_bytes):
                raise SourceChangedError(
                    f"{step.path} changed after it was compared, and was not completed; push again."
                )
            conflict = self._files.complete(offer)
            if conflict is not None:
                self._note_conflict(step, conflict)
                return None
        return step.here

    def _note_conflict(self, step: Step, conflict: Conflict) -> None:
        self.tally.conflicts.append(DefinitionConflict(step.path, step.here, conflict.current_sha256, step.base))

    def _fetch(self, step: Step) -> str:
        """The digest both sides have now. Only the file that was compared is replaced, by verified contents."""
        from noeira_tui.transfer.download import download

        assert step.there is not None and step.download is not None, "a pull moves what the service has"
        dest = destination(self._folder, step.path)
        try:
            dest.parent.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise DestinationError(f"{dest.parent} cannot be made: {err.strerror or err}.") from err
        try:
            done = download(
                FixedUrl(step.download),
                dest,
                Wanted(step.there, step.size_bytes),
                replace=Replace(stamp=step.stamp),
                cancel=self._cancel,
                context=self._context,
            )
        except DestinationError as err:
            if _stamp(dest) == step.stamp:
                raise
            raise SourceChangedError(
                f"{step.path} changed here after it was compared, and was left as it is; pull again."
            ) from err
        self.tally.bytes_transferred += done.bytes_transferred
        return step.there


def _stamp(path: Path) -> FileStamp | None:
    try:
        return FileStamp.of(path.stat())
    except OSError:
        return None
