"""Which rows of a list a filter keeps."""

from __future__ import annotations

from noeira_tui.tui.rows import Row


def kept_rows(rows: tuple[Row, ...], needle: str) -> tuple[Row, ...]:
    """The rows whose name or state has every word of `needle`.

    A project stays when one of its recordings does; all its recordings stay when the project itself matches.
    """
    needles = needle.lower().split()
    if not needles:
        return rows
    kept: list[Row] = []
    parent: Row | None = None
    parent_matches = parent_kept = False
    for row in rows:
        if row.is_heading:
            continue
        if row.depth == 0:
            parent, parent_matches = row, row.matches(needles)
            parent_kept = parent_matches
            if parent_matches:
                kept.append(row)
        elif parent_matches or row.matches(needles):
            if parent is not None and not parent_kept:
                kept.append(parent)
                parent_kept = True
            kept.append(row)
    return tuple(kept)
