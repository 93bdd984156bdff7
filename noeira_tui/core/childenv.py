"""The environment of a process that runs this package too."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path


def child_environment() -> dict[str, str]:
    """This process's environment, with what makes the package importable from a checkout too."""
    package_parent = str(Path(__file__).resolve().parents[2])
    if package_parent in sys.path and package_parent in sysconfig.get_paths().values():
        # Installed: found without help, and before the standard library it could hide a part of it.
        return dict(os.environ)
    paths = [package_parent, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
