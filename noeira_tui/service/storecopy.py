"""Copies inside an outside store: small ones by one request, which can tell the digest too; others by parts.

A store may answer a request for a copy only when it is done, so that a part must be done before nobody waits any more.
"""

from __future__ import annotations

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noeira_tui.core.presigned import MAX_SINGLE_PUT_BYTES
from noeira_tui.service.presign import object_url

if TYPE_CHECKING:
    from noeira_tui.service.store import ObjectStore

_log = logging.getLogger("noeira_tui.service")
WHOLE_UP_TO_BYTES = 256 * 1024**2
_PART_BYTES = 64 * 1024**2
_MOST_PARTS = 10_000
_PATIENCE_S = 300.0
_COPIERS = 4
_COPY_UP_TO_BYTES = MAX_SINGLE_PUT_BYTES
"""The most that S3 copies by one request."""
_WISH = {"x-amz-checksum-algorithm": "SHA256"}
_NOT_UNDERSTOOD = frozenset({400, 405, 501})
_UPLOAD_ID = re.compile(rb"<UploadId>([^<]+)</UploadId>")
_ETAG = re.compile(rb"<ETag>([^<]*)</ETag>")


def copy_inside(store: ObjectStore, key: str, target: str, size_bytes: int) -> None:
    """Copy an object of a bucket to another key of it. Raises StoreError."""
    source = {"x-amz-copy-source": urlsplit(object_url(store.endpoint, store.bucket, key)).path}
    if size_bytes <= WHOLE_UP_TO_BYTES:
        _copy_whole(store, source, target)
    elif not _copy_by_parts(store, source, target, size_bytes):
        # A store that knows no copies of parts.
        if size_bytes > _COPY_UP_TO_BYTES:
            raise store.refused("copy by parts", 501)
        _copy_whole(store, source, target)


def _copy_whole(store: ObjectStore, source: dict[str, str], target: str) -> None:
    status, body = 0, b""
    if store.digests_copies:
        # AWS then tells the digest of what it copied, which saves reading it. Others ignore the wish, or refuse it.
        status, _, body = store.call("PUT", target, extra={**source, **_WISH}, timeout_s=_PATIENCE_S)
        store.digests_copies = status not in _NOT_UNDERSTOOD
    if not store.digests_copies:
        status, _, body = store.call("PUT", target, extra=source, timeout_s=_PATIENCE_S)
    _check(store, "copy", status, body)


def _copy_by_parts(store: ObjectStore, source: dict[str, str], target: str, size_bytes: int) -> bool:
    """False on a store that does not know how."""
    status, _, body = store.call("POST", target, query={"uploads": ""})
    found = _UPLOAD_ID.search(body)
    if status in _NOT_UNDERSTOOD:
        return False
    if status != 200 or found is None:
        raise store.refused("beginning a copy", status)
    upload = {"uploadId": found[1].decode()}
    part_bytes = max(_PART_BYTES, -(-size_bytes // _MOST_PARTS))

    def copied(number: int) -> bytes | None:
        begin = (number - 1) * part_bytes
        reach = f"bytes={begin}-{min(begin + part_bytes, size_bytes) - 1}"
        extra = {**source, "x-amz-copy-source-range": reach}
        query = {**upload, "partNumber": str(number)}
        status, _, body = store.call("PUT", target, extra=extra, query=query, timeout_s=_PATIENCE_S)
        if status in _NOT_UNDERSTOOD:
            return None
        _check(store, "copy of a part", status, body)
        etag = _ETAG.search(body)
        return etag[1] if etag is not None else b""

    is_done = False
    try:
        with ThreadPoolExecutor(_COPIERS, "copy") as pool:
            parts = enumerate(pool.map(copied, range(1, -(-size_bytes // part_bytes) + 1)), 1)
            listed = b""
            for number, etag in parts:
                if etag is None:
                    return False
                listed += b"<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" % (number, etag)
        told = b"<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % listed
        status, _, body = store.call("POST", target, query=upload, data=told, timeout_s=_PATIENCE_S)
        _check(store, "ending a copy", status, body)
        is_done = True
    finally:
        if not is_done:
            _forget(store, target, upload)
    return True


def _forget(store: ObjectStore, target: str, upload: dict[str, str]) -> None:
    """Let go of the parts of a copy that failed: they are in no list, and cost room."""
    from noeira_tui.service.store import StoreError

    try:
        store.call("DELETE", target, query=upload)
    except StoreError as err:
        _log.warning("the parts of %s are left behind: %s", target, err)


def _check(store: ObjectStore, what: str, status: int, body: bytes) -> None:
    # S3 may answer 200 and report the failure in the body.
    if status != 200 or b"<Error" in body:
        raise store.refused(what, status)
