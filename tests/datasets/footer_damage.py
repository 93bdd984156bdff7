"""Damages the footer of a data file in many ways and looks at each: `python -m tests.datasets.footer_damage DIR`.

A process of its own, for what is looked for are damages that end one. It prints what came of them.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.parquet import open_parquet
from noeira_tui.datasets.source import open_source

DATA = "data/chunk-000/file-000.parquet"
MOST_BYTES = 6 << 30
SEEDED = 300
_INSPECT_EVERY = 16


def damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Copies of a file: every byte of its last row group's metadata zeroed or off by one bit, then several anywhere."""
    stop = len(data) - 8
    start = stop - int.from_bytes(data[-8:-4], "little")
    group_start = data.rindex(b"\x38\x11observation.state", start) - 16
    for at in range(group_start, data.rindex(b"ARROW:schema")):
        for kind, byte in (("zero", 0), ("bit", data[at] ^ 1 << at % 8)):
            yield f"{kind} at {at - stop}", data[:at] + bytes((byte,)) + data[at + 1 :]
    for seed in range(SEEDED):
        chance = random.Random(seed)
        changed = bytearray(data)
        for _ in range(chance.choice((1, 2, 8))):
            at = chance.randrange(start, stop)
            changed[at : at + chance.choice((1, 1, 1, 4))] = chance.randbytes(chance.choice((1, 1, 1, 4)))
        footer = bytes(changed[start:-8])
        yield f"seed {seed}", data[:start] + footer + len(footer).to_bytes(4, "little") + data[-4:]


def look(root: Path) -> bool:
    """Read everything that can be read of the data file; whether all of it could be."""
    source = open_source(str(root))
    try:
        file = open_parquet(source, DATA)
        for name in file.names:
            file.spans(name)
            file.type_of(name)
        file.read(file.names)
    except DatasetFileError as err:
        assert err.code == "damaged_file" and err.file == DATA and DATA in err.message, err
        return False
    finally:
        source.close()
    return True


def most_held_mb() -> float:
    """The most memory that this process had at once; `getrusage` would count what started it too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main(root: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    path = root / DATA
    good, bad, slowest_s, last = 0, 0, 0.0, ""
    assert look(root), "it is not damaged yet"
    before = most_held_mb()
    for number, (name, data) in enumerate(damages(path.read_bytes())):
        # The last one is named when it ends the process.
        sys.stderr.write(f"{name}\n")
        path.write_bytes(data)
        began = time.process_time()
        if look(root):
            good += 1
        else:
            bad += 1
        if number % _INSPECT_EVERY == 0:
            inspect(str(root), episodes=True, deep=True)
        spent = time.process_time() - began
        if spent > slowest_s:
            slowest_s, last = spent, name
    more_mb = most_held_mb() - before
    print(json.dumps({"good": good, "bad": bad, "slowest_s": slowest_s, "slowest": last, "more_mb": more_mb}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
