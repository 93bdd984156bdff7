"""One pass of a push: announce, send with `info.json` last, commit a revision; readers never get half of something."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from noeira_tui.catalog.recordingfiles import NotStored
from noeira_tui.core.errors import DatasetError, RefusedError
from noeira_tui.recordings.compare import FileComparison, FileState
from noeira_tui.recordings.layout import INFO
from noeira_tui.recordings.mirror import Mirror, ready_rows
from noeira_tui.recordings.outcome import Failure, Held
from noeira_tui.recordings.projects import parse_project
from noeira_tui.recordings.push_plan import PushPlan
from noeira_tui.recordings.read import LocalRecording
from noeira_tui.recordings.send import Sender
from noeira_tui.recordings.settle import needed_by_info
from noeira_tui.recordings.spool import spooled
from noeira_tui.recordings.tree import Stamp

_MAX_DESCRIPTION = 4096


def _description(definition: Path) -> str | None:
    try:
        text = parse_project(definition.read_bytes()).description
    except OSError as err:
        raise DatasetError(f"{definition} cannot be read: {err.strerror or err}.", title="Project") from err
    if text is None:
        return None
    return "".join(character if character.isprintable() else " " for character in text).strip()[:_MAX_DESCRIPTION]


_Counts = tuple[int | None, int | None, float | None]


def _counts(local: LocalRecording) -> _Counts:
    """Episodes, frames and fps of what can be read."""
    episodes = local.readable_episodes
    frames = local.tables.frames if local.tables is not None and episodes != local.episodes else local.frames
    return episodes, frames, local.fps


class PushPass:
    """One pass of a push: it does what a plan says, and tells what it has done so far."""

    def __init__(self, mirror: Mirror, plan: PushPlan) -> None:
        self._mirror = mirror
        self._plan = plan
        self.there = {path: row.sha256 or "" for path, row in ready_rows(plan.answer).items()}
        stamps = {file.path: file.stamp for file in plan.local.files}
        self.sender = Sender(mirror, stamps, None if plan.force else self.there)
        self.held: list[Held] = []
        self.failed: list[Failure] = []
        self.made_project = False
        told = plan.answer.recording if plan.answer is not None else None
        self._told: _Counts | None = None if told is None else (told.n_episodes, told.n_frames, told.fps)
        self.repeat = False
        self.revision = plan.answer.revision if plan.answer is not None else None

    def announce(self) -> None:
        """Tell the service of the recording, unless it knows; a project that is not there is made.

        What is told is what readers get: beside a first word, the counts go with the `info.json` that has them.
        """
        mirror, counts = self._mirror, _counts(self._plan.local)
        if self._told == counts:
            return
        episodes, frames, fps = counts
        try:
            mirror.files.announce(n_episodes=episodes, n_frames=frames, fps=fps)
        except RefusedError as err:
            if err.status != 404:
                raise
            mirror.client.put_project(mirror.project, _description(mirror.definition))
            mirror.files.announce(n_episodes=episodes, n_frames=frames, fps=fps)
            self.made_project = True
        self._told = counts

    def send(self) -> None:
        """Videos and data, then `meta/`, `info.json` last; each only when what it needs has arrived."""
        files = self._plan.sends
        closing = [file for file in files if file.path.startswith("meta/")]
        with spooled(self._mirror.folder, closing) as copies:
            self.sender.send([file for file in files if not file.path.startswith("meta/")])
            if copies is None:
                self.repeat = True
                self._hold(closing, "meta/ changed meanwhile")
            elif not self._needed_arrived():
                self._hold(closing, "what it names did not arrive")
            else:
                self.sender.copies = copies
                self._send_closing(closing)
        self.repeat = self.repeat or (bool(closing) and self._meta_changed())

    def _send_closing(self, closing: Sequence[FileComparison]) -> None:
        self.sender.send([file for file in closing if file.path != INFO])
        info = [file for file in closing if file.path == INFO]
        if not self._needed_arrived():
            self._hold(info, "what it names did not arrive")
        elif info and not self.sender.copies and self._meta_changed():
            self._hold(info, "meta/ changed meanwhile")
        elif info:
            self.announce()
            self.sender.send(info)
        elif self._has_our_info():
            # Whoever sent it was killed before, or the counts were told by another box.
            self.announce()

    def _has_our_info(self) -> bool:
        local = self._plan.local
        return local.readable_episodes == local.episodes and any(
            file.path == INFO and file.state is FileState.CURRENT for file in self._plan.compared.files
        )

    def commit(self) -> None:
        """Commit a revision when readers would get something new and whole."""
        if not self._mirror.files.keeps_revisions or not self._is_whole():
            return
        manifest = self.there | self.sender.sent
        text = json.dumps(sorted(manifest.items()))
        whole = self._mirror.synced.whole
        signature = hashlib.sha256(text.encode()).hexdigest()
        if not self.sender.sent and whole.manifest == signature:
            return
        told = self._mirror.files.commit(
            manifest, n_episodes=self._plan.local.readable_episodes, n_frames=self._plan.local.frames
        )
        if isinstance(told, NotStored):
            self.failed += [Failure(path, "the service does not have it any more") for path in told.paths]
            return
        self.revision = told.revision
        self._mirror.synced.equal(replace(whole, manifest=signature))

    def _is_whole(self) -> bool:
        """Whether `info.json` and all that it needs are there in the contents that were compared."""
        wanted = needed_by_info(self._plan.local) | {INFO}
        states = {file.path: file.state for file in self._plan.compared.files}
        there = self.there.keys() | self.sender.sent.keys()
        if not wanted <= there:
            return False
        unsent = {file.path for file in self._plan.sends} - self.sender.sent.keys()
        return not any(
            path in unsent or states.get(path) not in {FileState.CURRENT, FileState.AHEAD, FileState.MISSING}
            for path in wanted
        )

    def _needed_arrived(self) -> bool:
        troubled = {item.path for item in self.sender.failed} | {item.path for item in self.sender.held}
        return not troubled & needed_by_info(self._plan.local)

    def _meta_changed(self) -> bool:
        for file in self._plan.local.files:
            if not file.path.startswith("meta/"):
                continue
            try:
                stat = (self._mirror.folder / file.path).stat()
            except OSError:
                return True
            if Stamp.of(stat) != file.stamp:
                return True
        return False

    def _hold(self, files: Iterable[FileComparison], reason: str) -> None:
        self.held += [Held(file.path, reason) for file in files]
