"""A dataset that one PUT cannot carry: with S3 credentials on the box it goes up in parts, else one is told how."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.wire import Registration
from noeira_tui.core.errors import TransferError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import API_KEY
from noeira_tui.transfer.facts import TransferContext, Uploaded

if TYPE_CHECKING:
    from noeira_tui.transfer.boxs3 import BoxS3
    from noeira_tui.transfer.objectplace import ObjectPlace


class LargePush:
    """One push over the limit of a PUT. Made before anything is hashed or registered."""

    def __init__(self, client: CatalogClient, source: Path, size_bytes: int, context: TransferContext) -> None:
        """Look for a way up. Raises TransferError on a service that does not say where its objects are."""
        from noeira_tui.transfer.boxs3 import find_box_s3
        from noeira_tui.transfer.upload import too_large

        if not client.has("multipart-key"):
            error = too_large(source, size_bytes, context.single_put_limit_bytes)
            error.hint = "This service takes no uploads in parts. Split it into several versions or files."
            raise error
        self._client = client
        self._source = source
        self._size_bytes = size_bytes
        self._context = context
        self._box: BoxS3 | None = find_box_s3()

    @property
    def can_send(self) -> bool:
        """Whether there are credentials on this box; without, reading the file has no use."""
        return self._box is not None

    def send(self, registration: Registration, progress: Progress, cancel: CancelToken) -> Uploaded:
        """Put the file where a registration says. Raises TransferError with the commands for it without credentials."""
        from noeira_tui.transfer.multipart import upload_in_parts
        from noeira_tui.transfer.objectplace import ObjectPlace

        if registration.bucket is None or not registration.object_key:
            raise TransferError(
                f"The service offers uploads in parts, but does not say where {registration.id} belongs.",
                hint="Ask whoever runs the service.",
            )
        place = ObjectPlace.behind(registration.upload.url, registration.bucket, registration.object_key)
        if self._box is None:
            raise self._by_hand(registration.id, place)
        target = self._box.at(place)
        return upload_in_parts(self._source, target, progress=progress, cancel=cancel, context=self._context)

    def _by_hand(self, dataset_id: str, place: ObjectPlace) -> TransferError:
        aws, rclone = place.commands(self._source)
        return TransferError(
            f"{self._source} has {self._size_bytes:,} bytes, one PUT may carry "
            f"{self._context.single_put_limit_bytes:,}, and there are no S3 credentials on this box.",
            title="Too large for one PUT",
            hint=(
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to keys that may write to the bucket and push again: "
                f"it goes up in parts. Or send it with `{aws}` or `{rclone}`, and then publish it with "
                f"`{self._complete_command(dataset_id, place)}`."
            ),
        )

    def _complete_command(self, dataset_id: str, place: ObjectPlace) -> str:
        told = json.dumps({"size_bytes": self._size_bytes, "object_key": place.key, "sha256": "DIGEST"})
        digest = f"'\"$(sha256sum < {shlex.quote(str(self._source))} | cut -c-64)\"'"
        body = shlex.quote(told).replace("DIGEST", digest)
        url = shlex.quote(f"{self._client.url}/datasets/{dataset_id}/complete")
        headers = f"-H \"Authorization: Bearer ${API_KEY}\" -H 'Content-Type: application/json'"
        return f"curl -fsS {headers} -d {body} {url}"
