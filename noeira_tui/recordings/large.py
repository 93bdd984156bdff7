"""Files of a recording that one PUT cannot carry: up in parts with the box's own S3 credentials, or held back."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.catalog.client import CatalogClient, FileRegistration
from noeira_tui.core.errors import RefusedError, TransferError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import show_size
from noeira_tui.transfer.facts import TransferContext, Uploaded

if TYPE_CHECKING:
    from noeira_tui.transfer.boxs3 import BoxS3

_SHORTER = "have the recorder begin new files sooner (data_files_size_in_mb, video_files_size_in_mb)"


class LargeFiles:
    """The way up for large files to the service of `client`. May be shared between threads."""

    def __init__(self, client: CatalogClient, context: TransferContext) -> None:
        self._client = client
        self._context = context

    @cached_property
    def _box(self) -> BoxS3 | TransferError | None:
        # Botocore is imported for those only who have such a file.
        from noeira_tui.transfer.boxs3 import find_box_s3

        try:
            return find_box_s3()
        except TransferError as err:
            return err

    def obstacle(self, size_bytes: int) -> str | None:
        """Why a file over the limit cannot be sent, and what to do; None when it can. Raises UnreachableError."""
        too_large = f"{show_size(size_bytes)}, one PUT carries {show_size(self._context.single_put_limit_bytes)}"
        if not self._client.has("multipart-key"):
            return f"{too_large}, and this service takes nothing in parts: {_SHORTER}"
        if isinstance(self._box, TransferError):
            return f"{too_large}: {self._box.message} {self._box.hint}".rstrip()
        if self._box is None:
            return (
                f"{too_large}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to keys that may write to the bucket, "
                f"and it goes up in parts; or {_SHORTER}"
            )
        return None

    def send(self, path: Path, offered: FileRegistration, progress: Progress, cancel: CancelToken) -> Uploaded:
        """Put a file in parts where an offer says. Raises what `upload_in_parts` does, TransferError without a way."""
        from noeira_tui.transfer.boxs3 import BoxS3
        from noeira_tui.transfer.multipart import upload_in_parts
        from noeira_tui.transfer.objectplace import ObjectPlace

        if offered.upload is None or offered.bucket is None or offered.object_key is None:
            raise TransferError(f"The service does not say where {path.name} belongs in the store.", hint=_SHORTER)
        if not isinstance(self._box, BoxS3):
            raise TransferError(f"There are no S3 credentials on this box for {path.name}.")
        target = self._box.at(ObjectPlace.behind(offered.upload.url, offered.bucket, offered.object_key))
        return upload_in_parts(path, target, progress=progress, cancel=cancel, context=self._context)


def refusal_of(err: RefusedError) -> str:
    """What a service says of a file that it does not take in parts."""
    told = err.server_text or err.message
    return f"{told}; {_SHORTER}" if err.status == 413 else told
