"""The JSON of the command line, field by field: scripts outside this project read it, so it is a contract."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from noeira_tui.catalog.wire import format_time
from noeira_tui.core.redact import redact

if TYPE_CHECKING:
    from noeira_tui.assets.keep import CachedPack
    from noeira_tui.assets.publish import MadePack
    from noeira_tui.assets.pull import PackPulled
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.assets.where import PackWhere
    from noeira_tui.catalog.filepush import Pushed
    from noeira_tui.catalog.remote import Pulled
    from noeira_tui.catalog.wire import RevisionRow
    from noeira_tui.datasets.facts import DatasetInfo, Episode, Feature, Problem
    from noeira_tui.jobs.records import JobRecord
    from noeira_tui.overview.picture import DatasetView, Overview, ProjectView, RecordingView
    from noeira_tui.recordings.compare import FileComparison
    from noeira_tui.recordings.outcome import Mirrored
    from noeira_tui.recordings.watch import WatchEvent

Object = dict[str, Any]


def when(seconds: float | None) -> str | None:
    """Seconds since the epoch as RFC 3339; None stays None."""
    return None if seconds is None else format_time(datetime.fromtimestamp(seconds, UTC))


def dataset(view: DatasetView) -> Object:
    """An object of `catalog list` and `catalog show`."""
    return {
        "id": view.id,
        "name": view.name,
        "version": view.version,
        "status": view.status,
        "state": view.state.value,
        "size_bytes": view.size_bytes,
        "sha256": view.sha256,
        "env_id": view.env_id,
        "n_rows": view.n_rows,
        "n_episodes": view.n_episodes,
        "seed": view.seed,
        "source_commit": view.source_commit,
        "filename": view.filename,
        "created_at": view.created_at,
        "path": None if view.path is None else str(view.path),
    }


def recording(view: RecordingView) -> Object:
    """An object of `dataset list`."""
    return {
        "project": view.project,
        "dataset": view.dataset,
        "state": view.state.value,
        "episodes": view.episodes,
        "frames": view.frames,
        "fps": view.fps,
        "files": view.files,
        "size_bytes": view.size_bytes,
        "ahead": view.ahead,
        "behind": view.behind,
        "held_back": view.held_back,
        "here": view.here,
        "on_service": view.on_service,
    }


def project(view: ProjectView) -> Object:
    """An object of `project list`."""
    return {
        "project": view.project,
        "here": view.here,
        "on_service": view.on_service,
        "description": view.description,
        "recordings": len(view.recordings),
    }


def pack(view: PackStatus) -> Object:
    """An object of `assets status`."""
    return {
        "pack": view.pack,
        "version": view.version,
        "provider": view.provider,
        "manifest": str(view.manifest),
        "dest": str(view.dest),
        "bytes": view.size_bytes,
        "sha256": view.sha256,
        "state": view.state.value,
        "detail": view.detail,
    }


def pulled_pack(done: PackPulled) -> Object:
    """An object of `assets pull`."""
    return {
        **pack(done.status),
        "bytes_transferred": done.bytes_transferred,
        "linked": done.linked,
        "copied": done.copied,
        "error": done.error,
    }


def pack_where(found: PackWhere) -> Object:
    """An object of `assets where`."""
    return {
        "pack": found.pack,
        "provider": found.provider,
        "locator": found.locator,
        "credential": found.credential,
        "credential_source": found.credential_source,
        "token_sent": found.token_sent,
    }


def cached_pack(held: CachedPack) -> Object:
    """An object of `assets cache`."""
    return {
        "sha256": held.sha256,
        "packs": list(held.titles),
        "path": str(held.path),
        "bytes": held.size_bytes,
        "files": held.files,
        "last_used_at": when(held.last_used_at),
        "used_by": [str(dest) for dest in held.used_by],
        "other_links": held.other_links,
        "in_use": held.in_use,
        "leftover": held.is_leftover,
        "shared": held.is_shared,
    }


def made_pack(made: MadePack, *, pushed: bool) -> Object:
    """The document of `assets pack`."""
    return {
        "pack": made.name,
        "version": made.version,
        "path": str(made.path),
        "sha256": made.sha256,
        "bytes": made.size_bytes,
        "files": made.files,
        "id": made.id if pushed else None,
        "stanza": made.stanza(pushed=pushed),
    }


def status(view: Overview) -> Object:
    """The document of `status`."""
    return {
        "box": view.box,
        "root": str(view.root),
        "service": {
            "url": view.service.url,
            "reachable": view.service.reachable is True,
            "latency_ms": None if view.service.latency_ms is None else round(view.service.latency_ms, 1),
            "error": view.service.error,
            "checked_at": when(view.service.checked_at),
        },
        "recordings": [recording(item) for item in view.recordings],
        "datasets": [dataset(item) for item in view.datasets],
        "packs": [pack(item) for item in view.packs],
        "totals": {
            "missing": view.totals.missing,
            "stale": view.totals.stale,
            "partial": view.totals.partial,
            "invalid": view.totals.invalid,
            "unknown": view.totals.unknown,
            "unsent": view.totals.unsent,
            "bytes_to_fetch": view.totals.bytes_to_fetch,
            "bytes_unsent": view.totals.bytes_unsent,
            "jobs_running": view.totals.jobs_running,
        },
        "safe_to_destroy": view.safe_to_destroy,
    }


def job(record: JobRecord) -> Object:
    """An object of `jobs list`."""
    return {
        "id": record.id,
        "kind": record.spec.kind,
        "title": record.spec.title,
        "state": record.state.value,
        "bytes_done": record.progress.bytes_done,
        "bytes_total": record.progress.bytes_total,
        "items_done": record.progress.items_done,
        "items_total": record.progress.items_total,
        "rate": round(record.progress.rate, 1) if record.is_live else 0.0,
        "started_at": when(record.started_at),
        "finished_at": when(record.finished_at),
        "error": None
        if record.failure is None
        else {
            "title": record.failure.title,
            "message": record.failure.message,
            "hint": record.failure.hint,
            "retryable": record.failure.retryable,
        },
    }


def job_details(record: JobRecord, log: str) -> Object:
    """The document of `jobs show`: the job, what it gave, and its log."""
    return {**job(record), "result": None if record.result is None else json.loads(record.result), "log": log}


def pulled(done: Pulled) -> Object:
    """The document of `catalog pull`."""
    return {
        "id": done.id,
        "path": str(done.path),
        "state": done.state.value,
        "size_bytes": done.size_bytes,
        "sha256": done.sha256,
        "bytes_transferred": done.bytes_transferred,
        "resumed_from": done.resumed_from,
        "requests": done.requests,
        "elapsed_s": round(done.elapsed_s, 3),
    }


def pushed(done: Pushed) -> Object:
    """The document of `catalog push`."""
    return {
        "id": done.id,
        "sha256": done.sha256,
        "size_bytes": done.size_bytes,
        "bytes_transferred": done.bytes_transferred,
        "elapsed_s": round(done.elapsed_s, 3),
    }


def recording_file(file: FileComparison) -> Object:
    """An object of `dataset status`."""
    return {
        "path": file.path,
        "state": file.state.value,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "reason": file.reason,
    }


def revision(row: RevisionRow) -> Object:
    """An object of `dataset revisions`."""
    return {
        "revision": row.revision,
        "created_at": row.created_at,
        "episodes": row.n_episodes,
        "frames": row.n_frames,
        "files": row.file_count,
        "size_bytes": row.size_bytes,
    }


def mirrored(done: Mirrored) -> Object:
    """The document of `dataset push` and `dataset pull`; of a dry run it tells what would move."""
    document = {
        "project": done.project,
        "dataset": done.dataset,
        "state": done.state.value,
        "files": {
            "sent" if done.way == "push" else "received": len(done.moved),
            "unchanged": done.unchanged,
            "held_back": len(done.held),
            "failed": len(done.failed),
            "conflicts": len(done.conflicts),
        },
        "bytes_transferred": done.bytes_transferred,
        "requests": done.requests,
        "elapsed_s": round(done.elapsed_s, 3),
        "held_back": [{"path": held.path, "reason": held.reason} for held in done.held],
        "failed": [{"path": failure.path, "error": redact(failure.error)} for failure in done.failed],
        "conflicts": [
            {"path": one.path, "here": one.here, "there": one.there, "base": one.base, "reason": one.reason}
            for one in done.conflicts
        ],
        "left": [{"path": left.path, "reason": left.reason} for left in done.left],
        "episodes": {"recorded": done.episodes, "on_service": done.episodes_sent},
        "revision": done.revision,
        "problems": list(done.problems),
        "dry_run": done.dry_run,
    }
    return document | ({"would_move": list(done.moved)} if done.dry_run else {})


def watch_event(event: WatchEvent) -> Object:
    """A line of `dataset push --watch --json`."""
    outcome = event.outcome
    return {
        "event": event.event,
        "at": when(event.at),
        "text": redact(event.text),
        "sent": None if outcome is None else len(outcome.moved),
        "held_back": None if outcome is None else [{"path": held.path, "reason": held.reason} for held in outcome.held],
        "conflicts": None if outcome is None else [conflict.path for conflict in outcome.conflicts],
        "episodes": None if outcome is None else {"recorded": outcome.episodes, "on_service": outcome.episodes_sent},
    }


def inspected(info: DatasetInfo) -> Object:
    """The document of `inspect`."""
    return {
        "uri": info.uri,
        "format": info.format,
        "format_version": info.format_version,
        "num_episodes": info.num_episodes,
        "total_frames": info.total_frames,
        "fps": info.fps,
        "robot_type": info.robot_type,
        "cameras": {
            camera.name: {
                "height": camera.height,
                "width": camera.width,
                "channels": camera.channels,
                "storage": camera.storage,
            }
            for camera in info.cameras
        },
        "observation": {feature.name: _feature(feature) for feature in info.observation},
        "action": {feature.name: _feature(feature) for feature in info.action},
        "tasks": list(info.tasks),
        "has_timestamps": info.has_timestamps,
        "problems": [_problem(problem) for problem in info.problems],
        "episodes": None
        if info.episodes is None
        else [_episode(episode) for episode in info.episodes.page(0, len(info.episodes))],
        "bytes_read": info.cost.bytes_read,
        "requests": info.cost.requests,
        "streamed": info.streamed,
        "elapsed_s": round(info.elapsed_s, 3),
    }


def _feature(feature: Feature) -> Object:
    return {"dtype": feature.dtype, "shape": list(feature.shape)}


def _problem(problem: Problem) -> Object:
    return {"code": problem.code, "file": problem.file, "field": problem.field, "message": problem.message}


def _episode(episode: Episode) -> Object:
    return {
        "episode_index": episode.index,
        "length": episode.length,
        "tasks": list(episode.tasks),
        "data_file": episode.data_file,
        "videos": {
            camera: {"file": span.file, "from_s": span.from_s, "to_s": span.to_s}
            for camera, span in episode.videos.items()
        },
        "problems": [_problem(problem) for problem in episode.problems],
    }
