"""The catalog's side of the picture: every dataset and its copy on this box."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from noeira_tui.catalog.copies import Comparison, Copy, compare_copies, list_data_dir
from noeira_tui.catalog.memory import CatalogMemory, RememberedCopy
from noeira_tui.catalog.wire import DatasetRow
from noeira_tui.core.errors import StateError
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.overview.asking import Asked
from noeira_tui.overview.digests import Digests
from noeira_tui.overview.picture import DatasetView
from noeira_tui.transfer.part import partial_bytes

KNOWN_OFFLINE = frozenset({State.MISSING, State.PARTIAL, State.INVALID, State.RECORDING})
"""States that this box can tell without the service."""

NOT_ASKED = "the service could not be asked"


def view_datasets(
    settings: Settings, db: StateDb, asked: Asked, wanted: Mapping[str, tuple[str, ...]], digests: Digests
) -> tuple[DatasetView, ...]:
    """Every dataset of the catalog, of `data/`, and wanted by a project (`wanted`: id → projects)."""
    rows = asked.answer.datasets if asked.answer is not None else ()
    remembered = _remembered(db, asked)
    latest = {copy.dataset_id: copy for copy in remembered}
    older = tuple(copy for copy in remembered if latest[copy.dataset_id] is not copy)
    copies = compare_copies(
        rows,
        frozenset(wanted),
        list_data_dir(settings.data_dir),
        Comparison(latest, digests, partial_bytes, settings.data_dir, older),
    )
    newer = _newer_versions(rows)
    views = (_view(copy, wanted.get(copy.dataset_id, ()), newer.get(copy.dataset_id)) for copy in copies)
    return _told_apart(as_asked(view, asked) for view in views)


def as_asked(view: DatasetView, asked: Asked) -> DatasetView:
    """The view with `unknown` where its state needs a service that could not be asked."""
    if asked.tells or view.state in KNOWN_OFFLINE:
        return view
    if asked.answer is None:
        # Not even what it once said is known: what is here may well be there too.
        return replace(view, state=State.UNKNOWN, unsent_bytes=0, detail=NOT_ASKED)
    return replace(view, state=State.UNKNOWN, last_state=view.state, detail=NOT_ASKED)


def _told_apart(views: Iterable[DatasetView]) -> tuple[DatasetView, ...]:
    """The views with ids of their own: files of one name (`walker.h5`, `walker.zarr`, or beside a copy elsewhere) that
    no row knows are called by their whole names."""
    views = list(views)
    taken = {view.id for view in views if view.status is not None}
    result = []
    for view in views:
        if view.status is None:
            names = [view.id] if view.path is None else [view.id, view.path.name, str(view.path)]
            view = replace(view, id=next((name for name in names if name not in taken), names[-1]))
            taken.add(view.id)
        result.append(view)
    return tuple(result)


def _remembered(db: StateDb, asked: Asked) -> tuple[RememberedCopy, ...]:
    if asked.service.url is None:
        return ()
    try:
        return CatalogMemory(db, asked.service.url.rstrip("/")).all_copies()
    except StateError:
        return ()


def _view(copy: Copy, wanted_by: tuple[str, ...], newer: str | None) -> DatasetView:
    row = copy.row
    facts = DatasetView(
        id=copy.dataset_id,
        state=copy.state,
        path=copy.path,
        local_bytes=copy.local_bytes,
        partial_bytes=copy.partial_bytes,
        unsent_bytes=copy.unsent_bytes,
        wanted_by=wanted_by,
        newer_version=newer,
        detail=copy.detail,
    )
    if row is None:
        return replace(facts, size_bytes=copy.local_bytes)
    return replace(
        facts,
        name=row.name,
        version=row.version,
        status=row.status.value,
        size_bytes=row.size_bytes,
        sha256=row.sha256,
        env_id=row.env_id,
        n_rows=row.n_rows,
        n_episodes=row.n_episodes,
        seed=row.seed,
        source_commit=row.source_commit,
        columns=row.columns,
        filename=row.filename,
        created_at=row.created_at,
    )


def _newer_versions(rows: Iterable[DatasetRow]) -> dict[str, str]:
    """For each id whose name has a ready row of a higher version, that version."""
    rows = list(rows)
    latest: dict[str, DatasetRow] = {}
    for row in rows:
        if row.status == "ready" and (row.name not in latest or _order(row) > _order(latest[row.name])):
            latest[row.name] = row
    return {
        row.id: latest[row.name].version
        for row in rows
        if row.name in latest and _order(row) < _order(latest[row.name])
    }


def _order(row: DatasetRow) -> tuple[tuple[int, int | str], ...]:
    """Versions compare by their numbers as numbers: v10 after v9."""
    return tuple((1, int(part)) if part.isdigit() else (0, part) for part in re.split(r"(\d+)", row.version) if part)
