"""Answers of any length: rows wait on disk until all of them are there, and are printed from it one by one.

Nothing is printed before the last row came without an error: stdout is one JSON document, also when that is an error.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from noeira_tui.cli import table
from noeira_tui.cli.output import Output, encodable
from noeira_tui.core.errors import StateError

_IN_MEMORY_BYTES = 4 << 20


def print_list(items: Iterable[Mapping[str, Any]]) -> None:
    """Print objects as one JSON list. Raises StateError when the disk cannot hold them, and what `items` raise."""
    with _kept(items) as stream:
        sys.stdout.write("[")
        for number, line in enumerate(stream):
            sys.stdout.write((", " if number else "") + line.removesuffix("\n"))
        sys.stdout.write("]\n")
        sys.stdout.flush()


def print_table(
    output: Output, header: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[int] = frozenset()
) -> int:
    """Print rows below their header, and give how many there were. Raises as `print_list` does."""
    widths = [table.width(name) for name in header]
    count = 0

    def measured() -> Iterator[Sequence[str]]:
        nonlocal count
        for row in rows:
            count += 1
            widths[:] = map(max, widths, map(table.width, row))
            yield row

    with _kept(measured()) as stream:
        layout = table.Layout.of(widths, right)
        output.line(layout.line(header))
        for line in stream:
            sys.stdout.write(encodable(layout.line(json.loads(line)), sys.stdout) + "\n")
        sys.stdout.flush()
    return count


@contextmanager
def _kept(values: Iterable[object]) -> Iterator[TextIO]:
    """Values as lines of JSON, in memory while they are few."""
    # Closed below: that fails too where the disk is full, and is not what is to be told.
    stream = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, "w+", encoding="utf-8", prefix="noeira-")  # noqa: SIM115
    try:
        for value in values:
            line = json.dumps(value) + "\n"
            with _disk():
                stream.write(line)
        with _disk():
            # What is still on its way to the disk has to get there too.
            stream.seek(0)
        yield cast(TextIO, stream)
    finally:
        with suppress(OSError):
            # What a full disk did not take is not missed any more.
            stream.close()


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as err:
        raise StateError(
            f"The answer cannot be kept in {_place()}: {err.strerror or err}.",
            title="Disk",
            hint="Ask for less, with LIMIT, or name a roomier folder in TMPDIR.",
        ) from err


def _place() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return "any folder for temporary files"
