"""Whether an outside store lets whoever has an upload URL copy any object whose name they know.

The header that asks for a copy is not covered by a plain presigned signature. AWS and the embedded store refuse headers
that were not signed; MinIO does not. It matters where several accounts share a bucket.
"""

from __future__ import annotations

import http.client
import logging
from urllib.parse import urlsplit

from noeira_tui.service.store import ObjectStore, fresh_object_key
from noeira_tui.service.storehttp import connect
from noeira_tui.service.storerefusal import StoreError

_log = logging.getLogger("noeira_tui.service")
_URL_LIVES_S = 60


def warn_of_copies(store: ObjectStore) -> bool:
    """Try it with two small objects, and tell the log when it works. A store that fails is not judged."""
    source, target = fresh_object_key(), fresh_object_key()
    try:
        store.write(source, b"probe")
        copies = _copies(store, source, target)
    except (StoreError, OSError, http.client.HTTPException) as err:
        _log.warning("whether upload URLs of the object store copy objects could not be tried: %s", err)
        return False
    finally:
        store.discard([source, target])
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
