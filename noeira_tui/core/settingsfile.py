"""The settings file, `noeira-tui/config.toml`: reading it, and changing a value without touching the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.files import unwritable_hint, write_owner_only
from noeira_tui.core.paths import is_file
from noeira_tui.core.settingspecs import SPECS, no_switch

TABLES = frozenset({"keys"})
"""Tables of the file that are no settings: the app's keys."""


def default_config_file(environ: Mapping[str, str]) -> Path:
    """The platform's settings file."""
    base = environ.get("XDG_CONFIG_HOME", "").strip()
    if not base and sys.platform == "linux":
        # What platformdirs says there; the app's first paint does not wait for the library.
        base = os.path.expanduser("~/.config")  # noqa: PTH111  never raises, unlike Path.expanduser
    if base:
        return Path(base) / "noeira-tui" / "config.toml"
    from platformdirs import user_config_path

    return user_config_path("noeira-tui") / "config.toml"


def read_settings_file(path: Path) -> dict[str, str]:
    """The settings in the file, by their full names. Raises ConfigError for a damaged file or an unknown key."""
    known = {spec.file_key: spec for spec in SPECS}
    values: dict[str, str] = {}
    for key, value in _parsed(path).items():
        if key in TABLES:
            continue
        if key not in known:
            raise ConfigError(f"{path}: unknown setting {key!r}.", hint=f"Known: {', '.join(sorted(known))}.")
        if isinstance(value, bool) and known[key].refusal is no_switch:
            value = "yes" if value else "no"
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ConfigError(f"{path}: {key} must be text or a number.")
        values[known[key].name] = str(value)
    return values


def read_settings_table(path: Path, name: str) -> dict[str, str | tuple[str, ...]]:
    """A table of the file that is no settings, such as `keys`; empty without one.

    Raises ConfigError for a value that is neither text nor a list of texts.
    """
    table = _parsed(path).get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {name} must be a table: [{name}].")
    found: dict[str, str | tuple[str, ...]] = {}
    for key, value in table.items():
        if isinstance(value, str):
            found[key] = value
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            found[key] = tuple(value)
        else:
            raise ConfigError(f"{path}: {name}.{key} must be text or a list of texts.")
    return found


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as err:
        raise ConfigError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from err
    except OSError as err:
        if isinstance(err, PermissionError) and not is_file(path):
            # Somebody else's home, as in a container that runs as another user: no settings file of ours is in there.
            return {}
        raise ConfigError(f"{path} cannot be read: {err.strerror or err}.") from err
    # Imported here: most boxes have no such file, and opening the app waits for this.
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise ConfigError(f"{path}: {err}.", hint='It is a TOML file: `cloud_url = "https://…"`.') from err


def write_settings_file(path: Path, changes: Mapping[str, str | None]) -> None:
    """Change settings in the file, by their full names; None takes one out. Comments, order and all else stay.

    The file is replaced at once and readable by its owner only, as it may hold a key; a symbolic link stays one.
    Raises ConfigError for a file that is damaged already or cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    read_settings_file(path)
    target = Path(os.path.realpath(path))
    try:
        text = target.read_bytes().decode("utf-8-sig") if target.exists() else ""
        document = tomlkit.parse(text)
        for spec in SPECS:
            if spec.name not in changes:
                continue
            value = changes[spec.name]
            if value is None:
                document.pop(spec.file_key, None)
            else:
                document[spec.file_key] = value
        write_owner_only(target, tomlkit.dumps(document))
    except TOMLKitError as err:
        raise ConfigError(f"{path}: {err}.", hint="Mend it with an editor first.") from err
    except OSError as err:
        told = f"{path} cannot be written: {err.strerror or err}."
        raise ConfigError(told, hint=unwritable_hint(target, err)) from err
