"""Unpacking a pack while it is downloaded, so that both take no longer than the slower one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.assets.compression import check_whole, compression_of
from noeira_tui.assets.contents import Unpacked
from noeira_tui.assets.twin import Twin
from noeira_tui.assets.unpack import RoomFor, unpack, unpack_arriving
from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.progress import CancelToken

if TYPE_CHECKING:
    from noeira_tui.transfer.follow import FrontReader


class ArrivingPack:
    """Unpacks what arrives into `tree`, for a download's tap. What comes of it counts only once all was verified.

    With `twin_at`, a tree of links to it is made there too, see `twin`.
    """

    def __init__(self, tree: Path, cancel: CancelToken, room_for: RoomFor, twin_at: Path | None = None) -> None:
        self._tree = tree
        self._twin_at = twin_at
        self.twin: Twin | None = None
        self._cancel = cancel
        self._room_for = room_for
        self._unpacked: Unpacked | None = None

    def __call__(self, arriving: FrontReader) -> None:
        """Unpack an attempt; whatever goes wrong is found again, and told, when the whole file is unpacked."""
        self._start_again()
        size = arriving.size_bytes
        if size is None:
            return
        try:
            self._unpacked = unpack_arriving(
                arriving, size, self._tree, cancel=self._cancel, room_for=self._room_for, twin=self.twin
            )
        except (NoeiraError, OSError):
            self._start_again()

    def result(self, archive: Path) -> Unpacked:
        """What the verified archive holds, unpacked in `tree`. Raises as `unpack` does."""
        if self._unpacked is not None:
            with archive.open("rb") as stream:
                check_whole(stream, compression_of(stream.read(8)))
            return self._unpacked
        self._start_again()
        return unpack(archive, self._tree, cancel=self._cancel, room_for=self._room_for, twin=self.twin)

    def _start_again(self) -> None:
        self._unpacked = None
        if self._tree.exists():
            shutil.rmtree(self._tree)
        if self._twin_at is not None:
            if self.twin is not None:
                self.twin.remove()
            self.twin = Twin(self._twin_at)
