"""Being an ordinary user for a while: root may read and write everything, so permissions could not be tested."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder that an ordinary user owns, while this process acts as that user."""
    folder = Path(tempfile.mkdtemp(prefix="ordinary-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, _NOBODY, _NOBODY)
        os.setegid(_NOBODY)
        os.seteuid(_NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
            os.setegid(0)
        for path, folders, _ in os.walk(folder):
            for name in folders:
                (Path(path) / name).chmod(0o700)
        shutil.rmtree(folder)
