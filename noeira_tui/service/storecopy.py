"""Copies inside an outside store: small ones by one request, which can tell the digest too; others by parts.

A store may answer a request for a copy only when it is done, so that a part must be done before nobody waits any more.
"""

from __future__ import annotations

import html
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES
from noeira_tui.service.presign import object_url
from noeira_tui.service.storehttp import TIMEOUT_S, Answer
from noeira_tui.service.storerefusal import StoreError

if TYPE_CHECKING:
    from noeira_tui.service.store import ObjectStore

_log = logging.getLogger("noeira_tui.service")
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


def _copy_by_parts(store: ObjectStore, source: dict[str, str], target: str, size_bytes: int) -> Answer | None:
    """What a store answers that does not know how; None when it is done."""
    begun = store.call("POST", target, query={"uploads": ""})
    if begun.status in _NOT_UNDERSTOOD:
        return begun
    found = _UPLOAD_ID.search(begun.body)
    if begun.status != 200 or found is None:
        raise store.refused("beginning a copy", begun)
    upload = {"uploadId": html.unescape(found[1].decode())}
    part_bytes = max(_PART_BYTES, -(-size_bytes // _MOST_PARTS))

    def copied(number: int) -> bytes:
        begin = (number - 1) * part_bytes
        reach = f"bytes={begin}-{min(begin + part_bytes, size_bytes) - 1}"
        extra = {**source, "x-amz-copy-source-range": reach}
        query = {**upload, "partNumber": str(number)}
        answer = store.call("PUT", target, extra=extra, query=query, timeout_s=_PATIENCE_S)
        if answer.status in _NOT_UNDERSTOOD:
            raise _UnknownError(answer)
        _check(store, "copy of a part", answer)
        etag = _ETAG.search(answer.body)
        return etag[1] if etag is not None else b""

    is_done = False
    try:
        with ThreadPoolExecutor(_COPIERS, "copy") as pool:
            parts = enumerate(pool.map(copied, range(1, -(-size_bytes // part_bytes) + 1)), 1)
            listed = b"".join(_PART % part for part in parts)
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


def forget_parts(store: ObjectStore, key: str, upload_id: str) -> None:
    """Let go of the parts of an object that is not to be: they are in no list of objects, and cost room."""
    try:
        answer = store.call("DELETE", key, query={"uploadId": upload_id})
        if answer.status not in {200, 204, 404}:
            raise store.refused("removing parts", answer)
    except StoreError as err:
        _log.warning("the parts of %s are left behind: %s", key, err)


def _check(store: ObjectStore, what: str, answer: Answer) -> None:
    # S3 may answer 200 and report the failure in the body.
    if answer.status != 200 or b"<Error" in answer.body:
        raise store.refused(what, answer)
