"""Where a transfer of a catalog dataset gets fresh presigned URLs from."""

from __future__ import annotations

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.wire import DatasetRow, NewDataset, Registration
from noeira_tui.core.errors import TransferError
from noeira_tui.core.presigned import PresignedUrl


class DatasetUrl:
    """The download URL of a row; a fresh one only as long as the row still promises the same contents."""

    def __init__(self, client: CatalogClient, row: DatasetRow, first: PresignedUrl) -> None:
        self._client = client
        self._row = row
        self._first = first

    def current(self) -> PresignedUrl:
        return self._first

    def refresh(self) -> PresignedUrl:
        answer = self._client.get_dataset(self._row.id)
        if answer.row.sha256 != self._row.sha256:
            raise TransferError(
                f"{self._row.id} was replaced on the service while it was downloaded.",
                title="Dataset changed",
                hint="Pull it again to get the new contents.",
                retryable=True,
            )
        return answer.download


class Registrations:
    """The upload URL of a new dataset; a fresh one is a new registration, with its own object key."""

    def __init__(self, client: CatalogClient, new: NewDataset) -> None:
        self._client = client
        self._new = new
        self.latest: Registration = client.register(new)

    def current(self) -> PresignedUrl:
        return self.latest.upload

    def refresh(self) -> PresignedUrl:
        self.latest = self._client.register(self._new)
        return self.latest.upload
