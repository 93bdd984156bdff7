"""Changing settings and connecting to a service: what is refused is refused before it is written."""

from __future__ import annotations

import stat
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from noeira_tui.core.dotenv import read_dotenv
from noeira_tui.core.errors import ConfigError, NoeiraError, ProtocolError, RefusedError, UnreachableError
from noeira_tui.core.settings import (
    API_KEY,
    LOCAL_ONLY,
    MAX_RATE,
    PROJECTS,
    ROOT,
    SLOTS,
    SPECS,
    THEME,
    URL,
    Settings,
    Source,
)
from noeira_tui.core.settingsfile import read_settings_file
from noeira_tui.overview import configuring, connecting
from noeira_tui.overview.connecting import Connection
from tests.support.service_fixture import RunningService

KEY = "nk_3f9a77b2c1d04e55a8"


class ConsolePage(BaseHTTPRequestHandler):
    """Answers everything with a page for people, as a cloud console does."""

    def do_GET(self) -> None:
        body = b"<!doctype html><html><body>Sign in</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The tests' output stays quiet."""


def test_a_change_is_written_and_counts_at_once(root: Path) -> None:
    settings = Settings.load()
    changed = configuring.change(settings, SLOTS, " 5 ")
    assert (changed.get(SLOTS), changed.setting(SLOTS).source) == ("5", Source.FILE)
    assert settings.get(SLOTS) is None, "what somebody holds does not change under them"
    back = configuring.change(changed, SLOTS, None)
    assert back.get(SLOTS) is None
    assert read_settings_file(back.config_file) == {}


def test_what_stands_above_the_file_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_RATE, "9MB")
    settings = configuring.change(Settings.load(), MAX_RATE, "5MB")
    settings = configuring.change(settings, API_KEY, KEY)
    found = {one.name: one for one in configuring.changeable(settings)}
    assert list(found) == [spec.name for spec in SPECS]
    assert (found[MAX_RATE].setting.value, found[MAX_RATE].in_file, found[MAX_RATE].overruled) == ("9MB", "5MB", True)
    assert not found[API_KEY].overruled
    assert KEY not in found[API_KEY].file_shown + repr(found)
    assert not found[THEME].overruled


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (URL, "cloud.example.org", "no http"),
        (API_KEY, "two words", "paste it whole"),
        (SLOTS, "0", "from 1 to 64"),
        (MAX_RATE, "quick", "no bandwidth"),
        (LOCAL_ONLY, "perhaps", "yes or no"),
        (ROOT, "here", "whole path"),
        (ROOT, "/nowhere/at/all", "no folder"),
        (PROJECTS, "a-file", "is a file"),
        (THEME, "  ", "empty"),
    ],
)
def test_a_wrong_value_is_refused_with_the_reason(root: Path, name: str, value: str, reason: str) -> None:
    (root / "a-file").write_text("")
    settings = Settings.load()
    assert reason in (configuring.refusal(settings, name, value) or "")
    with pytest.raises(ConfigError, match=name):
        configuring.change(settings, name, value)
    assert not settings.config_file.exists()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"NOEIRA_CLOUD_URL=http://a:1\nNOEIRA_CLOUD_API_KEY={KEY}\n", ("http://a:1", KEY)),
        (f"  export NOEIRA_CLOUD_API_KEY='{KEY}'\r\n\nNOEIRA_CLOUD_URL=http://a:1", ("http://a:1", KEY)),
        ("http://a:1", (None, None)),
        (KEY, (None, None)),
        ("", (None, None)),
    ],
)
def test_pasted_lines_are_understood(text: str, found: tuple[str | None, str | None]) -> None:
    assert connecting.pasted(text) == found


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (" cloud.example.org/ ", "https://cloud.example.org"),
        ("localhost:8787", "http://localhost:8787"),
        ("gpu-box-3:8787", "http://gpu-box-3:8787"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("http://a.b/", "http://a.b"),
        ("", ""),
    ],
)
def test_an_address_is_completed(typed: str, meant: str) -> None:
    assert connecting.completed_url(typed) == meant


def test_a_service_is_asked_before_anything_is_kept(connected: Settings, service: RunningService) -> None:
    good = Connection(service.url, service.key)
    answer = connecting.ask(good)
    assert answer.datasets is not None
    assert "noeira" in answer.service
    with pytest.raises(RefusedError) as wrong:
        connecting.ask(Connection(service.url, "nk_1_wrong"))
    assert wrong.value.title == "Wrong API key"
    assert wrong.value.hint


def test_what_is_no_service_is_told_apart_from_what_gives_no_answer(root: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), ConsolePage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        closed = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(NoeiraError) as page:
            connecting.ask(Connection(closed, KEY))
        server.shutdown()
    assert isinstance(page.value, ProtocolError | RefusedError)
    assert page.value.hint
    with pytest.raises(UnreachableError) as gone:
        connecting.ask(Connection(closed, KEY))
    assert gone.value.hint
    assert KEY not in str(gone.value) + str(page.value)


def test_address_and_key_are_kept_where_they_belong(root: Path) -> None:
    settings = Settings.load()
    connection = Connection("http://127.0.0.1:9", KEY)
    first, second = connecting.places(settings)
    assert (first, second) == (settings.config_file, root / ".env")
    without = connecting.go_without(settings)
    assert without.get(LOCAL_ONLY) == "yes"

    kept = connecting.keep(without, connection, first)
    assert (kept.get(URL), kept.get(API_KEY), kept.get(LOCAL_ONLY)) == (connection.url, KEY, None)
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert connecting.stands_in_the_way(kept, connection) is None

    (root / ".env").write_text("# ours\nNOEIRA_CLOUD_URL=http://old\n")
    again = settings.reload()
    assert connecting.places(again)[0] == root / ".env", "where the address is now"
    told = connecting.stands_in_the_way(connecting.keep(again, connection, first), connection)
    assert str(root / ".env") in (told or "")
    mended = connecting.keep(again, connection, root / ".env")
    assert connecting.stands_in_the_way(mended, connection) is None
    assert (root / ".env").read_text().startswith("# ours\n")
    assert read_dotenv(root / ".env") == {URL: connection.url, API_KEY: KEY}
    assert stat.S_IMODE((root / ".env").stat().st_mode) == 0o600
