"""Datasets on the service as addresses: `noeira://datasets/ID` and `noeira://projects/P/D`, read by presigned URLs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.wire import FileRow
from noeira_tui.core.errors import DatasetError, RefusedError
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.settings import API_KEY, Settings
from noeira_tui.datasets.webstore import Resolver

_SOON_S = 30.0
_DATASET = re.compile(r"noeira://datasets/([^/?#]+)/?")
_RECORDING = re.compile(r"noeira://projects/([^/?#]+)/([^/?#]+)/?(?:\?revision=(\d+))?")


def resolvers(settings: Settings) -> Callable[[str], Resolver]:
    """What `datasets` asks for the files behind a `noeira://` address, with this box's service and key.

    The key is looked for only when such an address is opened: raises MissingSettingError and ServiceError then.
    """

    def make(address: str) -> Resolver:
        dataset, recording = _DATASET.fullmatch(address), _RECORDING.fullmatch(address)
        if dataset is None and recording is None:
            raise DatasetError(
                f"{address!r} is no address on the service.",
                hint="It is noeira://datasets/ID or noeira://projects/PROJECT/DATASET.",
            )
        client = CatalogClient(settings.service_url, settings.require(API_KEY))
        if dataset is not None:
            return DatasetResolver(client, dataset[1])
        assert recording is not None
        revision = None if recording[3] is None else int(recording[3])
        return RecordingResolver(client, recording[1], recording[2], revision)

    return make


class DatasetResolver:
    """A catalog dataset: one file, whose name tells its format. May be shared between threads."""

    def __init__(self, client: CatalogClient, dataset_id: str) -> None:
        self._client = client
        self._id = dataset_id
        self._lock = threading.Lock()
        self._answer = client.get_dataset(dataset_id)
        row = self._answer.row
        self.filename = row.filename or urlsplit(self._answer.download.url).path.rpartition("/")[2] or row.id

    def paths(self) -> Mapping[str, int | None]:
        return {"": self._answer.row.size_bytes}

    def digests(self) -> Mapping[str, str]:
        return {} if self._answer.row.sha256 is None else {"": self._answer.row.sha256}

    def url(self, path: str, *, fresh: bool) -> PresignedUrl | None:
        if path:
            return None
        with self._lock:
            if fresh or self._answer.download.expires_within(_SOON_S):
                answer = self._client.get_dataset(self._id)
                if answer.row.sha256 != self._answer.row.sha256:
                    raise DatasetError(
                        f"{self._id} was replaced on the service while it was looked at.",
                        title="Dataset changed",
                        hint="Look at it again.",
                    )
                self._answer = answer
            return self._answer.download


class RecordingResolver:
    """A recording: the files of one revision, or of the newest one. May be shared between threads."""

    filename = ""

    def __init__(self, client: CatalogClient, project: str, dataset: str, revision: int | None) -> None:
        self._client = client
        self._place = (project, dataset)
        self._lock = threading.Lock()
        self._revision = revision
        self._files = self._ask()

    def paths(self) -> Mapping[str, int | None]:
        return {path: row.size_bytes for path, row in self._files.items()}

    def digests(self) -> Mapping[str, str]:
        return {path: row.sha256 for path, row in self._files.items() if row.sha256 is not None}

    def url(self, path: str, *, fresh: bool) -> PresignedUrl | None:
        with self._lock:
            row = self._files.get(path)
            if row is None or row.download is None:
                return None
            if fresh or row.download.expires_within(_SOON_S):
                before = row.sha256
                self._files = self._ask()
                row = self._files.get(path)
                if row is None or row.sha256 != before:
                    raise DatasetError(
                        f"{path} was replaced on the service while it was looked at.",
                        title="Dataset changed",
                        hint="Look at it again.",
                    )
            return row.download

    def _ask(self) -> dict[str, FileRow]:
        project, dataset = self._place
        answer = self._client.get_recording(project, dataset, self._revision)
        if answer is None:
            raise RefusedError(
                f"There is no recording {project}/{dataset} on the service.", status=404, title="No such recording"
            )
        # One look is at one state of the recording, even while it is being pushed to.
        self._revision = answer.revision if self._revision is None else self._revision
        return {row.path: row for row in answer.files if row.download is not None and row.is_safe}
