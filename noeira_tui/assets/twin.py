"""A second tree of hard links, made while a pack is unpacked: its install is then one rename, not a link a file.

It is made in the cache, so a download that is killed leaves nothing beside the user's files; and it is only an offer:
where anything about it fails, the install links or copies file by file as ever.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

_DEFAULT_ACL = "system.posix_acl_default"


class Twin:
    """A tree at `folder` that gets every folder and file of a tree that is being unpacked. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        """Make the folder; what is there already goes. A twin that cannot be made is not whole, and nothing fails."""
        self.folder = folder
        self._fd = -1
        self.is_whole = False
        try:
            self.remove()
            folder.mkdir()
            self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        self.is_whole = True

    def make_folder(self, path: str) -> None:
        """The folder is there in the tree."""
        if self.is_whole:
            try:
                os.mkdir(path, dir_fd=self._fd)
            except OSError:
                self.is_whole = False

    def add(self, path: str, tree_fd: int) -> None:
        """The file is written in the tree that `tree_fd` is open on."""
        if self.is_whole:
            try:
                os.link(path, path, src_dir_fd=tree_fd, dst_dir_fd=self._fd, follow_symlinks=False)
            except OSError:
                self.is_whole = False

    def close(self) -> None:
        """Nothing more will be added."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def remove(self) -> None:
        """Have it gone, unless it was moved away. Raises nothing."""
        self.close()
        self.is_whole = False
        shutil.rmtree(self.folder, ignore_errors=True)


def may_have_twin(dest: Path, cache: Path) -> bool:
    """Whether an install at `dest` can be a tree that was made in `cache` and moved there.

    Not where something is there already, on another file system, or below a folder that hands its group or its access
    list down to what is made in it: what is moved there would not get them.
    """
    above = dest.parent
    while not above.exists() and above != above.parent:
        above = above.parent
    try:
        if dest.exists() and any(dest.iterdir()):
            return False
        found = above.stat()
        hands_down = found.st_mode & stat.S_ISGID or (hasattr(os, "listxattr") and _DEFAULT_ACL in os.listxattr(above))
        return not hands_down and found.st_dev == cache.stat().st_dev
    except OSError:
        return False
