"""Settings with the source of each value: flag, environment, `.env`, settings file, default.

The root is found first, because `.env` files and relative paths are looked up from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.errors import ConfigError, MissingSettingError
from noeira_tui.core.paths import absolute, git_work_tree, is_file, is_folder
from noeira_tui.core.redact import redact
from noeira_tui.core.settingsfile import default_config_file, read_settings_file
from noeira_tui.core.settingspecs import (
    API_KEY,
    CACHE,
    LOCAL_ONLY,
    MAX_RATE,
    NOTIFY,
    PROJECTS,
    ROOT,
    SHARED_CACHE,
    SLOTS,
    SPEC_OF,
    SPECS,
    STATE,
    THEME,
    URL,
    Setting,
    SettingSpec,
    Source,
    mask,
    no_slots,
    no_url,
)

__all__ = [
    "API_KEY", "CACHE", "LOCAL_ONLY", "MAX_RATE", "NOTIFY", "PROJECTS", "ROOT", "SHARED_CACHE", "SLOTS", "SPECS",
    "STATE", "THEME", "URL", "Setting", "SettingSpec", "Settings", "Source", "default_config_file", "mask",
]  # fmt: skip

Layer = tuple[Source, str, Mapping[str, str]]
"""One place that settings come from: what it is, how it is named, its values."""


@dataclass(frozen=True)
class Request:
    """What settings were asked for with, so that they can be read again."""

    root: Path | None = None
    env_file: Path | None = None
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: Path | None = None
    flags: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Settings:
    """Everything that was configured for one run. Build it with `Settings.load`."""

    root: Path
    cwd: Path
    env_file: Path | None
    places: tuple[str, ...]
    _values: Mapping[str, Setting] = field(repr=False)
    config_file: Path = Path()
    request: Request = field(default=Request(), repr=False)

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
        return _read(Request(root, env_file, environ, cwd, flags))

    def reload(self) -> Settings:
        """The same settings read again from the same places, after one of them was changed. Raises ConfigError."""
        return _read(self.request)

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
        if no_url(url) is not None:
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
        if no_slots(text) is not None:
            raise ConfigError(f"{SLOTS} is {text!r}; it is a whole number from 1 to 64.")
        return int(text)


def _read(request: Request) -> Settings:
    """Find the root, read every source, and keep for each setting the strongest value that is not empty."""
    environ = os.environ if request.environ is None else request.environ
    cwd = request.cwd or _working_folder()
    env_file = None if request.env_file is None else absolute(request.env_file, cwd)
    if env_file is not None and not is_file(env_file):
        raise ConfigError(f"There is no file {env_file}.", hint="Check --env-file.")
    flags = dict(request.flags or {})
    if request.root is not None:
        flags[ROOT] = str(absolute(request.root, cwd))
    config_file = default_config_file(environ)
    above: list[Layer] = [
        (Source.FLAG, "command line", flags),
        (Source.ENVIRONMENT, "environment", environ),
        *_dotenv(env_file or cwd / ".env"),
    ]
    below: Layer = (Source.FILE, str(config_file), read_settings_file(config_file))
    found = _pick(SPEC_OF[ROOT], [*above, below])
    root = _root(found, cwd)
    if env_file is None and root != cwd:
        above += _dotenv(root / ".env")
    dotenvs = [cwd / ".env", root / ".env"] if env_file is None else [env_file]
    return Settings(
        root=root,
        cwd=cwd,
        env_file=env_file,
        places=("the environment", *dict.fromkeys(map(str, dotenvs)), str(config_file)),
        # The root that was used, not one that a `.env` found below it may name.
        _values={spec.name: _pick(spec, [*above, below]) for spec in SPECS} | {ROOT: found},
        config_file=config_file,
        request=request,
    )


def _dotenv(path: Path) -> list[Layer]:
    return [(Source.DOTENV, str(path), read_dotenv(path))] if is_file(path) else []


def _root(found: Setting, cwd: Path) -> Path:
    """The folder that the setting names, else the git work tree around us, else this folder. Raises ConfigError."""
    if found.value is None:
        return git_work_tree(cwd) or cwd
    root = absolute(Path(found.value), cwd)
    if not is_folder(root):
        raise ConfigError(
            f"The root {root} is not a folder ({ROOT} from {found.source}, {found.place}).",
            hint="Name an existing folder with --root.",
        )
    return root


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as err:
        raise ConfigError(
            f"The working folder is gone or cannot be told: {err.strerror or err}.", hint="Change to another folder."
        ) from err


def _pick(spec: SettingSpec, layers: list[Layer]) -> Setting:
    for source, place, values in layers:
        value = values.get(spec.name, "").strip()
        if value:
            return Setting(spec, value, source, place)
    return Setting(spec, None, Source.DEFAULT, "")
