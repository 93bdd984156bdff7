"""Whether this program was replaced on disk since it started: parts that load later would be of another version."""

from __future__ import annotations

import os
import re
import sys

from noeira_tui.core.errors import NoeiraError

Stamp = tuple[int, int, int]

_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)[\"']", re.MULTILINE)
RESTART = "Restart it: leave it, then run noeira-tui again. Jobs go on meanwhile."


class Installed:
    """Remembers the file that tells the version, as it was when this process began.

    `pip install` replaces every file of a package, so one of them is enough to look at; a file that is gone counts as
    replaced too. Once replaced it stays so: what is loaded already is old. May be asked from any thread.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._began_with = _stamp(path)
        self.was_replaced = False
        """What the last `look` found."""

    def look(self) -> bool:
        """Look at the disk now: whether the program was replaced."""
        self.was_replaced = self.was_replaced or _stamp(self._path) != self._began_with
        return self.was_replaced

    def told(self) -> str:
        """What there is to say about it."""
        version = self._version()
        now = "removed" if version is None else f"updated to {version}" if version else "updated"
        return f"noeira-tui was {now} while it runs."

    def error(self) -> NoeiraError:
        """What a fault means when the program was replaced: its old and its new parts do not fit together."""
        return NoeiraError(self.told(), title="Updated", hint=RESTART)

    def _version(self) -> str | None:
        """The version on disk now; empty when it is the same or cannot be told, None when nothing is there."""
        try:
            with open(self._path, encoding="utf-8") as file:  # noqa: PTH123  a path of the import system
                found = _VERSION.search(file.read())
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            return ""
        return found[1] if found and found[1] != _running_version() else ""


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116  at the start of every process
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _running_version() -> str:
    # Not imported here: the package names all of its parts, and the core depends on none.
    return str(getattr(sys.modules.get("noeira_tui"), "__version__", ""))


PROGRAM = Installed(os.path.join(os.path.dirname(os.path.dirname(__file__)), "__init__.py"))  # noqa: PTH118, PTH120
"""This process's own."""
