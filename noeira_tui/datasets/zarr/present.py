"""Which chunks of a zarr store are there, by listing them where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from noeira_tui.datasets.jsonfacts import Problems
from noeira_tui.datasets.source import Source
from noeira_tui.datasets.zarr.nodes import Nodes, ZarrArray

_MAX_CHUNKS = 100_000


def check_chunks(source: Source, nodes: Nodes, problems: Problems) -> None:
    """Note arrays whose chunks are not all there: zarr would read fill values in their place, without a word."""
    if not source.can_list:
        return
    for array in nodes.arrays:
        grid = [-(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
        if not array.shape or prod(grid) > _MAX_CHUNKS:
            continue
        absent = sorted(set(chunk_keys(array, nodes.generation)) - _there(source, array, nodes.generation))
        if absent:
            more = f" and {len(absent) - 1:,} more" if len(absent) > 1 else ""
            message = (
                f"{array.path}: {len(absent):,} of {prod(grid):,} chunks are not there ({absent[0]}{more}); zarr reads "
                "fill values in their place."
            )
            problems.add("missing_chunk", f"{array.path}/{absent[0]}" if array.path else absent[0], array.path, message)


def _is_v2_key(array: ZarrArray, generation: int) -> bool:
    return generation == 2 or array.separator.startswith("v2")


def chunk_keys(array: ZarrArray, generation: int) -> Iterator[str]:
    """The names of all chunks of an array, below it."""
    grid = [-(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    separator = array.separator.removeprefix("v2") or "."
    head = [] if _is_v2_key(array, generation) else ["c"]
    return (separator.join([*head, *map(str, place)]) for place in product(*(range(count) for count in grid)))


def first_of(array: ZarrArray, generation: int, key: str) -> int:
    """The number of a chunk along the first axis, by its key in the store."""
    separator = array.separator.removeprefix("v2") or "."
    name = key.removeprefix(f"{array.path}/" if array.path else "")
    name = name if _is_v2_key(array, generation) else name.removeprefix(f"c{separator}")
    return int(name.partition(separator)[0])


def _there(source: Source, array: ZarrArray, generation: int) -> set[str]:
    """The keys below an array; folder by folder, as deep as its chunk keys go."""
    separator = array.separator.removeprefix("v2") or "."
    deep = len(array.shape) if separator == "/" else 1
    deep += 0 if _is_v2_key(array, generation) or separator != "/" else 1
    folders, found = [""], set[str]()
    for _ in range(deep):
        base = [f"{array.path}/{folder}".strip("/") for folder in folders]
        listings = source.each(source.listing, base)
        pairs = list(zip(folders, listings, strict=True))
        found |= {f"{folder}/{name}".lstrip("/") for folder, listing in pairs for name in listing.files}
        folders = [f"{folder}/{name}".lstrip("/") for folder, listing in pairs for name in listing.folders]
        if not folders:
            break
    return found
