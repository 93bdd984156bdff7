"""Parts of objects that never became whole: they are in no list of objects, cost room, and go by no DELETE of theirs.

A copy by parts leaves them when its service is killed, and a box that sends by parts when it is.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from noeira_tui.service.storerefusal import StoreError

if TYPE_CHECKING:
    from noeira_tui.service.store import ObjectStore

_log = logging.getLogger("noeira_tui.service")
_MOST_PAGES = 100
_UPLOAD = re.compile(r"<Upload>.*?</Upload>", re.DOTALL)
_TRUNCATED = re.compile(r"<IsTruncated>\s*true\s*</IsTruncated>", re.IGNORECASE)


def forget_parts(store: ObjectStore, key: str, upload_id: str) -> None:
    """Let go of the parts of an object that is not to be; what the store refuses is told to the log."""
    try:
        answer = store.call("DELETE", key, query={"uploadId": upload_id})
        if answer.status not in {200, 204, 404}:
            raise store.refused("removing parts", answer)
    except StoreError as err:
        _log.warning("the parts of %s are left behind: %s", key, err)


def forget_unfinished(store: ObjectStore, keys: Collection[str]) -> None:
    """Let go of the parts of these objects, and of no others: the bucket may be someone else's too.

    A store that does not list parts, or not to this key pair, has rules of its own for them.
    """
    if store.is_listed:
        return
    try:
        for key, upload_id in _unfinished(store):
            if key in keys:
                forget_parts(store, key, upload_id)
    except StoreError as err:
        _log.warning("parts of unfinished objects are not looked for: %s", err)


def _unfinished(store: ObjectStore) -> Iterator[tuple[str, str]]:
    """Keys and upload ids of what was begun by parts and not ended. Raises StoreError."""
    query = {"uploads": ""}
    for _ in range(_MOST_PAGES):
        answer = store.call("GET", "", query=query)
        if answer.status != 200:
            raise store.refused("listing parts", answer)
        text = answer.body.decode("utf-8", "replace")
        for upload in _UPLOAD.findall(text):
            yield _text("Key", upload), _text("UploadId", upload)
        key, upload_id = _text("NextKeyMarker", text), _text("NextUploadIdMarker", text)
        if not _TRUNCATED.search(text) or not key:
            return
        query = {"uploads": "", "key-marker": key, "upload-id-marker": upload_id}


def _text(name: str, xml: str) -> str:
    found = re.search(rf"<{name}>([^<]*)</{name}>", xml)
    return html.unescape(found[1]) if found else ""
