"""A process that pushes one file and stands still at a step, to be killed there: `… STEP FILE NAME [LIMIT_BYTES]`.

Settings come from the environment. Prints the step when it is reached.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noeira_tui import RemoteCatalog
from noeira_tui.catalog.client import CatalogClient
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.settings import Settings
from noeira_tui.transfer.boxs3 import ObjectInParts
from noeira_tui.transfer.facts import TransferContext

STEPS = ("before register", "after register", "in the PUT", "before complete", "after complete")


def stand_still(step: str) -> None:
    print(step, flush=True)
    time.sleep(60)


def around(owner: type, name: str, *, before: str, after: str, wanted: str) -> None:
    """Have a method stand still before or after its work when that step is wanted."""
    method: Callable[..., Any] = getattr(owner, name)

    def stopping(*arguments: Any, **named: Any) -> Any:
        if before == wanted:
            stand_still(before)
        given = method(*arguments, **named)
        if after == wanted:
            stand_still(after)
        return given

    setattr(owner, name, stopping)


class Limit:
    """Lets a megabyte go, and nothing more."""

    def __init__(self) -> None:
        self._left = 1 << 20

    def take(self, size_bytes: int, cancel: CancelToken) -> None:
        self._left -= size_bytes
        if self._left < 0:
            stand_still("in the PUT")


def main() -> None:
    step, file, name, *limit = sys.argv[1:]
    around(CatalogClient, "register", before="before register", after="after register", wanted=step)
    around(CatalogClient, "complete", before="before complete", after="after complete", wanted=step)
    around(ObjectInParts, "finish", before="before finish", after="", wanted=step)
    context = TransferContext(single_put_limit_bytes=int(limit[0])) if limit else TransferContext()
    if step == "in the PUT":
        context = TransferContext(limit=Limit(), single_put_limit_bytes=context.single_put_limit_bytes)
    with RemoteCatalog(Settings.load(), context=context) as catalog:
        catalog.push(Path(file), name=name)


if __name__ == "__main__":
    main()
