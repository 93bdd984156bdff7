"""Copies inside an outside store: small ones by one request, which can tell the digest too; others by parts.

A store may answer a request for a copy only when it is done, so that a part must be done before nobody waits any more.
"""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES
from noeira_tui.service.presign import object_url
from noeira_tui.service.storehttp import TIMEOUT_S, Answer
from noeira_tui.service.storeparts import forget_parts
from noeira_tui.service.storerefusal import StoreError

if TYPE_CHECKING:
    from noeira_tui.service.store import ObjectStore

WHOLE_UP_TO_BYTES = 256 * 1024**2
_PART_BYTES = 64 * 1024**2
_MOST_PARTS = 10_000
_PATIENCE_S = 300.0
_SLOWEST_PER_S = 1e6
_COPIERS = 4
_COPY_UP_TO_BYTES = MAX_SINGLE_PUT_BYTES
"""The most that S3 copies by one request."""
_WISH = {"x-amz-checksum-algorithm": "SHA256"}
_NOT_UNDERSTOOD = frozenset({400, 405, 501})
_UPLOAD_ID = re.compile(rb"<UploadId>([^<]+)</UploadId>")
_PART = b"<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>"
_ETAG = re.compile(rb"<ETag>([^<]*)</ETag>")


class _UnknownError(Exception):
    """The store does not know how to copy a part."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def copy_inside(store: ObjectStore, key: str, target: str, size_bytes: int) -> None:
    """Copy an object of a bucket to another key of it. Raises StoreError."""
    source = {"x-amz-copy-source": urlsplit(object_url("http://store", store.bucket, key)).path}
    if size_bytes <= WHOLE_UP_TO_BYTES:
        _copy_whole(store, source, target, size_bytes)
    elif (unknown := _copy_by_parts(store, source, target, size_bytes)) is not None:
        # A store that knows no copies of parts.
        if size_bytes > _COPY_UP_TO_BYTES:
            raise store.refused("copy by parts", unknown)
        _copy_whole(store, source, target, size_bytes)


def _copy_whole(store: ObjectStore, source: dict[str, str], target: str, size_bytes: int) -> None:
    # A request that waits for it ends soon where the object is small: so many that hang would stop the service.
    patience_s = min(_PATIENCE_S, TIMEOUT_S + size_bytes / _SLOWEST_PER_S)
    if store.digests_copies:
        # AWS then tells the digest of what it copied, which saves reading it. Others ignore the wish, or refuse it.
        answer = store.call("PUT", target, extra={**source, **_WISH}, timeout_s=patience_s)
        if answer.status not in _NOT_UNDERSTOOD:
            _check(store, "copy", answer)
            return
    answer = store.call("PUT", target, extra=source, timeout_s=patience_s)
    _check(store, "copy", answer)
    # It does without the wish.
    store.digests_copies = False


class _Parts:
    """One copy by parts, which several threads make."""

    def __init__(
        self, store: ObjectStore, source: dict[str, str], target: str, upload: dict[str, str], size_bytes: int
    ) -> None:
        self._store, self._target = store, target
        self._source, self._upload = source, upload
        self._size_bytes = size_bytes
        self._part_bytes = max(_PART_BYTES, -(-size_bytes // _MOST_PARTS))
        self._failed = False
        self.count = -(-size_bytes // self._part_bytes)

    def copy(self, number: int) -> bytes:
        """The tag of a part. Raises StoreError, _UnknownError."""
        if self._failed:
            # What is told is why the first one did.
            return b""
        try:
            return self._copied(number)
        except (StoreError, _UnknownError):
            self._failed = True
            raise

    def _copied(self, number: int) -> bytes:
        begin = (number - 1) * self._part_bytes
        reach = f"bytes={begin}-{min(begin + self._part_bytes, self._size_bytes) - 1}"
        answer = self._store.call(
            "PUT",
            self._target,
            extra={**self._source, "x-amz-copy-source-range": reach},
            query={**self._upload, "partNumber": str(number)},
            timeout_s=_PATIENCE_S,
        )
        if answer.status in _NOT_UNDERSTOOD:
            raise _UnknownError(answer)
        _check(self._store, "copy of a part", answer)
        etag = _ETAG.search(answer.body)
        if etag is None:
            raise self._store.refused("copy of a part", answer)
        return etag[1]


def _copy_by_parts(store: ObjectStore, source: dict[str, str], target: str, size_bytes: int) -> Answer | None:
    """What a store answers that does not know how; None when it is done."""
    begun = store.call("POST", target, query={"uploads": ""})
    if begun.status in _NOT_UNDERSTOOD:
        return begun
    found = _UPLOAD_ID.search(begun.body)
    if begun.status != 200 or found is None:
        raise store.refused("beginning a copy", begun)
    upload = {"uploadId": html.unescape(found[1].decode())}
    parts = _Parts(store, source, target, upload, size_bytes)
    is_done = False
    try:
        with ThreadPoolExecutor(_COPIERS, "copy") as pool:
            listed = b"".join(_PART % part for part in enumerate(pool.map(parts.copy, range(1, parts.count + 1)), 1))
        told = b"<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % listed
        ended = store.call("POST", target, query=upload, data=told, timeout_s=_PATIENCE_S)
        _check(store, "ending a copy", ended)
        is_done = True
    except _UnknownError as err:
        return err.answer
    finally:
        if not is_done:
            forget_parts(store, target, upload["uploadId"])
    return None


def _check(store: ObjectStore, what: str, answer: Answer) -> None:
    # S3 may answer 200 and report the failure in the body.
    if answer.status != 200 or b"<Error" in answer.body:
        raise store.refused(what, answer)
