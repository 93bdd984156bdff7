"""Changing a setting on this box: what it is now, why a value is refused, where it is written, what stands above it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.paths import absolute, is_folder
from noeira_tui.core.settings import CACHE, PROJECTS, ROOT, SHARED_CACHE, SPECS, STATE, Setting, Settings, Source, mask
from noeira_tui.core.settingsfile import read_settings_file, write_settings_file
from noeira_tui.core.settingspecs import SPEC_OF

_FOLDERS = frozenset({ROOT, PROJECTS, STATE, CACHE, SHARED_CACHE})


@dataclass(frozen=True)
class ChangeableSetting:
    """A setting as an editor shows it: `in_file` is what the settings file says, whether or not that counts.

    Secrets do not show in `repr()`; `file_shown` is what may be shown of `in_file`.
    """

    setting: Setting
    in_file: str | None

    @property
    def name(self) -> str:
        return self.setting.spec.name

    @property
    def overruled(self) -> bool:
        """Whether something above the settings file decides: what is written there has no effect while it does."""
        return self.setting.source not in {Source.FILE, Source.DEFAULT}

    @property
    def file_shown(self) -> str:
        if self.in_file is None:
            return ""
        return mask(self.in_file) if self.setting.spec.secret else self.in_file

    def __repr__(self) -> str:
        return f"ChangeableSetting({self.setting!r}, in_file={self.file_shown!r})"


def changeable(settings: Settings) -> tuple[ChangeableSetting, ...]:
    """Every setting, in their order. Raises ConfigError when the settings file was damaged meanwhile."""
    in_file = read_settings_file(settings.config_file)
    return tuple(ChangeableSetting(settings.setting(spec.name), in_file.get(spec.name)) for spec in SPECS)


def refusal(settings: Settings, name: str, value: str) -> str | None:
    """Why a value cannot become a setting's, in words; None when it can. Looks at the disk for folders."""
    text = value.strip()
    if not text:
        return "It is empty: take it out of the file instead."
    if reason := SPEC_OF[name].refusal(text):
        return reason
    if name not in _FOLDERS:
        return None
    try:
        folder = absolute(Path(text), settings.root)
    except ConfigError as err:
        return err.message
    if name == ROOT and not Path(text).expanduser().is_absolute():
        return "Name the whole path: it holds in every folder you start from."
    if name == ROOT and not is_folder(folder):
        return f"There is no folder {folder}."
    if folder.exists() and not is_folder(folder):
        return f"{folder} is a file, not a folder."
    return None


def change(settings: Settings, name: str, value: str | None) -> Settings:
    """Write a setting into the settings file, or take it out with None; returns the settings as they are then.

    Raises ConfigError for a value that cannot be used, or a file that cannot be written.
    """
    if value is not None:
        value = value.strip()
        reason = refusal(settings, name, value)
        if reason is not None:
            raise ConfigError(f"{name}: {reason}")
    write_settings_file(settings.config_file, {name: value})
    return settings.reload()
