"""A kind of job as the row that describes it."""

from __future__ import annotations

import json
from dataclasses import Field, asdict
from typing import Any, ClassVar, Protocol

from noeira_tui.core.settings import Settings
from noeira_tui.jobs.records import JobSpec


class Kind(Protocol):
    """A frozen dataclass whose fields are what the work needs to know; `kind` names it in the row."""

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def spec_of(
    kind: Kind,
    settings: Settings,
    *,
    title: str,
    target: str,
    service_url: str | None,
    folder: str = "",
    takes_slot: bool = True,
) -> JobSpec:
    """The row of a job that does this with these settings, which it reads again from the same places."""
    return JobSpec(
        kind=kind.kind,
        title=title,
        target=target,
        params=json.dumps(asdict(kind)),
        root=settings.root,
        cwd=settings.cwd,
        env_file=settings.env_file,
        service_url=service_url,
        folder=folder,
        takes_slot=takes_slot,
    )
