"""Asking the service for its side of the picture, and falling back to its last answer."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from noeira_tui.catalog.lastanswer import CatalogAnswer, recall, remember
from noeira_tui.core.errors import ConfigError, MissingSettingError, NoeiraError, StateError
from noeira_tui.core.settings import API_KEY, URL, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.overview.picture import ServiceView


@dataclass(frozen=True)
class Asked:
    """The service's side. `answer` is None when it never answered; `is_fresh` tells that it did just now."""

    service: ServiceView
    answer: CatalogAnswer | None = None
    is_fresh: bool = False
    warnings: tuple[str, ...] = field(default=())

    @property
    def tells(self) -> bool:
        """Whether states may be told from the answer: it is fresh, no service is configured that could say otherwise,
        or nobody asked now and the last answer stands in."""
        if self.is_fresh or self.service.url is None:
            return True
        return self.service.error is None and self.answer is not None


def ask_service(settings: Settings, db: StateDb, here: Iterable[tuple[str, str]], *, ask: bool = True) -> Asked:
    """What the service says now, or what it last said. Never raises: what went wrong is in the result.

    `here` are the (project, dataset) whose file lists are wanted; with `ask` False only the last answer is looked up.
    """
    from noeira_tui.catalog.memory import CatalogMemory

    try:
        url = settings.service_url
    except MissingSettingError as err:
        return Asked(_troubled(None, err, reachable=None))
    except ConfigError as err:
        return Asked(_troubled(settings.get(URL), err))
    memory = CatalogMemory(db, url)
    warnings: list[str] = []
    before: tuple[CatalogAnswer, float] | None = None
    try:
        before = recall(memory)
    except StateError as err:
        warnings.append(str(err))
    try:
        key = settings.require(API_KEY)
    except MissingSettingError as err:
        return _remembered(_troubled(url, err), before, warnings)
    if not ask:
        return _remembered(ServiceView(url=url), before, warnings)
    started = time.monotonic()
    try:
        answer, latency_ms = _ask(url, key, here, before[0] if before else None)
    except NoeiraError as err:
        return _remembered(_troubled(url, err), before, warnings)
    try:
        remember(memory, answer)
    except StateError as err:
        warnings.append(str(err))
    now = time.time()
    view = ServiceView(
        url=url,
        reachable=True,
        latency_ms=latency_ms if latency_ms is not None else (time.monotonic() - started) * 1000,
        checked_at=now,
        answer_at=now,
    )
    return Asked(view, answer, True, tuple(warnings))


def _troubled(url: str | None, err: NoeiraError, *, reachable: bool | None = False) -> ServiceView:
    return ServiceView(
        url=url,
        reachable=reachable,
        error=err.message,
        error_title=err.title,
        hint=err.hint,
        retryable=err.retryable,
        checked_at=None if reachable is None else time.time(),
    )


def _ask(
    url: str, key: str, here: Iterable[tuple[str, str]], before: CatalogAnswer | None
) -> tuple[CatalogAnswer, float | None]:
    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.catalog.lastanswer import ask

    with CatalogClient(url, key) as client:
        started = time.monotonic()
        client.facts()
        latency_ms = (time.monotonic() - started) * 1000
        return ask(client, here, before), latency_ms


def _remembered(view: ServiceView, before: tuple[CatalogAnswer, float] | None, warnings: list[str]) -> Asked:
    if before is None:
        return Asked(view, None, False, tuple(warnings))
    answer, at = before
    return Asked(replace(view, answer_at=at), answer, False, tuple(warnings))
