"""Swapping a folder for another one in one step, so that whoever looks sees the old tree or the new one."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})
STAGED = ".noeira-new"
RETIRED = ".noeira-old"


def swap_in(staged: Path, dest: Path) -> Path | None:
    """Give the tree `staged` the name `dest`; where the old tree is then, None when there was none.

    Raises OSError; then `dest` is as it was.
    """
    try:
        # Over nothing, or over an empty folder.
        staged.rename(dest)
    except OSError as err:
        if err.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
    else:
        return None
    code = _exchange(os.fsencode(staged), os.fsencode(dest))
    if code == 0:
        return staged
    if code not in _UNSUPPORTED:
        raise OSError(code, os.strerror(code), str(dest))
    # Two steps where the file system has no exchange; who is killed between them leaves both trees, named.
    retired = staged.with_name(staged.name.removesuffix(STAGED) + RETIRED)
    dest.rename(retired)
    try:
        staged.rename(dest)
    except OSError:
        retired.rename(dest)
        raise
    return retired


def _exchange(one: bytes, other: bytes) -> int:
    """The errno of an exchange of two names, 0 when it was done."""
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            failed = library.renamex_np(one, other, _RENAME_SWAP)
        else:
            failed = library.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE)
    except AttributeError:
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0
