"""Putting a finished recording on the service, file by file, in the order that keeps readers safe."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.core.presigned import FixedUrl
from noeira_tui.recordings.read import read_recording

if TYPE_CHECKING:
    from noeira_tui.catalog.client import CatalogClient


def send_recording(client: CatalogClient, folder: Path, *, only: Callable[[str], bool] = lambda path: True) -> None:
    """Send `<projects>/<project>/datasets/<dataset>` to a project that the service has, `meta/info.json` last.

    `only` chooses among the paths. What the service holds already is not sent again. Raises ServiceError or
    TransferError.
    """
    from noeira_tui.transfer.hashing import hash_file
    from noeira_tui.transfer.upload import upload

    recording = read_recording(folder, time.time())
    project, dataset = recording.project, recording.dataset
    client.put_recording(project, dataset, n_episodes=recording.episodes, n_frames=recording.frames, fps=recording.fps)
    for file in recording.files:
        if not only(file.path):
            continue
        digest, _ = hash_file(folder / file.path)
        registered = client.register_file(project, dataset, file.path, sha256=digest, size_bytes=file.size_bytes)
        if registered.upload is not None:
            sent = upload(folder / file.path, FixedUrl(registered.upload))
            client.complete_file(project, dataset, file.path, sha256=sent.sha256, size_bytes=sent.size_bytes)
