"""An outside store tried out at the start: whether it does what a push needs, and nothing that nobody should do.

A push needs a copy inside the store. And whoever has an upload URL should not copy any object whose name they know: the
header that asks for a copy is not covered by a plain presigned signature. AWS and the embedded store refuse headers
that were not signed; MinIO does not. It matters where several accounts share a bucket.
"""

from __future__ import annotations

import http.client
import logging
from urllib.parse import urlsplit

from noeira_tui.service.store import ObjectStore, fresh_object_key
from noeira_tui.service.storecopy import copy_inside
from noeira_tui.service.storehttp import connect
from noeira_tui.service.storerefusal import StoreError

_log = logging.getLogger("noeira_tui.service")
_URL_LIVES_S = 60
_PROBE = b"probe"


def try_out(store: ObjectStore) -> bool:
    """Try it with small objects, and tell the log what is wrong; whether upload URLs copy objects.

    A store that fails may still be read from, and does what is needed as soon as somebody mends its rules.
    """
    source, target, settled = fresh_object_key(), fresh_object_key(), fresh_object_key()
    try:
        store.write(source, _PROBE)
        copy_inside(store, source, settled, len(_PROBE))
        copies = _copies(store, source, target)
    except (StoreError, OSError, http.client.HTTPException) as err:
        _log.error("the object store does not do what pushes need: %s", err)
        return False
    finally:
        store.discard([source, target, settled])
    if copies:
        _log.warning(
            "this object store lets whoever has an upload URL copy any object whose name they know: where accounts "
            "must not trust each other, put a proxy in front that refuses it (docs/service-r2.md)"
        )
    return copies


def _copies(store: ObjectStore, source: str, target: str) -> bool:
    url = urlsplit(store.presign_put(target, _URL_LIVES_S, store.endpoint).url)
    connection = connect(url)
    try:
        headers = {"x-amz-copy-source": f"/{store.bucket}/{source}", "Content-Length": "0"}
        connection.request("PUT", f"{url.path}?{url.query}", headers=headers)
        status = connection.getresponse().status
    finally:
        connection.close()
    found = store.head(target) if status == 200 else None
    return found is not None and found.size_bytes > 0
