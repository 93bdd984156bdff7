"""File events of a recording's folders, as hints: where none come, or too few, a rescan tells the truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from noeira_tui.core.progress import CancelToken

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

_DEBOUNCE_MS = 400
_STEP_MS = 100


class Hints(Protocol):
    """Where a watch hears that something may have changed."""

    def watch(self, folders: Collection[str]) -> bool:
        """Listen to these folders, relative to the recording's, from now on. True when that had to begin anew: what
        happened until now may not be told."""
        ...

    def wait(self, seconds: float, cancel: CancelToken) -> set[str]:
        """Relative paths that changed; nothing after `seconds`. Raises CancelledError."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class FileEvents:
    """The system's own file events. `notice` hears once why there are none."""

    def __init__(self, folder: Path, notice: Callable[[str], None]) -> None:
        self._root = str(folder)
        self._notice = notice
        self._listening: frozenset[str] | None = None
        self._rust: RustNotify | None = None
        self._noticed = False

    @property
    def works(self) -> bool:
        """Whether the system took the folders."""
        return self._rust is not None

    def watch(self, folders: Collection[str]) -> bool:
        wanted = frozenset(folders)
        if wanted == self._listening:
            return False
        self.close()
        self._listening = wanted
        places = [self._root, *(f"{self._root}/{path}" for path in sorted(wanted))]
        try:
            from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError
        except ImportError as err:
            self._without(f"watchfiles cannot be loaded ({err})")
            return True
        try:
            self._rust = RustNotify(
                [place for place in places if os.path.isdir(place)],  # noqa: PTH112
                debug=False,
                force_polling=False,
                poll_delay_ms=300,
                recursive=False,
                ignore_permission_denied=True,
            )
        except (OSError, WatchfilesRustInternalError) as err:
            self._without(f"the system gives no file events here ({err})")
        return True

    def wait(self, seconds: float, cancel: CancelToken) -> set[str]:
        cancel.check()
        if self._rust is None:
            cancel.sleep(seconds)
            return set()
        told = self._rust.watch(_DEBOUNCE_MS, _STEP_MS, max(1, int(seconds * 1000)), _Stop(cancel))
        cancel.check()
        if isinstance(told, str):
            return set()
        start = len(self._root) + 1
        return {path[start:] for _, path in told if path.startswith(self._root)}

    def close(self) -> None:
        if self._rust is not None:
            self._rust.close()
        self._rust = None
        self._listening = None

    def _without(self, why: str) -> None:
        if not self._noticed:
            self._notice(f"{why}; changes are found by looking again and again")
        self._noticed = True


class _Stop:
    def __init__(self, cancel: CancelToken) -> None:
        self._cancel = cancel

    def is_set(self) -> bool:
        return self._cancel.is_cancelled or self._cancel.is_paused
