"""Settings with the source of each value: flag, environment, `.env`, settings file, default.

The root is found first, because `.env` files and relative paths are looked up from it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.errors import ConfigError, MissingSettingError
from noeira_tui.core.paths import absolute, git_work_tree, is_file, is_folder
from noeira_tui.core.redact import redact

URL = "NOEIRA_CLOUD_URL"
API_KEY = "NOEIRA_CLOUD_API_KEY"
ROOT = "NOEIRA_ROOT"
PROJECTS = "NOEIRA_PROJECTS"
STATE = "NOEIRA_STATE"
CACHE = "NOEIRA_CACHE"
SHARED_CACHE = "NOEIRA_SHARED_CACHE"
MAX_RATE = "NOEIRA_MAX_RATE"
SLOTS = "NOEIRA_TRANSFER_SLOTS"


class Source(StrEnum):
    """Where a setting's value came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    DOTENV = ".env"
    FILE = "settings file"
    DEFAULT = "default"


@dataclass(frozen=True)
class SettingSpec:
    """One setting: its name, what it is for, and whether its value must never be shown."""

    name: str
    meaning: str
    secret: bool = False

    @property
    def file_key(self) -> str:
        """Its key in the settings file: the name in lower case without the prefix."""
        return self.name.removeprefix("NOEIRA_").lower()


SPECS: tuple[SettingSpec, ...] = (
    SettingSpec(URL, "address of the catalog service"),
    SettingSpec(API_KEY, "API key of the catalog service", secret=True),
    SettingSpec(ROOT, "folder that holds .env, projects/ and data/"),
    SettingSpec(PROJECTS, "folder of the projects, instead of projects/ under the root"),
    SettingSpec(STATE, "folder of jobs and remembered transfers"),
    SettingSpec(CACHE, "folder of the cache of asset packs"),
    SettingSpec(SHARED_CACHE, "a second cache of asset packs, looked in first and never written"),
    SettingSpec(MAX_RATE, "bandwidth of all transfers on this box together, such as 20MB (a second)"),
    SettingSpec(SLOTS, "how many transfers run at once, 2 by default"),
)
_SPECS = {spec.name: spec for spec in SPECS}


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


@dataclass(frozen=True)
class Settings:
    """Everything that was configured for one run. Build it with `Settings.load`."""

    root: Path
    cwd: Path
    env_file: Path | None
    places: tuple[str, ...]
    _values: Mapping[str, Setting] = field(repr=False)
    config_file: Path = Path()

    @classmethod
    def load(
        cls,
        *,
        root: Path | None = None,
        env_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> Settings:
        """Find the root, read every source, and keep for each setting the strongest value that is not empty.

        Raises ConfigError for a file that cannot be parsed, an unknown key in the settings file, or a root or
        `env_file` that does not exist.
        """
        environ = os.environ if environ is None else environ
        cwd = cwd or _working_folder()
        flags = dict(flags or {})
        if root is not None:
            flags[ROOT] = str(absolute(root, cwd))
        config_file = default_config_file(environ)
        layers: list[tuple[Source, str, Mapping[str, str]]] = [
            (Source.FLAG, "command line", flags),
            (Source.ENVIRONMENT, "environment", environ),
        ]
        if env_file is not None:
            env_file = absolute(env_file, cwd)
            if not is_file(env_file):
                raise ConfigError(f"There is no file {env_file}.", hint="Check --env-file.")
            layers.append((Source.DOTENV, str(env_file), read_dotenv(env_file)))
        elif is_file(cwd / ".env"):
            layers.append((Source.DOTENV, str(cwd / ".env"), read_dotenv(cwd / ".env")))
        file_layer = (Source.FILE, str(config_file), _read_config(config_file))

        found_root = _pick(_SPECS[ROOT], [*layers, file_layer])
        if found_root.value is not None:
            root_path = absolute(Path(found_root.value), cwd)
            if not is_folder(root_path):
                raise ConfigError(
                    f"The root {root_path} is not a folder ({ROOT} from {found_root.source}, {found_root.place}).",
                    hint="Name an existing folder with --root.",
                )
        else:
            root_path = git_work_tree(cwd) or cwd
        if env_file is None and root_path != cwd and is_file(root_path / ".env"):
            layers.append((Source.DOTENV, str(root_path / ".env"), read_dotenv(root_path / ".env")))
        layers.append(file_layer)

        places = ["the environment"]
        if env_file is not None:
            places.append(str(env_file))
        else:
            places += [str(folder / ".env") for folder in dict.fromkeys((cwd, root_path))]
        places.append(str(config_file))
        return cls(
            root=root_path,
            cwd=cwd,
            env_file=env_file,
            places=tuple(places),
            # The root that was used, not one that a `.env` found below it may name.
            _values={spec.name: _pick(spec, layers) for spec in SPECS} | {ROOT: found_root},
            config_file=config_file,
        )

    def setting(self, name: str) -> Setting:
        """A setting with its source."""
        return self._values[name]

    def get(self, name: str) -> str | None:
        """A setting's value; None when it is absent or empty everywhere."""
        return self._values[name].value

    def require(self, name: str) -> str:
        """A setting's value. Raises MissingSettingError naming it and every place looked at."""
        value = self.get(name)
        if value is None:
            looked = ", ".join(self.places[:-1]) + f" and {self.places[-1]}"
            raise MissingSettingError(
                name,
                f"{name} is not set, or empty. Looked in {looked}.",
                hint=f"Put `{name}=…` into .env, or start a service with `noeira-tui serve` and paste its two lines.",
            )
        return value

    @property
    def service_url(self) -> str:
        """The service's address without a trailing slash. Raises MissingSettingError, or ConfigError for a non-URL."""
        url = self.require(URL).strip().rstrip("/")
        if not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", url, re.IGNORECASE):
            raise ConfigError(
                f"{URL} is {redact(url)!r}, which is no http(s) address ({self.setting(URL).place}).",
                hint="It looks like http://127.0.0.1:8787 or https://cloud.example.org.",
            )
        return url

    @property
    def projects_dir(self) -> Path:
        """Folder of the projects: NOEIRA_PROJECTS, else `projects/` under the root."""
        return absolute(Path(self.get(PROJECTS) or "projects"), self.root)

    @property
    def data_dir(self) -> Path:
        """Folder of the catalog datasets: `data/` under the root."""
        return self.root / "data"

    @property
    def state_dir(self) -> Path:
        """Folder of the state: NOEIRA_STATE, else the platform's state folder. It may not exist yet."""
        chosen = self.get(STATE)
        if chosen is not None:
            return absolute(Path(chosen), self.root)
        from platformdirs import user_state_path

        return user_state_path("noeira-tui")

    @property
    def cache_dir(self) -> Path:
        """Folder of the cache: NOEIRA_CACHE, else `~/.cache/noeira`."""
        return absolute(Path(self.get(CACHE) or "~/.cache/noeira"), self.root)

    @property
    def shared_cache_dir(self) -> Path | None:
        """Folder of a cache that others fill, such as a lab's shared disk: NOEIRA_SHARED_CACHE; None without one."""
        chosen = self.get(SHARED_CACHE)
        return None if chosen is None else absolute(Path(chosen), self.root)

    @property
    def transfer_slots(self) -> int:
        """How many transfers run at once on this box."""
        text = self.get(SLOTS) or "2"
        if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= 64:
            raise ConfigError(f"{SLOTS} is {text!r}; it is a whole number from 1 to 64.")
        return int(text)


def default_config_file(environ: Mapping[str, str]) -> Path:
    """The platform's settings file, `noeira-tui/config.toml`."""
    base = environ.get("XDG_CONFIG_HOME", "").strip()
    if base:
        return Path(base) / "noeira-tui" / "config.toml"
    from platformdirs import user_config_path

    return user_config_path("noeira-tui") / "config.toml"


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as err:
        raise ConfigError(
            f"The working folder is gone or cannot be told: {err.strerror or err}.", hint="Change to another folder."
        ) from err


def _pick(spec: SettingSpec, layers: list[tuple[Source, str, Mapping[str, str]]]) -> Setting:
    for source, place, values in layers:
        value = values.get(spec.name, "").strip()
        if value:
            return Setting(spec, value, source, place)
    return Setting(spec, None, Source.DEFAULT, "")


def _read_config(path: Path) -> dict[str, str]:
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as err:
        if isinstance(err, PermissionError) and not is_file(path):
            # Somebody else's home, as in a container that runs as another user: no settings file of ours is in there.
            return {}
        raise ConfigError(f"{path} cannot be read: {err.strerror or err}.") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise ConfigError(f"{path}: {err}.", hint='It is a TOML file: `cloud_url = "https://…"`.') from err
    known = {spec.file_key: spec.name for spec in SPECS}
    values: dict[str, str] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{path}: unknown setting {key!r}.", hint=f"Known: {', '.join(sorted(known))}.")
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ConfigError(f"{path}: {key} must be text or a number.")
        values[known[key]] = str(value)
    return values
