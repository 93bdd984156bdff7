"""Renames with a condition, which the standard library does not have: the system calls, or word that there are none."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100

UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})
"""What a file system or a system says that cannot rename in this way: do it in another one."""


def rename_exclusively(source: Path, dest: Path) -> int:
    """Rename to a name that must be free. The errno, 0 when it was done."""
    return _rename(source, dest, linux=1, darwin=4)


def exchange_names(one: Path, other: Path) -> int:
    """Let two names change places in one step. The errno, 0 when it was done."""
    return _rename(one, other, linux=2, darwin=2)


def _rename(one: Path, other: Path, *, linux: int, darwin: int) -> int:
    """`renameat2` with one of its flags, or what macOS has for it; ENOSYS where the system has neither."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, darwin)
        else:
            failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], linux)
    except AttributeError:
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0
