from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from noeira_tui.core.errors import ConfigError, MissingSettingError
from noeira_tui.core.settings import API_KEY, PROJECTS, ROOT, SLOTS, SPECS, STATE, URL, Settings, Source, mask
from tests.support.unprivileged import ordinary_user

SECRET = "nk_3f9a77b2c1d04e55a8"


class Place:
    """A working folder inside a git work tree, and a settings folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.cwd = self.root / "sub" / "deeper"
        self.config = folder / "config" / "noeira-tui" / "config.toml"
        self.cwd.mkdir(parents=True)
        self.config.parent.mkdir(parents=True)
        (self.root / ".git").mkdir()

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        root: Path | None = None,
        env_file: Path | None = None,
        cwd: Path | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> Settings:
        environ = {"XDG_CONFIG_HOME": str(self.config.parent.parent), **(environ or {})}
        return Settings.load(root=root, env_file=env_file, environ=environ, cwd=cwd or self.cwd, flags=flags)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_each_source_beats_the_next_one(place: Place) -> None:
    place.config.write_text('cloud_url = "http://file"\n')
    (place.root / ".env").write_text(f"{URL}=http://root-env\n")
    (place.cwd / ".env").write_text(f"{URL}=http://cwd-env\n")
    environ = {URL: "http://environment"}
    flags = {URL: "http://flag"}

    def seen(settings: Settings) -> tuple[str | None, Source, str]:
        found = settings.setting(URL)
        return found.value, found.source, found.place

    assert seen(place.load(environ, flags=flags)) == ("http://flag", Source.FLAG, "command line")
    assert seen(place.load(environ)) == ("http://environment", Source.ENVIRONMENT, "environment")
    assert seen(place.load()) == ("http://cwd-env", Source.DOTENV, str(place.cwd / ".env"))
    (place.cwd / ".env").unlink()
    assert seen(place.load()) == ("http://root-env", Source.DOTENV, str(place.root / ".env"))
    (place.root / ".env").unlink()
    assert seen(place.load()) == ("http://file", Source.FILE, str(place.config))
    place.config.unlink()
    assert seen(place.load()) == (None, Source.DEFAULT, "")


@pytest.mark.parametrize("empty", ["", "   ", "\t"])
def test_an_empty_value_is_absent_in_every_source(place: Place, empty: str) -> None:
    (place.cwd / ".env").write_text(f'{URL}="{empty}"\n')
    (place.root / ".env").write_text(f"{URL}=\n")
    place.config.write_text('cloud_url = "http://file"\n')
    settings = place.load({URL: empty}, flags={URL: empty})
    assert settings.get(URL) == "http://file"
    assert settings.setting(URL).source is Source.FILE


def test_sources_mix_setting_by_setting(place: Place) -> None:
    (place.cwd / ".env").write_text(f"{API_KEY}={SECRET}\n")
    place.config.write_text("transfer_slots = 5\n")
    settings = place.load({URL: "http://h/"})
    assert (settings.service_url, settings.require(API_KEY), settings.transfer_slots) == ("http://h", SECRET, 5)


def test_a_missing_setting_is_named_with_every_place_looked_at(place: Place) -> None:
    with pytest.raises(MissingSettingError) as caught:
        place.load().require(API_KEY)
    assert caught.value.name == API_KEY
    assert caught.value.exit_code == 2
    for looked in (API_KEY, "environment", str(place.cwd / ".env"), str(place.root / ".env"), str(place.config)):
        assert looked in caught.value.message


def test_env_file_is_read_instead_of_every_dotenv(place: Place) -> None:
    (place.cwd / ".env").write_text(f"{URL}=http://cwd\n{SLOTS}=7\n")
    (place.root / ".env").write_text(f"{URL}=http://root\n")
    (place.cwd / "other.env").write_text(f"{URL}=http://other\n")
    settings = place.load(env_file=Path("other.env"))
    assert settings.service_url == "http://other"
    assert settings.transfer_slots == 2
    assert settings.env_file == place.cwd / "other.env"
    assert settings.places == ("the environment", str(place.cwd / "other.env"), str(place.config))
    with pytest.raises(ConfigError, match=r"no file .*absent\.env"):
        place.load(env_file=Path("absent.env"))
    with pytest.raises(ConfigError, match="no file"):
        place.load(env_file=place.cwd)


def test_where_the_root_is(place: Place, tmp_path: Path) -> None:
    other, third = tmp_path / "other", tmp_path / "third"
    other.mkdir()
    third.mkdir()
    assert place.load().root == place.root
    assert place.load({ROOT: str(other)}).root == other
    assert place.load({ROOT: str(other)}, root=third).root == third
    assert place.load(root=Path("../../../third")).root == third
    assert place.load(cwd=other).root == other, "outside a work tree it is the working folder"
    (place.cwd / ".env").write_text(f"{ROOT}={third}\n")
    assert place.load().root == third


def test_a_work_tree_may_have_a_git_file(place: Place) -> None:
    (place.cwd / ".git").write_text("gitdir: elsewhere\n")
    assert place.load().root == place.cwd


def test_the_roots_own_dotenv_does_not_move_the_root(place: Place, tmp_path: Path) -> None:
    (place.root / ".env").write_text(f"{ROOT}={tmp_path}\n{URL}=http://h\n")
    settings = place.load()
    assert (settings.root, settings.get(ROOT), settings.get(URL)) == (place.root, None, "http://h")


def test_a_root_that_is_no_folder_is_named_with_its_source(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"nowhere is not a folder .*environment"):
        place.load({ROOT: "nowhere"})


def test_relative_places_are_below_the_root(place: Place) -> None:
    settings = place.load({PROJECTS: "mine", STATE: "state", "NOEIRA_CACHE": "/c/../d"})
    assert settings.projects_dir == place.root / "mine"
    assert settings.state_dir == place.root / "state"
    assert settings.cache_dir == Path("/d")
    assert settings.data_dir == place.root / "data"
    assert place.load().projects_dir == place.root / "projects"
    assert place.load({PROJECTS: "~/p"}).projects_dir == Path("~/p").expanduser()


def test_a_settings_file_with_an_unknown_key_is_an_error_that_shows_no_value(place: Place) -> None:
    place.config.write_text(f'cloud_api_kee = "{SECRET}"\n')
    with pytest.raises(ConfigError, match="unknown setting 'cloud_api_kee'") as caught:
        place.load()
    assert SECRET not in str(caught.value)
    assert "cloud_api_key" in caught.value.hint
    assert str(place.config) in caught.value.message


@pytest.mark.parametrize(
    "text", ["cloud_url = [1]\n", "cloud_url = true\n", "transfer_slots = 1.5\n", "[cloud]\nurl = 1\n"]
)
def test_a_settings_file_with_another_type_is_an_error(place: Place, text: str) -> None:
    place.config.write_text(text)
    with pytest.raises(ConfigError):
        place.load()


def test_a_broken_settings_file_names_itself_and_leaks_nothing(place: Place) -> None:
    place.config.write_bytes(b'cloud_api_key = "' + SECRET.encode() + b"\n")
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert str(place.config) in caught.value.message
    assert SECRET not in str(caught.value)
    place.config.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        place.load()


def test_a_settings_file_may_begin_with_a_byte_order_mark(place: Place) -> None:
    place.config.write_bytes(b'\xef\xbb\xbfcloud_url = "http://bom"\r\n')
    assert place.load().service_url == "http://bom"


def test_every_setting_can_be_in_the_settings_file(place: Place) -> None:
    values = {spec.file_key: "3" for spec in SPECS if spec.name != ROOT} | {"root": str(place.root)}
    place.config.write_text("".join(f'{key} = "{value}"\n' for key, value in values.items()))
    settings = place.load()
    assert {settings.setting(spec.name).source for spec in SPECS} == {Source.FILE}


@pytest.mark.parametrize("bad", ["0", "65", "two", "²", "-1", "1.5", "9" * 5000])
def test_slots_are_a_small_whole_number(place: Place, bad: str) -> None:
    with pytest.raises(ConfigError, match=SLOTS):
        _ = place.load({SLOTS: bad}).transfer_slots


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://127.0.0.1:8787/", "http://127.0.0.1:8787"),
        (" https://cloud.example.org// ", "https://cloud.example.org"),
        ("HTTPS://Cloud.example.org/base/", "HTTPS://Cloud.example.org/base"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_a_service_address_loses_its_last_slash(place: Place, given: str, meant: str) -> None:
    assert place.load({URL: given}).service_url == meant


@pytest.mark.parametrize(
    "bad",
    ["cloud.example.org", "ftp://h", "http://", "http:///x", "https://a b/c", "//h", "http://h/?a=b", "http://h#x"],
)
def test_what_is_no_address_is_an_error(place: Place, bad: str) -> None:
    with pytest.raises(ConfigError, match=URL):
        _ = place.load({URL: bad}).service_url


def test_a_wrong_address_does_not_show_its_password(place: Place) -> None:
    with pytest.raises(ConfigError) as caught:
        _ = place.load({URL: "https://me:hunter2@host/a b"}).service_url
    assert "hunter2" not in str(caught.value)


def test_a_secret_never_shows_in_a_repr(place: Place) -> None:
    (place.cwd / ".env").write_text(f"{API_KEY}={SECRET}\n")
    settings = place.load()
    setting = settings.setting(API_KEY)
    shown = [repr(settings), str(settings), repr(setting), f"{setting}", setting.shown, repr([setting])]
    assert not any(SECRET in text for text in shown)
    assert setting.shown == "••••" + SECRET[-4:]
    assert {field.name for field in dataclasses.fields(Settings) if field.repr} == {
        "root",
        "cwd",
        "env_file",
        "places",
        "config_file",
    }


def test_a_short_secret_is_masked_whole() -> None:
    assert mask("short-key") == "••••"
    assert mask("x" * 12 + "tail") == "••••tail"


def test_a_dotenv_one_may_not_read_is_named(place: Place) -> None:
    with ordinary_user() as folder:
        (folder / ".env").write_text(f"{API_KEY}={SECRET}\n")
        (folder / ".env").chmod(0)
        with pytest.raises(ConfigError, match=r"\.env cannot be read: Permission denied"):
            place.load(cwd=folder)


def test_a_closed_folder_above_ends_nothing(place: Place) -> None:
    with ordinary_user() as folder:
        inner = folder / "closed" / "inner"
        inner.mkdir(parents=True)
        (folder / "closed").chmod(0)
        settings = place.load(cwd=inner)
        assert settings.root == inner
        with pytest.raises(ConfigError, match="is not a folder"):
            place.load(root=inner)


def test_a_settings_file_one_may_not_read_is_named_but_not_a_closed_home() -> None:
    with ordinary_user() as folder:
        environ = {"XDG_CONFIG_HOME": str(folder / "home")}
        config = folder / "home" / "noeira-tui" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('cloud_url = "http://h"\n')
        config.chmod(0)
        with pytest.raises(ConfigError, match=r"config\.toml cannot be read: Permission denied"):
            Settings.load(environ=environ, cwd=folder)
        (folder / "home").chmod(0)
        assert Settings.load(environ=environ, cwd=folder).get(URL) is None


def test_a_working_folder_that_is_gone_is_a_plain_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from noeira_tui.__main__ import main; sys.exit(main(['status']))"
    parent = str(Path(__file__).resolve().parents[2])
    # -P as the installed command has it: the folder itself is no place to import from.
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=gone, env={**os.environ, "PYTHONPATH": parent}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "working folder" in done.stderr
    assert "Traceback" not in done.stderr
