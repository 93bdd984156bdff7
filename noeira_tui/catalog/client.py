"""Control calls to the catalog service: one method a route, every fault an error of ours; no bytes of datasets."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from noeira_tui.catalog import refusals
from noeira_tui.catalog.retry import INTERACTIVE, RETRY_STATUSES, Patience, comparing_s, wait_before
from noeira_tui.catalog.wire import (
    DatasetAnswer,
    DatasetRow,
    NewDataset,
    OfferedFile,
    ProjectRow,
    RecordingAnswer,
    RecordingRow,
    Registration,
    ServiceFacts,
    as_list,
    as_object,
    parse_presigned,
)
from noeira_tui.catalog.wirejson import optional_text
from noeira_tui.core.errors import ConfigError, ProtocolError, RefusedError, ServiceError, UnreachableError
from noeira_tui.core.outages import in_words
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import redact, without_query
from noeira_tui.core.settings import API_KEY, URL

if TYPE_CHECKING:
    import httpx


def _trust(url: str) -> ssl.SSLContext:
    """Whom the service's certificate may be from; an address without TLS need not load all authorities for it."""
    if not url.lower().startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    from noeira_tui.transfer.dial import tls_context

    return tls_context()


@dataclass(frozen=True)
class FileRegistration:
    """The answer to a file's registration: `unchanged` content needs no upload. `bucket` and `object_key` say where in
    the store it belongs, on a service that takes uploads in parts."""

    unchanged: bool
    upload: PresignedUrl | None = None
    bucket: str | None = None
    object_key: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the service answered: the status, and the parsed JSON (None for a body that is none)."""

    status: int
    data: object


class CatalogClient:
    """Talks to one catalog service with one API key; may be shared between threads.

    Every method raises UnreachableError (no answer), RefusedError (an error status) or ProtocolError (not the
    protocol). The key never shows in `repr()` or in an error.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        patience: Patience = INTERACTIVE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx

        if not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(
                f"{API_KEY} has characters that no key has (spaces, line ends or letters outside ASCII).",
                title="Wrong API key",
                hint="Copy it again, without quotes or line ends around it.",
            )
        self.url = url.rstrip("/")
        self._patience = patience
        self._sleep = sleep
        self._facts: ServiceFacts | None = None
        self.requests = 0
        """How many requests were sent, repeated ones included."""
        self.clock_skew_s: float | None = None
        """How far the service's clock is ahead of ours, in seconds, by its last answer; None before the first."""
        try:
            self._http = httpx.Client(
                base_url=self.url,
                headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
                timeout=httpx.Timeout(30.0, connect=6.0),
                follow_redirects=False,
                verify=_trust(self.url),
            )
        except (httpx.InvalidURL, ValueError, OSError) as err:
            raise ConfigError(f"{URL} {without_query(url)!r} cannot be used: {redact(str(err))}.") from None

    def __repr__(self) -> str:
        return f"CatalogClient({without_query(self.url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # -- the service itself

    def facts(self) -> ServiceFacts:
        """What the service says of itself, asked once; nothing for a service without the route."""
        if self._facts is None:
            try:
                self._facts = ServiceFacts.parse(self._call("GET", "/"))
            except UnreachableError:
                raise
            except ServiceError:
                self._facts = ServiceFacts()
        return self._facts

    def has(self, extension: str) -> bool:
        """Whether the service has an extension of the protocol."""
        return extension in self.facts().extensions

    # -- catalog datasets

    def list_datasets(self) -> tuple[DatasetRow, ...]:
        """All rows, pending ones included."""
        return tuple(DatasetRow.parse(row) for row in as_list(self._call("GET", "/datasets"), "datasets"))

    def get_dataset(self, dataset_id: str) -> DatasetAnswer:
        """One ready row with a download URL. A pending one raises RefusedError with status 409, explained."""
        try:
            return DatasetAnswer.parse(self._call("GET", f"/datasets/{_segment(dataset_id)}"))
        except RefusedError as err:
            if err.status == 409:
                raise RefusedError(
                    f"{dataset_id}: its upload never completed ({err.server_text or 'the service says 409'}).",
                    status=409,
                    server_text=err.server_text,
                    title="Dataset is pending",
                    hint="Whoever pushes it must finish: running `catalog push` again completes it.",
                ) from err
            if err.status == 404:
                raise RefusedError(
                    f"There is no dataset {dataset_id!r} on {without_query(self.url)}.",
                    status=404,
                    server_text=err.server_text,
                    title="No such dataset",
                    hint="`noeira-tui catalog list` shows the ids.",
                ) from err
            raise

    def register(self, new: NewDataset) -> Registration:
        """Announce a dataset; the answer has the URL its bytes go to."""
        return Registration.parse(self._call("POST", "/datasets", new.to_json()))

    def complete(
        self,
        dataset_id: str,
        *,
        size_bytes: int,
        sha256: str,
        object_key: str | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Say that the bytes of a registration are there."""
        body: dict[str, Any] = {"size_bytes": size_bytes, "sha256": sha256}
        if object_key:
            body["object_key"] = object_key
        route, busy_s = f"/datasets/{_segment(dataset_id)}/complete", comparing_s(size_bytes)
        self.exchange("POST", route, body, busy_s=busy_s, cancel=cancel)

    def delete_dataset(self, dataset_id: str) -> None:
        """Remove a dataset from the service."""
        self._call("DELETE", f"/datasets/{_segment(dataset_id)}")

    # -- projects and recordings

    def list_projects(self) -> tuple[ProjectRow, ...]:
        """All projects this key may see."""
        return tuple(ProjectRow.parse(row) for row in as_list(self._call("GET", "/projects"), "projects"))

    def put_project(self, project: str, description: str | None = None) -> None:
        """Make a project if there is none, and set its description when one is given."""
        body = {} if description is None else {"description": description}
        self._call("PUT", f"/projects/{_segment(project)}", body)

    def list_recordings(self, project: str) -> tuple[RecordingRow, ...]:
        """The recordings of a project."""
        answer = self._call("GET", f"/projects/{_segment(project)}/datasets")
        return tuple(RecordingRow.parse(row) for row in as_list(answer, "recordings"))

    def put_recording(
        self, project: str, dataset: str, *, n_episodes: int | None, n_frames: int | None, fps: float | None
    ) -> None:
        """Make a recording if there is none, and set its counts."""
        body = {"n_episodes": n_episodes, "n_frames": n_frames, "fps": fps}
        self._call("PUT", f"/projects/{_segment(project)}/datasets/{_segment(dataset)}", body)

    def delete_recording(self, project: str, dataset: str) -> None:
        """Remove a recording from the service."""
        self._call("DELETE", recording_route(project, dataset))

    def get_recording(self, project: str, dataset: str, revision: int | str | None = None) -> RecordingAnswer | None:
        """A recording's files; None when the service does not know it.

        `revision` is a number or `working` on a service that keeps revisions; without it the newest one answers.
        """
        query = "" if revision is None else f"?revision={_segment(str(revision))}"
        try:
            return RecordingAnswer.parse(self._call("GET", f"{recording_route(project, dataset)}/files{query}"))
        except RefusedError as err:
            if err.status == 404:
                return None
            raise

    def register_file(
        self,
        project: str,
        dataset: str,
        path: str,
        *,
        sha256: str,
        size_bytes: int,
        base_sha256: str | None = None,
        in_parts: bool = False,
    ) -> FileRegistration:
        """Offer one file of a recording; with `in_parts` the answer says where in the store it belongs."""
        body = OfferedFile(path, sha256, size_bytes, base_sha256).to_json() | ({"in_parts": True} if in_parts else {})
        answer = as_object(self._call("POST", f"{recording_route(project, dataset)}/files", body), "file registration")
        if answer.get("unchanged") is True:
            return FileRegistration(unchanged=True)
        return FileRegistration(
            unchanged=False,
            upload=parse_presigned(answer, "upload_url"),
            bucket=optional_text(answer, "bucket"),
            object_key=optional_text(answer, "object_key"),
        )

    def complete_file(
        self, project: str, dataset: str, path: str, *, sha256: str, size_bytes: int, base_sha256: str | None = None
    ) -> None:
        """Say that the bytes of a file are there."""
        body = OfferedFile(path, sha256, size_bytes, base_sha256).to_json()
        self.exchange(
            "POST", f"{recording_route(project, dataset)}/files/complete", body, busy_s=comparing_s(size_bytes)
        )

    # -- one request

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> object:
        return self.exchange(method, path, body).data

    def exchange(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        expected: frozenset[int] = frozenset(),
        busy_s: float = 0.0,
        cancel: CancelToken | None = None,
    ) -> Answer:
        """One call, tried again as `patience` allows when the service is busy or did not answer.

        The error statuses in `expected` are answers to the caller's question, not failures of the service. For `busy_s`
        seconds a 503 that says when to come again is obeyed, however often.
        """
        attempt = 1
        until = time.monotonic() + busy_s
        sleep = self._sleep if cancel is None else cancel.sleep
        while True:
            try:
                answer = self._send(method, path, body)
            except UnreachableError:
                if attempt >= self._patience.attempts:
                    raise
                sleep(wait_before(attempt, None, self._patience))
            else:
                again = answer.headers.get("Retry-After")
                is_at_work = answer.status_code == 503 and again is not None and time.monotonic() < until
                busy = answer.status_code in RETRY_STATUSES and attempt < self._patience.attempts
                if not busy and not is_at_work:
                    return self._read(method, path, answer, expected)
                sleep(wait_before(attempt, again, self._patience))
            attempt += 1

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx.Response:
        import httpx

        self.requests += 1
        try:
            return self._http.request(method, path, json=None if body is None else dict(body))
        except httpx.TimeoutException as err:
            answered = "it took no connection in time" if isinstance(err, httpx.ConnectTimeout) else "no answer in time"
            raise self._unreachable(answered) from None
        except httpx.TransportError as err:
            raise self._unreachable(in_words(err)) from None
        except (httpx.InvalidURL, httpx.DecodingError, UnicodeError) as err:
            raise ProtocolError(f"{method} {path} on {without_query(self.url)}: {redact(str(err))}.") from None

    def _unreachable(self, why: str) -> UnreachableError:
        return UnreachableError(
            f"The catalog service at {without_query(self.url)} cannot be reached: {why}.",
            hint=f"Is it running (`noeira-tui serve` runs one), and {URL} right? `noeira-tui doctor` looks at both.",
        )

    def _read(self, method: str, path: str, answer: httpx.Response, expected: frozenset[int]) -> Answer:
        told = answer.headers.get("Date")
        if told:
            self._note_clock(told)
        status, content_type = answer.status_code, answer.headers.get("Content-Type", "").lower()
        if 300 <= status < 400:
            raise refusals.redirected(method, path, status, answer.headers.get("Location", ""))
        if status in expected:
            return Answer(status, _json_or_none(answer.content))
        if status >= 400:
            raise refusals.refusal(method, path, status, answer.content, content_type)
        if status == 204 or not answer.content:
            return Answer(status, {})
        try:
            return Answer(status, json.loads(answer.content))
        except (ValueError, UnicodeDecodeError, RecursionError):
            raise refusals.not_json(method, path, answer.content, content_type) from None

    def _note_clock(self, told: str) -> None:
        try:
            moment = parsedate_to_datetime(told)
        except ValueError:
            return
        if moment.tzinfo is not None:
            self.clock_skew_s = (moment - datetime.now(UTC)).total_seconds()


def _json_or_none(body: bytes) -> object:
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return parsed


def _segment(name: str) -> str:
    return quote(name, safe="")


def recording_route(project: str, dataset: str) -> str:
    """The route of a recording."""
    return f"/projects/{_segment(project)}/datasets/{_segment(dataset)}"
