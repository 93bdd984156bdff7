"""Copying a running service's data folder to another place: the database first, then every object that it names.

    python -m noeira_tui.service.backup --data-dir DIR --to PLACE

In this order nothing is missing: an object that a row of the copied database names is not removed before its download
URLs have expired, a day later at least. Objects never change, so a second run copies only what is new. To restore, copy
PLACE to a data folder and start `serve` on it. With another database or object store, use their own tools
(docs/service-backup.md).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import ConfigError, NoeiraError, StateError
from noeira_tui.core.files import fsync_folder

_SMALL = ("store.json", "client.env", "service.json")


@dataclass(frozen=True)
class BackedUp:
    """What one run did. `missing` are objects that rows name and the store does not have."""

    objects: int
    copied: int
    copied_bytes: int
    missing: tuple[str, ...]


def back_up(data_dir: Path, place: Path) -> BackedUp:
    """Copy the data folder of a service that runs or stands still; `place` may hold an earlier copy.

    Raises ConfigError when there is no SQLite service in `data_dir`, StateError when something cannot be copied.
    """
    database = data_dir / "service.db"
    if not database.is_file():
        raise ConfigError(f"There is no service.db in {data_dir}.", hint="Name the service's folder with --data-dir.")
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _copy_database(database, place / "service.db")
        for name in _SMALL:
            if (data_dir / name).exists():
                _copy_file(data_dir / name, place / name)
        return _copy_objects(data_dir / "objects", place)
    except (OSError, sqlite3.Error) as err:
        raise StateError(f"{data_dir} cannot be copied to {place}: {err}.", title="Backup") from err


def main() -> int:
    """Run from a shell; prints what was done."""
    parser = argparse.ArgumentParser(prog="python -m noeira_tui.service.backup", description="Copy a service's data.")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    options = parser.parse_args()
    try:
        done = back_up(options.data_dir, options.to)
    except NoeiraError as err:
        sys.stderr.write(f"{err}\n")
        return err.exit_code
    sys.stdout.write(f"{done.objects} objects, {done.copied} of them copied now ({done.copied_bytes} bytes)\n")
    for key in done.missing:
        sys.stderr.write(f"missing in the store: {key}\n")
    return 1 if done.missing else 0


def _copy_database(source: Path, target: Path) -> None:
    beside = target.with_suffix(".db.new")
    beside.unlink(missing_ok=True)
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as old, closing(sqlite3.connect(beside)) as new:
        old.backup(new)
    beside.chmod(0o600)
    beside.replace(target)
    for leftover in ("-wal", "-shm"):
        Path(f"{target}{leftover}").unlink(missing_ok=True)
    fsync_folder(target.parent)


def _copy_objects(objects: Path, place: Path) -> BackedUp:
    keys = list(_named(place / "service.db"))
    if not objects.is_dir():
        # They are in an outside store, which has tools of its own.
        return BackedUp(len(keys), 0, 0, ())
    copied, size_bytes = 0, 0
    missing = []
    for bucket in sorted(one for one in objects.iterdir() if one.is_dir() and not one.name.startswith(".")):
        for key in keys:
            source, target = bucket / key, place / "objects" / bucket.name / key
            if not source.exists():
                missing.append(key)
                continue
            if target.exists() and target.stat().st_size == source.stat().st_size:
                continue
            for one in (source, bucket / ".nanio-meta" / f"{key}.json"):
                if one.exists():
                    _copy_file(one, place / "objects" / one.relative_to(objects))
            copied, size_bytes = copied + 1, size_bytes + source.stat().st_size
    return BackedUp(len(keys), copied, size_bytes, tuple(missing))


def _named(database: Path) -> Iterator[str]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        for (key,) in connection.execute("SELECT object_key FROM blobs ORDER BY pk"):
            yield str(key)


def _copy_file(source: Path, target: Path) -> None:
    for folder in reversed((target.parent, *target.parent.parents)):
        folder.mkdir(exist_ok=True, mode=0o700)
    beside = target.with_name(f".{target.name}.new")
    shutil.copy2(source, beside)
    with beside.open("rb") as stream:
        os.fsync(stream.fileno())
    beside.replace(target)


if __name__ == "__main__":
    sys.exit(main())
