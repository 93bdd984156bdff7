"""What a dataset's copy is called: every combination of row, remembered sync, file, known digest and `.part`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from noeira_tui.catalog.copies import Comparison, Copy, compare_copies, list_data_dir
from noeira_tui.catalog.memory import RememberedCopy
from noeira_tui.catalog.wire import DatasetRow
from noeira_tui.core.states import UNSENT, State

ID = "walker-v1"
OURS, THEIRS, OLD, MINE = ("ours the same", "ours the same", "old contents!", "edited by hand")
"""Contents: the service's (and equal ones here), a former version's of the same size, and others."""
assert len(OLD) == len(THEIRS)
DIGESTS = {THEIRS: "a" * 64, OLD: "b" * 64, MINE: "c" * 64, "third": "d" * 64}


@dataclass(frozen=True)
class Case:
    """`row`: the service's contents, `pending`, or None. `base`: what was last synced (`begun`: a first transfer never
    finished). `here`: the file's contents. `known`: its digest is. `touched`: its mtime is not that of the sync."""

    row: str | None
    base: str | None
    here: str | None
    expected: State | None
    known: bool = True
    touched: bool = True
    part: int | None = None
    wanted: bool = False
    pushed: bool = False


CASES = [
    # nothing here
    Case(THEIRS, None, None, State.REMOTE),
    Case(THEIRS, None, None, State.MISSING, wanted=True),
    Case(THEIRS, None, None, State.PARTIAL, part=4),
    Case(THEIRS, None, None, State.PARTIAL, part=0),
    Case(THEIRS, None, None, State.PARTIAL, part=4, wanted=True),
    Case(THEIRS, THEIRS, None, State.MISSING),
    Case(THEIRS, OLD, None, State.MISSING),
    Case(THEIRS, THEIRS, None, State.REMOTE, pushed=True),
    Case(THEIRS, "begun", None, State.REMOTE),
    Case(THEIRS, "begun", None, State.PARTIAL, part=4),
    Case(THEIRS, OLD, None, State.PARTIAL, part=4),
    Case("pending", None, None, State.PENDING),
    Case("pending", None, None, State.PENDING, wanted=True),
    Case("pending", None, None, State.PENDING, part=4),
    Case("pending", OLD, None, State.PENDING),
    Case(None, None, None, State.MISSING, wanted=True),
    Case(None, THEIRS, None, None),
    Case(None, None, None, None, part=4),
    # a file here, no row
    Case(None, None, MINE, State.LOCAL),
    Case(None, None, MINE, State.LOCAL, known=False),
    Case(None, THEIRS, OURS, State.LOCAL),
    Case(None, "begun", MINE, State.LOCAL),
    # a file here whose upload never completed
    Case("pending", None, MINE, State.PENDING),
    Case("pending", "begun", MINE, State.PENDING, known=False),
    Case("pending", THEIRS, OURS, State.PENDING),
    # no sync is remembered
    Case(THEIRS, None, OURS, State.CURRENT),
    Case(THEIRS, None, OURS, State.UNVERIFIED, known=False),
    Case(THEIRS, None, OLD, State.DIVERGED),
    Case(THEIRS, None, OLD, State.UNVERIFIED, known=False),
    Case(THEIRS, None, MINE, State.DIVERGED),
    Case(THEIRS, None, MINE, State.DIVERGED, known=False),
    Case(THEIRS, "begun", OURS, State.CURRENT),
    Case(THEIRS, "begun", MINE, State.DIVERGED),
    # in step with the service at the last sync
    Case(THEIRS, THEIRS, OURS, State.CURRENT, touched=False),
    Case(THEIRS, THEIRS, OURS, State.CURRENT, touched=False, known=False),
    Case(THEIRS, THEIRS, OURS, State.CURRENT),
    Case(THEIRS, THEIRS, OURS, State.UNVERIFIED, known=False),
    Case(THEIRS, THEIRS, OLD, State.MODIFIED),
    Case(THEIRS, THEIRS, OLD, State.UNVERIFIED, known=False),
    Case(THEIRS, THEIRS, MINE, State.MODIFIED),
    Case(THEIRS, THEIRS, MINE, State.MODIFIED, known=False),
    # the service has other contents since
    Case(THEIRS, OLD, OLD, State.STALE, touched=False),
    Case(THEIRS, OLD, OLD, State.STALE, touched=False, known=False),
    Case(THEIRS, OLD, OLD, State.STALE),
    Case(THEIRS, OLD, OLD, State.UNVERIFIED, known=False),
    Case(THEIRS, OLD, OURS, State.CURRENT),
    Case(THEIRS, OLD, MINE, State.DIVERGED),
    Case(THEIRS, OLD, MINE, State.DIVERGED, known=False),
    Case(THEIRS, MINE, MINE, State.STALE, touched=False, known=False),
    Case(THEIRS, MINE, MINE, State.UNVERIFIED, known=False),
    Case(THEIRS, "third", MINE, State.DIVERGED),
    # a pull that was interrupted beside an older file changes nothing about the file
    Case(THEIRS, OLD, OLD, State.STALE, touched=False, part=4),
    Case(THEIRS, THEIRS, OURS, State.CURRENT, touched=False, part=4),
]


def row_of(contents: str | None) -> tuple[DatasetRow, ...]:
    if contents is None:
        return ()
    facts = {"id": ID, "name": "walker", "version": "v1", "status": "pending", "filename": "walker.h5"}
    if contents != "pending":
        facts |= {"status": "ready", "sizeBytes": len(contents), "sha256": DIGESTS[contents]}  # type: ignore[dict-item]
    return (DatasetRow.parse(facts),)


def compared(case: Case, data: Path) -> tuple[Copy, ...]:
    path = data / f"{ID}.h5"
    if case.here is not None:
        path.write_text(case.here)
    remembered: dict[str, RememberedCopy] = {}
    if case.base == "begun":
        remembered[ID] = RememberedCopy(ID, path, None, None, None, case.pushed)
    elif case.base is not None:
        mtime_ns = 1 if case.touched or case.here is None else path.stat().st_mtime_ns
        remembered[ID] = RememberedCopy(ID, path, DIGESTS[case.base], len(case.base), mtime_ns, case.pushed)
    return compare_copies(
        row_of(case.row),
        frozenset({ID} if case.wanted else ()),
        list_data_dir(data),
        Comparison(
            remembered,
            lambda asked: DIGESTS[asked.read_text()] if case.known else None,
            lambda dest: case.part if dest == path else None,
            data,
        ),
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_copy_is_called_what_it_is(case: Case, tmp_path: Path) -> None:
    copies = compared(case, tmp_path)
    if case.expected is None:
        assert copies == ()
        return
    (copy,) = copies
    assert copy.state is case.expected
    assert copy.dataset_id == ID
    assert copy.local_bytes == (None if case.here is None else len(case.here))
    assert copy.partial_bytes == (case.part if case.expected is State.PARTIAL else None)
    lost = case.here is not None and (copy.state in UNSENT or copy.state is State.PENDING)
    assert copy.unsent_bytes == (len(case.here or "") if lost else 0)


@pytest.mark.parametrize("case", [case for case in CASES if case.here is not None], ids=str)
def test_nothing_counts_as_safe_that_was_not_compared(case: Case, tmp_path: Path) -> None:
    """`current` and `stale` are the words for what may be lost: they need a digest, or a file untouched since one."""
    (copy,) = compared(case, tmp_path)
    if copy.state in {State.CURRENT, State.STALE}:
        assert case.known or not case.touched
        assert case.here in {case.row, case.base}


def test_the_table_has_every_combination_that_matters() -> None:
    def seen(case: Case) -> tuple[str, str, bool, bool]:
        return (
            "none" if case.row is None else "pending" if case.row == "pending" else "ready",
            "none" if case.base is None else "begun" if case.base == "begun" else "synced",
            case.here is not None,
            case.known,
        )

    there = {seen(case) for case in CASES}
    for row in ("none", "pending", "ready"):
        for base in ("none", "synced"):
            assert (row, base, True, True) in there
            assert (row, base, False, True) in there or (row, base) == ("none", "none")
    assert {case.expected for case in CASES} >= {
        State.REMOTE, State.MISSING, State.PARTIAL, State.PENDING, State.LOCAL, State.CURRENT, State.UNVERIFIED,
        State.DIVERGED, State.MODIFIED, State.STALE,
    }  # fmt: skip


def test_what_lies_in_data_besides(tmp_path: Path) -> None:
    for name in (f"{ID}.h5.part", f"{ID}.h5.part.journal", ".hidden", "x.tmp", "y.lock"):
        (tmp_path / name).write_text("z")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "file").write_text("12345")
    (tmp_path / "broken-link").symlink_to("nowhere")
    entries = list_data_dir(tmp_path)
    assert [(entry.path.name, entry.size_bytes, entry.mtime_ns) for entry in entries] == [("folder", 5, None)]
    assert list_data_dir(tmp_path / "absent") == ()
