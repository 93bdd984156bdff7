"""Which credential a pack's provider sends, where it comes from, and whether it may be sent at all."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from noeira_tui.assets.facts import Pack, Provider
from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.errors import ConfigError, MissingSettingError
from noeira_tui.core.settings import API_KEY, URL, Settings, Source

HF_TOKEN = "HF_TOKEN"
HF_CLI = "token of the hf command"


@dataclass(frozen=True)
class Credential:
    """A credential by name and place; the token itself does not show in `repr()`.

    `name` is what would be used, None for a provider that needs nothing. `source` is where its value was found, None
    when it is not set. `why_not` says in words why a token that is there is not sent.
    """

    name: str | None
    source: str | None = None
    token: str | None = field(default=None, repr=False)
    why_not: str = ""

    @property
    def is_sent(self) -> bool:
        return self.token is not None and not self.why_not

    @property
    def authorization(self) -> str | None:
        """The header's value; None when nothing is sent."""
        return f"Bearer {self.token}" if self.is_sent else None


def credential_of(pack: Pack, settings: Settings) -> Credential:
    """What a pull of this pack would send. Raises ConfigError for a token with characters that none has."""
    if pack.provider is Provider.NOEIRA:
        found = settings.setting(API_KEY)
        place = found.place if found.source is not Source.ENVIRONMENT else "environment"
        return Credential(API_KEY, place if found.value else None, found.value, "" if settings.get(URL) else _NO_URL)
    credential = _find(pack, settings)
    if credential.token is not None:
        _check(credential)
        if not _is_private(pack.url or ""):
            why = "it would go over plain http, for everybody on the way to read"
            return Credential(credential.name, credential.source, credential.token, why)
    return credential


def require_credential(pack: Pack, settings: Settings) -> Credential:
    """The same for a pull. Raises MissingSettingError when a declaration names a variable that is not set."""
    credential = credential_of(pack, settings)
    if pack.token_env is not None and credential.token is None:
        raise MissingSettingError(
            pack.token_env,
            f"{pack.title} declares token_env={pack.token_env}, which is not set, or empty. Looked in the environment"
            + "".join(f" and {path}" for path in _dotenv_files(settings))
            + ".",
            hint=f"Set {pack.token_env} to a token for {urlsplit(pack.url or '').hostname}.",
        )
    return credential


_NO_URL = "NOEIRA_CLOUD_URL is not set"


def _find(pack: Pack, settings: Settings) -> Credential:
    named = _variable(pack.token_env, settings) if pack.token_env is not None else Credential(None)
    if pack.provider is not Provider.HF or named.token is not None:
        return named
    token = _variable(HF_TOKEN, settings)
    if token.token is not None:
        return token
    path = _hf_token_file(settings)
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if text:
        return Credential(HF_CLI, str(path), text)
    return named if pack.token_env is not None else token


def _variable(name: str, settings: Settings) -> Credential:
    value = os.environ.get(name, "").strip()
    if value:
        return Credential(name, "environment", value)
    for path in _dotenv_files(settings):
        value = read_dotenv(path).get(name, "").strip()
        if value:
            return Credential(name, str(path), value)
    return Credential(name)


def _dotenv_files(settings: Settings) -> tuple[Path, ...]:
    if settings.env_file is not None:
        return (settings.env_file,)
    paths = dict.fromkeys((settings.cwd / ".env", settings.root / ".env"))
    return tuple(path for path in paths if path.is_file())


def _hf_token_file(settings: Settings) -> Path:
    """Where the hf command keeps its token (huggingface_hub.constants.HF_TOKEN_PATH)."""
    path = _variable("HF_TOKEN_PATH", settings).token
    if path:
        return Path(path).expanduser()
    home = _variable("HF_HOME", settings).token
    return Path(home).expanduser() / "token" if home else Path("~/.cache/huggingface/token").expanduser()


def _is_private(url: str) -> bool:
    from noeira_tui.transfer.http import keeps_secrets

    return keeps_secrets(urlsplit(url))


def _check(credential: Credential) -> None:
    token = credential.token or ""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{credential.name} ({credential.source}) has characters that no token has.",
            title="Wrong token",
            hint="Copy it again, without quotes or line ends around it.",
        )
