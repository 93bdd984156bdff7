"""Which settings there are, what each is for, what value it takes, and where a value came from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from noeira_tui.core.errors import ConfigError

URL = "NOEIRA_CLOUD_URL"
API_KEY = "NOEIRA_CLOUD_API_KEY"
ROOT = "NOEIRA_ROOT"
PROJECTS = "NOEIRA_PROJECTS"
STATE = "NOEIRA_STATE"
CACHE = "NOEIRA_CACHE"
SHARED_CACHE = "NOEIRA_SHARED_CACHE"
MAX_RATE = "NOEIRA_MAX_RATE"
SLOTS = "NOEIRA_TRANSFER_SLOTS"
THEME = "NOEIRA_THEME"
LOCAL_ONLY = "NOEIRA_LOCAL_ONLY"
NOTIFY = "NOEIRA_NOTIFY"


class Source(StrEnum):
    """Where a setting's value came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    DOTENV = ".env"
    FILE = "settings file"
    DEFAULT = "default"


def no_refusal(text: str) -> None:
    """Any text will do. By name, so that settings can be sent to another process."""


@dataclass(frozen=True)
class SettingSpec:
    """One setting: its name, what it is for, and whether its value must never be shown.

    `default` says what holds without it, in words. `refusal` gives the reason why a value cannot be used, None when it
    can; it looks at the text only, not at the disk.
    """

    name: str
    meaning: str
    secret: bool = False
    default: str = ""
    refusal: Callable[[str], str | None] = no_refusal

    @property
    def file_key(self) -> str:
        """Its key in the settings file: the name in lower case without the prefix."""
        return self.name.removeprefix("NOEIRA_").lower()


def no_url(text: str) -> str | None:
    """Why a text is not the address of a service; None when it is one."""
    if re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", text.strip(), re.IGNORECASE):
        return None
    return "It is no http(s) address; one looks like http://127.0.0.1:8787 or https://cloud.example.org."


def no_api_key(text: str) -> str | None:
    """Why a text cannot be an API key; None when it can: a header carries it, so it is printable ASCII."""
    if re.fullmatch(r"[\x21-\x7e]+", text.strip()):
        return None
    return "An API key has letters, digits and signs only, no blanks: paste it whole and alone."


def no_slots(text: str) -> str | None:
    """Why a text is not a number of transfer slots; None when it is one."""
    if re.fullmatch("[0-9]{1,3}", text.strip()) and 1 <= int(text) <= 64:
        return None
    return "It is a whole number from 1 to 64."


def no_rate(text: str) -> str | None:
    """Why a text is not a bandwidth; None when it is one."""
    from noeira_tui.core.quantity import parse_size

    try:
        parse_size(text, MAX_RATE)
    except ConfigError as err:
        return f"That is no bandwidth. {err.hint}"
    return None


def no_switch(text: str) -> str | None:
    """Why a text is neither on nor off; None when it is one of them."""
    return None if is_on(text) is not None else "It is yes or no."


def no_notice(text: str) -> str | None:
    """Why a text is no way to tell that a job ended; None when it is one."""
    return None if text.strip().lower() in {"off", "bell", "osc9"} else "It is off, bell or osc9."


def is_on(text: str) -> bool | None:
    """What a switch such as `yes`, `off` or `1` means; None when it is no switch."""
    word = text.strip().lower()
    if word in {"yes", "on", "true", "1"}:
        return True
    return False if word in {"no", "off", "false", "0"} else None


SPECS: tuple[SettingSpec, ...] = (
    SettingSpec(URL, "address of the catalog service", default="no service", refusal=no_url),
    SettingSpec(API_KEY, "API key of the catalog service", secret=True, refusal=no_api_key),
    SettingSpec(ROOT, "folder that holds .env, projects/ and data/", default="the git work tree, or this folder"),
    SettingSpec(PROJECTS, "folder of the projects, instead of projects/ under the root", default="projects/"),
    SettingSpec(STATE, "folder of jobs and remembered transfers", default="the platform's state folder"),
    SettingSpec(CACHE, "folder of the cache of asset packs", default="~/.cache/noeira"),
    SettingSpec(SHARED_CACHE, "a second cache of asset packs, looked in first and never written", default="none"),
    SettingSpec(
        MAX_RATE,
        "bandwidth of all transfers on this box together, such as 20MB (a second)",
        default="no limit",
        refusal=no_rate,
    ),
    SettingSpec(SLOTS, "how many transfers run at once, 2 by default", default="2", refusal=no_slots),
    SettingSpec(THEME, "colours of the app, such as noeira-light", default="noeira-dark"),
    SettingSpec(
        NOTIFY,
        "how the app tells that a job ended: bell, osc9 (a notification of the terminal's desktop), off",
        default="off",
        refusal=no_notice,
    ),
    SettingSpec(
        LOCAL_ONLY, "yes: the app does not ask for a service when none is set", default="no", refusal=no_switch
    ),
)
SPEC_OF = {spec.name: spec for spec in SPECS}


@dataclass(frozen=True)
class Setting:
    """One setting's value and where it came from. Secrets do not show in `repr()`."""

    spec: SettingSpec
    value: str | None
    source: Source
    place: str

    @property
    def shown(self) -> str:
        """The value for a display: masked when it is a secret, empty when it is not set."""
        if self.value is None:
            return ""
        return mask(self.value) if self.spec.secret else self.value

    def __repr__(self) -> str:
        return f"Setting({self.spec.name}={self.shown!r} from {self.source} {self.place})"


def mask(secret: str) -> str:
    """A secret as it may be shown: its last four characters when it is long enough to spare them."""
    return "••••" + (secret[-4:] if len(secret) >= 16 else "")
