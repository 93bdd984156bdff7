"""Copies of a recording's small `meta/` files as they were compared, so that a recorder's next episode cannot mix in.

`info.json` and the tables have to be of one moment. They are copied in that moment, outside the recording's folder, and
the copies are sent, however long the videos before them take.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from noeira_tui.recordings.compare import FileComparison

_MAX_BYTES = 64 << 20


@contextmanager
def spooled(folder: Path, files: Iterable[FileComparison]) -> Iterator[Mapping[str, Path] | None]:
    """Where the copy of each file is, for the time of the context; None when one of them changed meanwhile.

    Files that are large together, or find no room in the system's temporary folder, are sent from where they are.
    """
    files = list(files)
    if sum(file.size_bytes for file in files) > _MAX_BYTES:
        yield {}
        return
    try:
        data = {file.path: (folder / file.path).read_bytes() for file in files}
    except OSError:
        yield None
        return
    if any(hashlib.sha256(data[file.path]).hexdigest() != file.sha256 for file in files):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="noeira-", ignore_cleanup_errors=True) as place:
        yield _written(Path(place), data)


def _written(place: Path, data: Mapping[str, bytes]) -> Mapping[str, Path]:
    copies = {}
    try:
        for number, (path, contents) in enumerate(data.items()):
            copies[path] = place / str(number)
            copies[path].write_bytes(contents)
    except OSError:
        return {}
    return copies
