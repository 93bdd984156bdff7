"""Keeps libraries from looking for others that nothing here uses, in processes that are wholly ours."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

UNWANTED = frozenset({"pandas"})


def refuse_unwanted(*more: str) -> None:
    """Make this process believe that pandas is not installed, nor are `more` packages.

    Arrow imports it with the first list that it is given, where it finds it: half a second for every command, on each
    box that trains. Only for processes of our own, for in those of others somebody may want it.
    """
    sys.meta_path.insert(0, _Refusing(UNWANTED | frozenset(more)))


class _Refusing:
    """Finds that some packages do not exist; one of `sys.meta_path`."""

    def __init__(self, unwanted: frozenset[str]) -> None:
        self._unwanted = unwanted

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self._unwanted:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None
