"""Where a pack's bytes come from, and what is sent to get them; never the token itself."""

from __future__ import annotations

from dataclasses import dataclass

from noeira_tui.assets.credentials import credential_of
from noeira_tui.assets.facts import Pack
from noeira_tui.core.redact import redact
from noeira_tui.core.settings import Settings


@dataclass(frozen=True)
class PackWhere:
    """`credential` names what would be used, None where nothing is needed; `credential_source` is None while it is
    not set; `note` says why a token that is there is not sent."""

    pack: str
    provider: str
    locator: str
    credential: str | None
    credential_source: str | None
    token_sent: bool
    note: str = ""


def pack_where(pack: Pack, settings: Settings) -> PackWhere:
    """Where one pack is and how it is asked for. Raises ConfigError for an unusable token or `.env`."""
    found = credential_of(pack, settings)
    note = f"{found.name} is not sent: {found.why_not}" if found.why_not and found.token else ""
    return PackWhere(
        pack.title, pack.provider.value, redact(pack.locator), found.name, found.source, found.is_sent, note
    )
