"""Swapping a folder for another one in one step, so that whoever looks sees the old tree or the new one."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from noeira_tui.core.renaming import UNSUPPORTED, exchange_names

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
    code = exchange_names(staged, dest)
    if code == 0:
        return staged
    if code not in UNSUPPORTED:
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
