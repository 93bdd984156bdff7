"""Changing a settings file or a `.env` leaves everything else in it as it was, and never shows a key to others."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_config_path

from noeira_tui.core import dotenv, settingsfile
from noeira_tui.core.dotenv import changed_dotenv, dotenv_line, parse_dotenv, read_dotenv, write_dotenv
from noeira_tui.core.errors import ConfigError
from noeira_tui.core.settings import API_KEY, LOCAL_ONLY, MAX_RATE, SLOTS, SPECS, THEME, URL, Settings, Source
from noeira_tui.core.settingsfile import (
    default_config_file,
    read_settings_file,
    read_settings_table,
    write_settings_file,
)

BEFORE = """\
# my settings
cloud_url = "http://old"  # the lab's

transfer_slots = 3

[keys]
pull = ["f5", "p"]
push = "f6"
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_change_keeps_comments_order_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(BEFORE)
    write_settings_file(path, {URL: "http://new", SLOTS: None, MAX_RATE: "20MB", THEME: "noeira-light"})
    text = path.read_text()
    assert text.startswith('# my settings\ncloud_url = "http://new"  # the lab\'s\n')
    assert "transfer_slots" not in text
    assert text.index("max_rate") < text.index("[keys]")
    assert read_settings_file(path) == {URL: "http://new", MAX_RATE: "20MB", THEME: "noeira-light"}
    assert read_settings_table(path, "keys") == {"pull": ("f5", "p"), "push": "f6"}


def test_a_new_file_is_for_its_owner_only_and_so_is_an_old_one_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "config" / "noeira-tui" / "config.toml"
    old_mask = os.umask(0)
    try:
        write_settings_file(path, {API_KEY: "nk_1_secret"})
    finally:
        os.umask(old_mask)
    assert mode(path) == 0o600
    path.chmod(0o644)
    write_settings_file(path, {SLOTS: "4"})
    assert mode(path) == 0o600
    assert read_settings_file(path) == {API_KEY: "nk_1_secret", SLOTS: "4"}
    assert [one.name for one in path.parent.iterdir()] == ["config.toml"]


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text(BEFORE)
    link.symlink_to(real)
    write_settings_file(link, {SLOTS: "5"})
    assert link.is_symlink()
    assert read_settings_file(real)[SLOTS] == "5"


@pytest.mark.parametrize("text", ["cloud_url = \n", "unknown = 1\n", "cloud_url = true\n"])
def test_a_damaged_file_is_not_touched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.toml"):
        write_settings_file(path, {SLOTS: "4"})
    assert path.read_text() == text


def test_a_file_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written") as told:
        write_settings_file(tmp_path / "file" / "config.toml", {SLOTS: "4"})
    assert "A file stands where a folder" in told.value.hint
    with pytest.raises(ConfigError, match="cannot be written") as told:
        write_dotenv(tmp_path / "file" / ".env", {SLOTS: "4"})
    assert "A file stands where a folder" in told.value.hint


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EACCES, "Make {file} writable for you (chmod u+w"),
        (errno.EPERM, "Make {file} writable for you (chmod u+w"),
        (errno.EROFS, "Its file system can only be read"),
        (errno.ENOSPC, "free some space"),
    ],
)
def test_what_to_do_about_a_file_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    for module in (settingsfile, dotenv):
        monkeypatch.setattr(module, "write_owner_only", refuse)
    with pytest.raises(ConfigError, match="cannot be written") as told:
        write_settings_file(path, {SLOTS: "4"})
    assert hint.format(file=path) in told.value.hint
    with pytest.raises(ConfigError, match="cannot be written") as told:
        write_dotenv(path, {SLOTS: "4"})
    assert hint.format(file=path) in told.value.hint


def test_a_file_that_cannot_be_made_names_the_folder_that_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(settingsfile, "write_owner_only", refuse)
    with pytest.raises(ConfigError) as told:
        write_settings_file(tmp_path / "not" / "there" / "config.toml", {SLOTS: "4"})
    assert f"Make {tmp_path} writable for you" in told.value.hint


def test_a_switch_may_be_a_word_or_a_truth_value(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for text, meant in (("true", "yes"), ("false", "no"), ('"yes"', "yes")):
        path.write_text(f"local_only = {text}\n")
        assert read_settings_file(path) == {LOCAL_ONLY: meant}


@pytest.mark.parametrize("text", ["keys = 1\n", "[keys]\npull = 1\n", "[keys]\npull = [1]\n"])
def test_a_table_of_another_shape_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="keys"):
        read_settings_table(path, "keys")


def test_settings_are_read_again_from_the_same_places(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), MAX_RATE: "1MB"}
    settings = Settings.load(root=tmp_path, cwd=tmp_path, environ=environ)
    write_settings_file(settings.config_file, {SLOTS: "7", MAX_RATE: "9MB"})
    again = settings.reload()
    assert (again.get(SLOTS), again.setting(SLOTS).source) == ("7", Source.FILE)
    assert (again.get(MAX_RATE), again.setting(MAX_RATE).source) == ("1MB", Source.ENVIRONMENT)
    assert again.root == settings.root


def test_every_value_that_is_refused_is_refused_with_a_reason() -> None:
    wrong = {URL: "cloud.example.org", API_KEY: "a b", MAX_RATE: "fast", SLOTS: "65", LOCAL_ONLY: "perhaps"}
    right = {URL: "https://a.b/c", API_KEY: "nk_1_x", MAX_RATE: "1.5 MB/s", SLOTS: "64", LOCAL_ONLY: "Yes"}
    for spec in SPECS:
        if spec.name in wrong:
            assert (spec.refusal(wrong[spec.name]) or "").endswith("."), spec.name
            assert spec.refusal(right[spec.name]) is None, spec.name


def test_a_dotenv_keeps_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(
        b"# the box\r\nWANDB_KEY='a b'\r\n\r\nNOEIRA_CLOUD_URL=http://old # was\r\nexport OTHER=1\r\n"
        b"NOEIRA_CLOUD_URL=http://later\r\nLAST=x"
    )
    write_dotenv(path, {URL: "http://new", API_KEY: "nk_1_x"})
    assert path.read_text() == (
        "# the box\nWANDB_KEY='a b'\n\nNOEIRA_CLOUD_URL=http://new\nexport OTHER=1\nLAST=x\n"
        "NOEIRA_CLOUD_API_KEY=nk_1_x\n"
    )
    assert mode(path) == 0o600
    assert read_dotenv(path)["WANDB_KEY"] == "a b"


def test_a_dotenv_with_a_broken_line_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("what is this\nthat 'is\n")
    with pytest.raises(ConfigError, match="line"):
        write_dotenv(path, {URL: "http://new"})
    assert path.read_text() == "what is this\nthat 'is\n"


_VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


@given(before=_VALUES, value=_VALUES, other=_VALUES)
def test_any_value_comes_back_from_a_dotenv(before: str, value: str, other: str) -> None:
    text = f"{dotenv_line('A', before)}\n{dotenv_line('B', other)}\n"
    changed = changed_dotenv(text, {"A": value, "C": value}, ".env")
    assert parse_dotenv(changed, ".env") == {"A": value, "B": other, "C": value}


@pytest.mark.parametrize("environ", [{}, {"XDG_CONFIG_HOME": "/somewhere/else"}])
def test_the_file_is_where_the_platform_keeps_settings(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert default_config_file(environ) == user_config_path("noeira-tui") / "config.toml"
