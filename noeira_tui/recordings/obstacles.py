"""Why a complete file of a recording cannot travel, as far as that is told without asking anybody."""

from __future__ import annotations

from noeira_tui.core.paths import is_wire_path
from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES
from noeira_tui.core.quantity import show_size
from noeira_tui.transfer.boxs3 import may_have_s3

BAD_NAME = "its name cannot travel: letters, digits, '.', '_' and '-', at most 8 folders deep"


def obstacle_at_glance(path: str, size_bytes: int, limit_bytes: int = MAX_SINGLE_PUT_BYTES) -> str | None:
    """Why a file will be held back by a push; None when it will not, or when only a push can tell.

    A file over the limit goes up in parts where this box has S3 credentials and the service takes parts: with signs of
    credentials it is left to the push to find out.
    """
    if not is_wire_path(path):
        return BAD_NAME
    if size_bytes <= limit_bytes or may_have_s3():
        return None
    return (
        f"{show_size(size_bytes)}, one PUT carries {show_size(limit_bytes)}, and there are no S3 credentials on this "
        "box for more"
    )
