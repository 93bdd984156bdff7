"""The app in a browser: it opens there, only for its own page and user, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets import Origin
from websockets.sync.client import ClientConnection, connect

from noeira_tui.cli.web import ssh_line
from noeira_tui.core.settings import LOCAL_ONLY, STATE
from noeira_tui.tui.web.guard import owner_of, refusal
from noeira_tui.tui.web.server import app_command
from tests.support.commandline import CommandLine, spawn
from tests.support.service_browser import chromium, running_browser
from tests.support.service_process import is_running, until
from tests.support.unprivileged import ordinary_user


@dataclass(frozen=True)
class Web:
    """A running `web` and its address."""

    process: subprocess.Popen[str]
    url: str

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def apps(self) -> list[int]:
        """The processes of the app that it runs."""
        pid = self.process.pid
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def page(self) -> ClientConnection:
        """A page's connection to the app."""
        origin = Origin(f"http://{self.host}")
        return connect(f"ws://{self.host}/ws?width=100&height=30", origin=origin, max_size=2**24)


@contextmanager
def running_web(root: Path, *arguments: object) -> Iterator[Web]:
    home = str(root.parent)
    own = {"HOME": home, STATE: f"{home}/state", **{f"XDG_{name}_HOME": home for name in ("CONFIG", "DATA", "CACHE")}}
    process = spawn("web", "--port", 0, *arguments, cwd=root, env={LOCAL_ONLY: "yes", **own})
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), process.communicate()
        yield Web(process, url)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def page_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("web") / "root"
    root.mkdir()
    return root


@pytest.fixture(scope="module")
def web(page_root: Path) -> Iterator[Web]:
    """One for all tests that leave it running."""
    with running_web(page_root) as running:
        yield running


@pytest.fixture
def own_web(page_root: Path) -> Iterator[Web]:
    with running_web(page_root) as running:
        yield running


def read_until(page: ClientConnection, wanted: str) -> str:
    """What the app painted until it showed something."""
    seen = ""
    deadline = time.monotonic() + 30
    while wanted not in seen:
        data = page.recv(timeout=max(0.1, deadline - time.monotonic()))
        seen += data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return seen


@pytest.mark.skipif(chromium() is None, reason="needs chromium")
def test_a_browser_shows_the_app_types_into_it_and_is_told_its_end(web: Web, tmp_path: Path) -> None:
    with running_browser() as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=1200, height=700, deviceScaleFactor=1, mobile=False)
        browser.open(web.url.replace("127.0.0.1", "localhost"))
        shown = "document.body.classList.contains"
        until(lambda: browser.value(f"{shown}('-first-byte')"), "the app painted", 40)
        assert len(web.apps()) == 1
        picture = tmp_path / "page.png"
        # An empty page is a few hundred bytes.
        until(lambda: (browser.picture(picture), picture.stat().st_size > 15_000)[1], "the app is in the picture", 40)
        until(lambda: _quits(browser.call, browser.value), "q closes it", 40)
        assert "The app is closed" in browser.text()
        until(lambda: web.apps() == [], "its process ends")
        # Nothing is fetched from anywhere else, and nothing of ours is blocked by the page's own policy.
        assert {url.split("/")[2].split(":")[0] for url in browser.requested if url.startswith("http")} == {"localhost"}
        assert [one for one in browser.complaints if "Content Security Policy" in one] == []


def _quits(call: object, value: object) -> bool:
    call("Input.dispatchKeyEvent", type="keyDown", key="q", text="q")  # type: ignore[operator]
    call("Input.dispatchKeyEvent", type="keyUp", key="q")  # type: ignore[operator]
    return bool(value("document.body.classList.contains('-closed')"))  # type: ignore[operator]


def test_a_page_drives_the_same_app_and_its_size_follows(web: Web) -> None:
    with web.page() as page:
        assert "Catalog" in read_until(page, "Catalog")
        page.send('["resize", {"width": 140, "height": 40}]')
        page.send('["stdin", "?"]')
        read_until(page, "Keys")
        page.send('["ping", "7"]')
        read_until(page, '["pong", "7"]')
        page.send('["nonsense"]')
        page.send('["stdin", 5]')
        page.send('["stdin", "\\u001b"]')
        (app,) = web.apps()
    until(lambda: not is_running(app), "the app ends with its page")
    assert web.process.poll() is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example.org"},
        {"Host": "127.0.0.1.example.org:80"},
        {"Origin": "http://evil.example.org"},
        {"Origin": "http://localhost:1"},
        {"Origin": "null"},
    ],
)
def test_what_is_not_from_the_page_is_refused(web: Web, headers: dict[str, str]) -> None:
    assert httpx.get(web.url, headers=headers).status_code == 403
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    assert httpx.get(f"{web.url}ws", headers={"Origin": f"http://{web.host}", **upgrade, **headers}).status_code == 403
    assert web.apps() == []
    answer = httpx.get(web.url)
    assert answer.status_code == 200
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_headers_are_judged_by_name_and_origin_whatever_the_forwarded_port() -> None:
    assert refusal("localhost:9000", "http://localhost:9000", needs_origin=True) is None
    assert refusal("[::1]:9000", None, needs_origin=False) is None
    assert refusal("LOCALHOST:1", None, needs_origin=False) is None
    assert refusal("localhost:9000", "https://localhost:9000", needs_origin=True) is None
    for host, origin in (
        ("", None), ("[", None), ("localhost@evil", None), ("10.0.0.1:80", None), ("localhost:1", "http://localhost:2"),
        ("localhost:1", "file://"), ("localhost:1", ""), ("localhost:1", None),
    ):  # fmt: skip
        assert refusal(host, origin, needs_origin=True), (host, origin)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells whose a connection is")
def test_a_connection_is_known_by_its_user() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert owner_of(client.getsockname()[:2], port) == os.getuid()
        with ordinary_user(), socket.create_connection(("127.0.0.1", port)) as client:
            assert owner_of(client.getsockname()[:2], port) == os.geteuid()
    assert owner_of(("127.0.0.1", 1), port) is None


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to be somebody else")
def test_another_user_of_the_box_is_refused(web: Web) -> None:
    assert httpx.get(web.url).status_code == 200
    with ordinary_user():
        answer = httpx.get(web.url)
    assert (answer.status_code, answer.text) == (403, "This app is another user's.\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_it_ends_with_its_apps(own_web: Web, number: signal.Signals, code: int) -> None:
    with own_web.page() as page:
        read_until(page, "Catalog")
        (app,) = own_web.apps()
        # Somebody reads on, as a browser does.
        threading.Thread(target=lambda: [None for _ in page], daemon=True).start()
        own_web.process.send_signal(number)
        out, err = own_web.process.communicate(timeout=20)
    assert own_web.process.returncode == code
    assert not is_running(app)
    assert out == "", "stdout has the address only"
    assert "ssh -N -L" in err
    assert "Traceback" not in err


def test_the_app_ends_when_its_server_is_killed(own_web: Web) -> None:
    with own_web.page() as page:
        read_until(page, "Catalog")
        (app,) = own_web.apps()
        own_web.process.kill()
        until(lambda: not is_running(app), "the app notices")


def test_options_are_passed_on(page_root: Path, tmp_path: Path) -> None:
    assert app_command(None, None, read_only=False)[1:] == ["-m", "noeira_tui"]
    root = tmp_path / "elsewhere"
    root.mkdir()
    (tmp_path / "own.env").write_text("NOEIRA_THEME=noeira-light\n")
    with running_web(page_root, "--root", root, "--env-file", tmp_path / "own.env", "--read-only") as web:
        with web.page() as page:
            read_until(page, "Catalog")
            page.send('["resize", {"width": 200, "height": 40}]')
            read_until(page, "elsewhere")
            page.send('["stdin", "P"]')
            read_until(page, "read-only")


def test_the_ssh_line_fits_where_one_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.7 50000 203.0.113.5 2222")
    assert ssh_line(8788).startswith("ssh -N -L 8788:127.0.0.1:8788 -p 2222 ")
    assert ssh_line(8788).endswith("@203.0.113.5")
    monkeypatch.delenv("SSH_CONNECTION")
    assert ssh_line(1).endswith(f"@{socket.gethostname()}")


def test_wrong_use_is_said_and_is_exit_code_2(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(capsys)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = cli("web", "--port", port)
        assert (ran.code, ran.out) == (2, "")
        assert f"Port {port} cannot be used" in ran.err
    assert cli("web", "--port", 70000).code == 2
    assert cli("web", "--root", root / "nowhere").code == 2
    for name in [name for name in sys.modules if name.startswith(("textual_serve", "noeira_tui.tui.web"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    ran = cli("web", "--json")
    assert ran.code == 2
    assert ran.json["error"]["hint"] == "pip install 'noeira-tui[web]'"
