"""Connecting this box to a catalog service: understanding what was pasted, asking the service, keeping the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.dotenv import parse_dotenv, write_dotenv
from noeira_tui.core.errors import RefusedError
from noeira_tui.core.settings import API_KEY, LOCAL_ONLY, URL, Settings, Source
from noeira_tui.core.settingsfile import write_settings_file
from noeira_tui.core.settingspecs import no_api_key, no_url

_HERE = re.compile(r"(localhost|127\.|\[::1\]|10\.|192\.168\.)|.*:\d+$")


@dataclass(frozen=True)
class Connection:
    """A service and a key for it. The key does not show in `repr()`."""

    url: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """What a service said when it was asked with a key: who it is, and how many datasets the key sees.

    `datasets` is None when the key is for one project and sees no catalog.
    """

    service: str
    datasets: int | None


def pasted(text: str) -> tuple[str | None, str | None]:
    """Address and key in pasted text, such as the two lines that `serve` prints; None for what is not in it."""
    lines = [line.strip().removeprefix("export ").strip() for line in text.splitlines()]
    found: dict[str, str] = {}
    for line in lines:
        if line.startswith((f"{URL}=", f"{API_KEY}=")):
            found.update(parse_dotenv(line, "the pasted text"))
    return found.get(URL), found.get(API_KEY)


def completed_url(text: str) -> str:
    """An address as it was meant: without blanks and last slash, with the scheme that was left out."""
    url = text.strip()
    if not url or "://" in url:
        return url.rstrip("/")
    url = url.rstrip("/")
    return ("http://" if _HERE.match(url) else "https://") + url


def problem_with(url: str, key: str) -> str | None:
    """Why these cannot be asked with; None when they can."""
    if not url:
        return "The address of the service is missing."
    if reason := no_url(url):
        return f"Address: {reason}"
    if not key:
        return "The API key is missing."
    return no_api_key(key)


def ask(connection: Connection) -> Answer:
    """Ask the service whether it takes the key, so that a wrong one is known before it is kept.

    Raises UnreachableError (no answer), RefusedError (a wrong key), ProtocolError (not a catalog service).
    """
    from noeira_tui.catalog.client import CatalogClient

    with CatalogClient(connection.url, connection.key) as client:
        facts = client.facts()
        name = f"{facts.service} {facts.version or ''}".strip() if facts.service else "a catalog service"
        try:
            return Answer(name, len(client.list_datasets()))
        except RefusedError as err:
            # The key is known there, but it is for one project only.
            if err.status != 403:
                raise
            return Answer(name, None)


def places(settings: Settings) -> tuple[Path, ...]:
    """Where address and key may be kept, the most fitting first: the `.env` they are in, the settings file, `.env`."""
    dotenv = settings.env_file or settings.root / ".env"
    now = settings.setting(URL)
    first = [Path(now.place)] if now.source is Source.DOTENV else []
    return tuple(dict.fromkeys([*first, settings.config_file, dotenv]))


def keep(settings: Settings, connection: Connection, place: Path) -> Settings:
    """Write address and key to the settings file or a `.env`, readable by the owner only; the settings afterwards.

    Raises ConfigError when the file cannot be written.
    """
    values = {URL: connection.url, API_KEY: connection.key}
    if place == settings.config_file:
        write_settings_file(place, {**values, LOCAL_ONLY: None})
    else:
        write_dotenv(place, values)
    return settings.reload()


def stands_in_the_way(settings: Settings, connection: Connection) -> str | None:
    """Why the kept address and key do not count: something above them says otherwise. None when they count."""
    for name, meant in ((URL, connection.url), (API_KEY, connection.key)):
        now = settings.setting(name)
        if now.value != meant:
            return f"{name} is set in {_named(now.place)} as well, and that counts first."
    return None


def go_without(settings: Settings) -> Settings:
    """Remember that no service is wanted, so that the app does not ask again. Raises ConfigError."""
    write_settings_file(settings.config_file, {LOCAL_ONLY: "yes"})
    return settings.reload()


def _named(place: str) -> str:
    return f"the {place}" if place in {"environment", "command line"} else place
