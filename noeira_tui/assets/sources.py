"""The URL a pack's bytes are fetched from, by provider, for the transfer engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from noeira_tui.assets.credentials import Credential, require_credential
from noeira_tui.assets.facts import Pack, Provider
from noeira_tui.core.errors import NetworkError, PackError, StorageRefusedError, VerificationError
from noeira_tui.core.presigned import FixedUrl, PresignedUrl, UrlSource
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.redact import without_query
from noeira_tui.core.settings import API_KEY, URL, Settings
from noeira_tui.transfer.facts import Patience

_PROBE = {"Accept-Encoding": "identity", "User-Agent": "noeira-tui", "Range": "bytes=0-0"}


class HubUrl:
    """A URL that may redirect to a signed one on another origin: asked once, then fetched without any credential."""

    def __init__(self, url: str, authorization: str | None, patience: Patience, cancel: CancelToken) -> None:
        self._url = url
        self._authorization = authorization
        self._patience = patience
        self._cancel = cancel

    def current(self) -> PresignedUrl:
        from noeira_tui.transfer.http import Client, origin_of, split_url

        own = PresignedUrl(self._url, None, self._authorization)
        try:
            with Client(self._patience, self._cancel) as client:
                answer = client.get(self._url, _PROBE, self._authorization)
                found, status = answer.url, answer.status
                answer.close()
        except NetworkError as err:
            if not err.retryable:
                raise
            # The transfer meets the same trouble, and knows how to bear it.
            return own
        moved = origin_of(split_url(found)) != origin_of(split_url(self._url))
        return PresignedUrl(found) if moved and status in {200, 206} else own

    def refresh(self) -> PresignedUrl:
        return self.current()


@contextmanager
def pack_source(pack: Pack, settings: Settings, patience: Patience, cancel: CancelToken) -> Iterator[UrlSource]:
    """Where to fetch a pack from. Raises MissingSettingError, ServiceError, PackError, and explains a refusal."""
    if pack.provider is Provider.NOEIRA:
        with _catalog_source(pack, settings) as source:
            yield source
        return
    credential = require_credential(pack, settings)
    url = pack.url or ""
    try:
        if pack.provider is Provider.HF:
            yield HubUrl(url, credential.authorization, patience, cancel)
        else:
            yield FixedUrl(PresignedUrl(url, None, credential.authorization))
    except StorageRefusedError as err:
        raise StorageRefusedError(err.message, status=err.status, hint=_hint(pack, credential, err)) from None
    except VerificationError as err:
        raise _other_contents(pack, err) from None


@contextmanager
def _catalog_source(pack: Pack, settings: Settings) -> Iterator[UrlSource]:
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.catalog.urlsources import DatasetUrl

    with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
        answer = client.get_dataset(pack.id or "")
        if answer.row.sha256 != pack.sha256:
            raise PackError(
                f"{pack.title} declares sha256 {pack.sha256}, but {pack.id} on {without_query(client.url)} "
                f"is {answer.row.sha256}.",
                title="Other contents on the service",
                hint=f"The pack was published anew: declare the new digest ({pack.manifest}, line {pack.line}).",
            )
        yield DatasetUrl(client, answer.row, answer.download)


def origin_url(pack: Pack, settings: Settings) -> str | None:
    """The URL whose host must answer before anything of a pack can be fetched; None while it is not known."""
    return settings.get(URL) if pack.provider is Provider.NOEIRA else pack.url


def _other_contents(pack: Pack, err: VerificationError) -> VerificationError:
    """What it means for a declaration that other bytes arrived, in its words."""
    url = without_query(pack.url or "")
    differs = (
        f"{url} has sha256 {err.actual}, declared is {err.expected}."
        if err.actual
        else f"{url} has another size than the {pack.size_bytes or 0:,} bytes that are declared."
    )
    return VerificationError(
        differs,
        expected=err.expected,
        actual=err.actual,
        hint=f"Nothing was installed. Declare what is there now ({pack.manifest}, line {pack.line}), or ask who put it "
        "there.",
    )


def _hint(pack: Pack, credential: Credential, err: StorageRefusedError) -> str:
    if err.status in {404, 410}:
        return f"There is nothing at its url; see {pack.manifest}, line {pack.line}."
    if err.status not in {401, 403}:
        return err.hint
    if credential.why_not:
        return f"{credential.name} was not sent: {credential.why_not}."
    if credential.token is not None:
        return f"{credential.name} ({credential.source}) was sent and not accepted."
    if credential.name is not None:
        return f"No token was sent: {credential.name} is not set."
    return "No token was sent: name the variable that holds one with token_env= in the declaration."
