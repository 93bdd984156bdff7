"""One look at this box: projects and recordings, catalog datasets, asset packs, jobs, and is it safe to destroy it?"""

from __future__ import annotations

import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path

from noeira_tui.assets.packs import Packs
from noeira_tui.core.errors import StateError
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs.kinds import PUSHES
from noeira_tui.jobs.records import JobRecord
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview import datasets as dataset_side
from noeira_tui.overview import recordings as recording_side
from noeira_tui.overview.asking import ask_service
from noeira_tui.overview.closed import closed_folders
from noeira_tui.overview.digests import GLANCE_BYTES, GlanceDigests
from noeira_tui.overview.picture import Overview
from noeira_tui.overview.safety import Doubts, count, unsafe_reasons
from noeira_tui.recordings.projects import LocalProject, discover_projects
from noeira_tui.recordings.tables import TableReader
from noeira_tui.transfer.hashcache import HashCache

_TABLES = TableReader()


def look(settings: Settings, *, ask: bool = True, settle: bool = False, tables: TableReader = _TABLES) -> Overview:
    """The frozen picture of this box. Never raises for a service, a state folder or a dataset that is in trouble.

    With `ask` False only the service's last answer is used, which is fast. With `settle` every file is hashed whose
    contents were not compared since it changed, however large. `tables` reads the recordings' tables, and remembers
    them.
    """
    db = StateDb(settings.state_dir)
    now = time.time()
    projects_here = _projects_here(settings)
    here = [(project.slug, folder.name) for project in projects_here for folder in project.recordings]
    asked = ask_service(settings, db, here, ask=ask)
    digests = GlanceDigests(HashCache(db), None if settle else GLANCE_BYTES)
    projects = recording_side.view_projects(projects_here, asked, recording_side.Glance(digests, now, db, tables))
    known = {(view.project, view.dataset) for project in projects for view in project.recordings}
    datasets = dataset_side.view_datasets(
        settings, db, asked, recording_side.wanted_datasets(projects_here, known, asked), digests.of
    )
    digests.keep()
    projects = recording_side.add_missing(projects, projects_here, {view.id for view in datasets})
    packs = Packs(settings).states()
    jobs, warning = _jobs(db)
    warnings = (*asked.warnings, *((warning,) if warning else ()))
    pushes = [job for job in jobs if job.is_live and job.spec.kind in PUSHES]
    doubts = Doubts(
        not_asked=asked.service.url is not None and not asked.is_fresh,
        closed=closed_folders(settings),
        jobs=warning,
    )
    reasons = unsafe_reasons(projects, datasets, pushes, doubts, packs)
    return Overview(
        box=socket.gethostname(),
        root=settings.root,
        projects_dir=settings.projects_dir,
        service=asked.service,
        projects=projects,
        datasets=datasets,
        packs=packs,
        totals=replace(count(projects, datasets, packs), jobs_running=sum(job.is_live for job in jobs)),
        safe_to_destroy=not reasons,
        unsafe_because=reasons,
        free_bytes=_free_bytes(settings.data_dir),
        taken_at=now,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _projects_here(settings: Settings) -> tuple[LocalProject, ...]:
    try:
        return discover_projects(settings.projects_dir)
    except OSError:
        # A folder one may not look into; `closed_folders` names it, and the box is not called safe.
        return ()


def _jobs(db: StateDb) -> tuple[tuple[JobRecord, ...], str]:
    try:
        return JobStore(db).list(), ""
    except StateError as err:
        return (), str(err)


def _free_bytes(folder: Path) -> int | None:
    """Free bytes for this user on the file system that holds `folder`, or will."""
    for candidate in (folder, *folder.parents):
        try:
            return shutil.disk_usage(candidate).free
        except OSError:
            continue
    return None
