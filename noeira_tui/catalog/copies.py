"""The copies of catalog datasets on this box, each compared with its row: where it is and what state it is in.

Three digests decide (here, on the service, at the last sync); without a remembered sync, equal contents are `current`
and different ones `diverged`. Nothing is hashed here: a file whose digest is not known is compared by its size alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from noeira_tui.catalog.memory import RememberedCopy
from noeira_tui.catalog.wire import DatasetRow, RowStatus
from noeira_tui.core.paths import suffix_of
from noeira_tui.core.states import State

_LEFTOVERS = (".part", ".journal", ".tmp", ".lock")


@dataclass(frozen=True)
class Copy:
    """One dataset seen from this box.

    `row` is None for what the service does not list. `path` is the local place, there or gone since; None when this
    box never had one. `detail` says why, where the state's word alone would leave one guessing.
    """

    dataset_id: str
    state: State
    row: DatasetRow | None = None
    path: Path | None = None
    local_bytes: int | None = None
    partial_bytes: int | None = None
    unsent_bytes: int = 0
    detail: str = ""


@dataclass(frozen=True)
class LocalEntry:
    """A file or folder in `data/`; `mtime_ns` is None for a folder, `size_bytes` its whole content."""

    path: Path
    size_bytes: int
    mtime_ns: int | None


@dataclass(frozen=True)
class Comparison:
    """What `compare_copies` looks things up with.

    `digest_of` gives the known digest of a file (None when it has not been hashed since it changed), `partial_of` how
    much of an interrupted download lies beside a destination.
    """

    remembered: Mapping[str, RememberedCopy]
    digest_of: Callable[[Path], str | None]
    partial_of: Callable[[Path], int | None]
    data_dir: Path
    older: tuple[RememberedCopy, ...] = ()
    """Copies that were pulled to other places before; what was edited there since is only here."""


def list_data_dir(data_dir: Path) -> tuple[LocalEntry, ...]:
    """The files and folders directly in `data/`, without hidden ones and what an interrupted transfer left."""
    entries: list[LocalEntry] = []
    try:
        listing = sorted(data_dir.iterdir())
    except OSError:
        return ()
    for path in listing:
        if path.name.startswith(".") or path.name.endswith(_LEFTOVERS) or ".part." in path.name:
            continue
        try:
            stat = path.stat()
            if path.is_dir():
                size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
                if size:
                    entries.append(LocalEntry(path, size, None))
            elif path.is_file():
                entries.append(LocalEntry(path, stat.st_size, stat.st_mtime_ns))
        except OSError:
            # It vanished, or cannot be looked at: it is nothing a row could be compared with.
            continue
    return tuple(entries)


def compare_copies(
    rows: Iterable[DatasetRow], wanted: frozenset[str], entries: Iterable[LocalEntry], tools: Comparison
) -> tuple[Copy, ...]:
    """Compare every row, every wanted id and every entry of `data/`; sorted by id.

    `wanted` are ids that a project's `dataset=` lines need here.
    """
    by_id = {row.id: row for row in rows}
    ids = set(by_id) | wanted | set(tools.remembered)
    claimed = claims(entries, ids)
    copies: list[Copy] = []
    taken: set[Path] = set()
    for dataset_id in ids:
        row = by_id.get(dataset_id)
        path = _place_of(dataset_id, row, claimed, tools)
        copy = _compare(dataset_id, row, path, dataset_id in wanted, tools)
        if copy is None:
            continue
        copies.append(copy)
        if copy.path is not None:
            taken.add(copy.path)
    for entry in entries:
        if entry.path not in taken:
            copies.append(
                Copy(
                    dataset_id=entry.path.name.removesuffix(suffix_of(entry.path.name)) or entry.path.name,
                    state=State.LOCAL,
                    path=entry.path,
                    local_bytes=entry.size_bytes,
                    unsent_bytes=entry.size_bytes,
                    detail="only here: no catalog row has it",
                )
            )
    copies += [copy for older in tools.older if (copy := _edited_elsewhere(older, by_id, taken, tools)) is not None]
    return tuple(sorted(copies, key=lambda copy: copy.dataset_id))


def _edited_elsewhere(
    older: RememberedCopy, by_id: Mapping[str, DatasetRow], taken: set[Path], tools: Comparison
) -> Copy | None:
    """An earlier copy of a dataset, when it holds contents that neither the service nor the last sync had."""
    size, mtime_ns = _look(older.path)
    in_data = older.path.parent == tools.data_dir
    if size is None or older.sha256 is None or older.path in taken or in_data:
        return None
    if (size, mtime_ns) == (older.size_bytes, older.mtime_ns):
        return None
    row = by_id.get(older.dataset_id)
    digest = tools.digest_of(older.path)
    if digest is not None and digest in {older.sha256, row.sha256 if row is not None else None}:
        return None
    return Copy(
        dataset_id=older.path.name.removesuffix(suffix_of(older.path.name)) or older.path.name,
        state=State.LOCAL,
        path=older.path,
        local_bytes=size,
        unsent_bytes=size,
        detail=f"was {older.dataset_id} once and was edited since: only here",
    )


def claims(entries: Iterable[LocalEntry], ids: set[str]) -> dict[str, Path]:
    """Which entry of `data/` belongs to which id: `<id>` or `<id>.<anything>`, the longest id first."""
    claimed: dict[str, Path] = {}
    for entry in entries:
        name = entry.path.name
        stems = [name] + [name[:cut] for cut in range(len(name) - 1, 0, -1) if name[cut] == "."]
        owner = next((stem for stem in stems if stem in ids), None)
        if owner is not None:
            claimed.setdefault(owner, entry.path)
    return claimed


def _place_of(dataset_id: str, row: DatasetRow | None, claimed: Mapping[str, Path], tools: Comparison) -> Path | None:
    remembered = tools.remembered.get(dataset_id)
    if remembered is not None and (remembered.path.exists() or tools.partial_of(remembered.path) is not None):
        return remembered.path
    if dataset_id in claimed:
        return claimed[dataset_id]
    if remembered is not None:
        return remembered.path
    if row is not None and row.filename:
        default = tools.data_dir / (row.id + suffix_of(row.filename))
        return default if tools.partial_of(default) is not None else None
    return None


def _compare(
    dataset_id: str, row: DatasetRow | None, path: Path | None, wanted: bool, tools: Comparison
) -> Copy | None:
    """The copy's state; None for something remembered that is neither here nor on the service any more."""
    remembered = tools.remembered.get(dataset_id)
    size, mtime_ns = _look(path)
    if size is None:
        return _compare_absent(dataset_id, row, path, wanted, remembered, tools)
    assert path is not None

    def told(state: State, detail: str = "", *, unsent: bool = False) -> Copy:
        return Copy(dataset_id, state, row, path, size, unsent_bytes=size if unsent else 0, detail=detail)

    if row is None:
        return told(State.LOCAL, "the service has no row for it (any more)", unsent=True)
    if row.status is RowStatus.PENDING:
        return told(State.PENDING, "here, but its upload never completed: push it again", unsent=True)
    base = remembered.sha256 if remembered is not None and remembered.path == path else None
    untouched = (
        remembered is not None and base is not None and (size, mtime_ns) == (remembered.size_bytes, remembered.mtime_ns)
    )
    digest = base if untouched else tools.digest_of(path)
    if digest is None:
        return _compare_by_size(row, size, base, remembered, told)
    if digest == row.sha256:
        return told(State.CURRENT)
    if base is None:
        return told(State.DIVERGED, "differs from the service's, and no sync is remembered", unsent=True)
    if digest == base:
        return told(State.STALE, "the service has other contents for this id now")
    if base == row.sha256:
        return told(State.MODIFIED, "changed here since it was synced", unsent=True)
    return told(State.DIVERGED, "changed here and on the service", unsent=True)


def _compare_by_size(
    row: DatasetRow,
    size: int,
    base: str | None,
    remembered: RememberedCopy | None,
    told: Callable[..., Copy],
) -> Copy:
    """What the size alone can tell of a file that has not been hashed since it changed."""
    if size == row.size_bytes:
        return told(State.UNVERIFIED, "right size, but its contents were not compared: verify it")
    if base is None or remembered is None:
        return told(State.DIVERGED, "another size than the service's, and no sync is remembered", unsent=True)
    if size == remembered.size_bytes:
        return told(State.UNVERIFIED, "the service has newer contents, and this copy was touched: verify it")
    if base == row.sha256:
        return told(State.MODIFIED, "changed here since it was synced", unsent=True)
    return told(State.DIVERGED, "changed here and on the service", unsent=True)


def _compare_absent(
    dataset_id: str,
    row: DatasetRow | None,
    path: Path | None,
    wanted: bool,
    remembered: RememberedCopy | None,
    tools: Comparison,
) -> Copy | None:
    partial = tools.partial_of(path) if path is not None else None
    if partial is not None and row is not None and row.status is RowStatus.READY:
        return Copy(dataset_id, State.PARTIAL, row, path, partial_bytes=partial, detail="a pull goes on from there")
    if row is None:
        if not wanted:
            return None
        return Copy(dataset_id, State.MISSING, detail="a project needs it here, and the service does not list it")
    if row.status is RowStatus.PENDING:
        return Copy(dataset_id, State.PENDING, row, detail="its upload never completed: it cannot be pulled")
    if wanted:
        return Copy(dataset_id, State.MISSING, row, path, detail="a project needs it here")
    if remembered is not None and remembered.sha256 is not None and not remembered.pushed:
        return Copy(dataset_id, State.MISSING, row, path, detail="it was pulled once and is gone since")
    return Copy(dataset_id, State.REMOTE, row)


def _look(path: Path | None) -> tuple[int | None, int | None]:
    """Size and mtime_ns of a file, or a folder's stat size; (None, None) when nothing is there."""
    if path is None:
        return None, None
    try:
        stat = path.stat()
    except OSError:
        return None, None
    return stat.st_size, stat.st_mtime_ns
