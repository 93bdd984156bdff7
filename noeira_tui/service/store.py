"""The object store as the service sees it: presigned URLs for clients, and a few signed control calls of its own.

Control calls use the standard library's `http.client`: it is imported in 20 ms where httpx takes 110, which is paid at
every start of the service, and a control call needs nothing that only httpx has.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import http.client
import logging
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from noeira_tui.core.outages import in_words
from noeira_tui.core.paths import suffix_of
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.service.presign import Signer, canonical_query, object_url
from noeira_tui.service.storecopy import WHOLE_UP_TO_BYTES, copy_inside
from noeira_tui.service.storehttp import TIMEOUT_S, Answer, Connections, Counted, make_ready
from noeira_tui.service.storerefusal import StoreError, refusal

_DISCARDERS = 4

_log = logging.getLogger("noeira_tui.service")


def fresh_object_key(filename: str | None = None) -> str:
    """A random key at the root of the bucket, with the suffix of `filename` so that downloads have a fitting name."""
    return f"{secrets.token_hex(20)}{suffix_of(filename)[:32] if filename else ''}"


# People may keep files of their own in the bucket: only keys of this form are ever swept.
OWN_KEY = re.compile(r"[0-9a-f]{40}(\..*)?")


@dataclass(frozen=True)
class StoredObject:
    """What the store says of an object; `sha256` (hex) is None where it cannot tell."""

    size_bytes: int
    sha256: str | None = None


class ObjectStore:
    """One bucket of an S3 store. May be shared between threads; idle connections are kept and used again.

    `endpoint` is where the service reaches it, `public_endpoint` where clients do, both without the bucket; `style`
    says where its name goes (`path` or `host`). Objects of up to `hash_up_to_bytes` are read to learn their digest
    where the store keeps none, which is usual after a plain PUT. `digests_copies` is False once the store has shown
    that it learns no digests from copies.
    """

    is_listed = False
    """Whether `keys_older_than` tells what is stored."""

    def __init__(
        self,
        endpoint: str,
        bucket: str,
        signer: Signer,
        public_endpoint: str | None = None,
        *,
        style: str = "path",
        hash_up_to_bytes: int = 0,
    ) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.bucket = bucket
        self.public_endpoint = (public_endpoint or endpoint).rstrip("/")
        self._signer = signer
        self._style = style
        self.hash_up_to_bytes = hash_up_to_bytes
        self.digests_copies = True
        self._address = urlsplit(object_url(self.endpoint, bucket, style=style))
        self._connections = Connections(self._address)
        self._discarding = ThreadPoolExecutor(_DISCARDERS, "discard")
        self._closing = False

    @property
    def access_key(self) -> str:
        return self._signer.access_key

    def presign_get(self, key: str, expires_s: int, endpoint: str | None = None) -> PresignedUrl:
        """A URL to read an object with; `endpoint` replaces the public one."""
        return self._signer.presign("GET", self._url(key, endpoint or self.public_endpoint), expires_s)

    def presign_put(self, key: str, expires_s: int, endpoint: str | None = None) -> PresignedUrl:
        """A URL for one plain PUT of an object; `endpoint` replaces the public one."""
        return self._signer.presign("PUT", self._url(key, endpoint or self.public_endpoint), expires_s)

    def head(self, key: str) -> StoredObject | None:
        """What is stored under a key; None when nothing is. Raises StoreError."""
        answer = self.call("HEAD", key, extra={"x-amz-checksum-mode": "ENABLED"})
        if answer.status == 404:
            return None
        length = answer.headers.get("content-length")
        if answer.status != 200 or length is None or not length.isdigit():
            raise self.refused("HEAD", answer)
        return StoredObject(int(length), _sha256_of(answer.headers.get("x-amz-checksum-sha256")))

    def read_through(self, key: str) -> StoredObject | None:
        """What is stored under a key, learned by reading all of it; None when nothing is. Raises StoreError."""
        counted = Counted()
        answer = self.call("GET", key, reader=counted.read)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise self.refused("GET", answer)
        return StoredObject(counted.size_bytes, counted.sha256)

    def read(self, key: str) -> bytes:
        """The contents of a small object. Raises StoreError."""
        return self._expected("GET", key, {200}).body

    def write(self, key: str, data: bytes) -> None:
        """Store a small object. Raises StoreError."""
        self._expected("PUT", key, {200}, data=data)

    def delete(self, key: str) -> None:
        """Remove an object; one that is not there is no error. Raises StoreError."""
        self._expected("DELETE", key, {200, 204, 404})

    def discard(self, keys: Sequence[str]) -> None:
        """Let other threads remove objects that nobody needs: no answer waits for that."""
        try:
            if keys and not self._closing:
                self._discarding.submit(self.remove, keys)
        except RuntimeError:
            # Closed at this very moment.
            _log.warning("%d objects are left behind for the next sweep", len(keys))

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects that nobody needs; what the store refuses now is left to the sweeper."""
        for key in keys:
            if self._closing:
                return
            try:
                self.delete(key)
            except StoreError as err:
                _log.warning("%s is left behind: %s", key, err)

    def settle(self, key: str, target: str, size_bytes: int) -> bool:
        """Copy what is stored now to `target`, which no upload URL can replace; whether there was anything to copy.

        Whoever holds an upload URL can replace the object it names until it expires. An outside store cannot rename:
        there it costs a copy inside the store. `size_bytes` is what the object has. Raises StoreError.
        """
        try:
            copy_inside(self, key, target, size_bytes)
        except StoreError as err:
            if err.is_gone and self.head(key) is None:
                return False
            raise
        return True

    def settled(self, key: str, size_bytes: int) -> StoredObject | None:
        """What a settled object of that size is, as far as that is told without reading it. Raises StoreError."""
        if not self.digests_copies and size_bytes <= self.hash_up_to_bytes:
            # It will be read, which tells its size too.
            return StoredObject(size_bytes)
        stored = self.head(key)
        if stored is not None and stored.sha256 is None and size_bytes <= WHOLE_UP_TO_BYTES:
            self.digests_copies = False
        return stored

    def flush(self) -> None:
        """Make settled objects durable before a row names them."""

    def keys_older_than(self, moment: datetime, lot: int) -> Iterator[list[str]]:
        """Objects with keys like ours, in lots; an outside store is not listed, as it may be someone else's too."""
        yield from ()

    def make_bucket(self) -> None:
        """Make the bucket unless it is there. Raises StoreError, which says what the store answered."""
        if self._expected("HEAD", "", {200, 404}).status == 404:
            self._expected("PUT", "", {200, 409})

    def check(self) -> None:
        """Raise StoreError unless the store answers for the bucket."""
        self._expected("HEAD", "", {200})

    def close(self) -> None:
        """End what is going on, however long it would take, and let nothing begin.

        What was still to be removed is left to the sweeper.
        """
        self._closing = True
        self._connections.close()
        self._discarding.shutdown(cancel_futures=True)

    def _url(self, key: str, endpoint: str) -> str:
        return object_url(endpoint, self.bucket, key, style=self._style)

    def refused(self, what: str, answer: Answer) -> StoreError:
        """The error for a control call that was answered as it should not be."""
        place = f"bucket {self.bucket!r} at {self.endpoint}"
        return refusal(what, place, answer, self._signer.region)

    def _unanswered(self, err: Exception) -> StoreError:
        return StoreError(
            f"The object store at {self.endpoint} gave no answer: {in_words(err)}.",
            hint="See whether it runs and can be reached from here.",
        )

    def _expected(self, method: str, key: str, statuses: Collection[int], *, data: bytes = b"") -> Answer:
        """A call that is answered with one of these statuses, or raises StoreError."""
        answer = self.call(method, key, data=data)
        if answer.status not in statuses:
            raise self.refused(method if key else f"{method} bucket", answer)
        return answer

    def call(
        self,
        method: str,
        key: str,
        *,
        extra: dict[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        data: bytes = b"",
        timeout_s: float = TIMEOUT_S,
        reader: Callable[[http.client.HTTPResponse], bytes] = http.client.HTTPResponse.read,
    ) -> Answer:
        """One signed request. Raises StoreError without answer.

        It is sent again when an idle connection turns out to be closed: every request here can be repeated. `timeout_s`
        is how long the store may say nothing.
        """
        url = self._url(key, self.endpoint) + (f"?{canonical_query(query)}" if query else "")
        digest = hashlib.sha256(data).hexdigest()
        headers = self._signer.headers(method, url, extra=extra, payload_sha256=digest)
        body = data if method in {"PUT", "POST"} else None
        address = urlsplit(url)
        target = (address.path or "/") + (f"?{address.query}" if query else "")
        reused = True
        while True:
            try:
                connection, reused = self._connections.take(fresh=not reused)
            except OSError as err:
                raise self._unanswered(err) from err
            try:
                make_ready(connection, timeout_s)
                connection.request(method, target, body=body, headers=headers)
                response = connection.getresponse()
                content = reader(response)
            except (http.client.HTTPException, OSError) as err:
                self._connections.give_back(connection, usable=False)
                if reused:
                    reused = False
                    continue
                raise self._unanswered(err) from err
            self._connections.give_back(connection, usable=not response.will_close)
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)


def _sha256_of(header: str | None) -> str | None:
    """A base64 checksum header as hex; None for none, or for a checksum of parts (`…-3`), which is another thing."""
    if header is None or "-" in header:
        return None
    try:
        digest = base64.b64decode(header, validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest.hex() if len(digest) == 32 else None
