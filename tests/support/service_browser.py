"""A real, headless Chromium driven over its DevTools protocol: opens pages, types, clicks, and tells what it sees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.support.service_process import ends_with_us, until


class Browser:
    """One tab. What the page's own policy blocked and what it logged as an error is collected."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._loads = 0
        self.complaints: list[str] = []
        self.requested: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Go to an address and wait until it is loaded."""
        self._and_wait("Page.navigate", url=url)

    def text(self) -> str:
        return str(self.value("document.body.innerText"))

    @property
    def address(self) -> str:
        return str(self.value("location.pathname + location.search"))

    def value(self, expression: str) -> Any:
        """What an expression of ours gives in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def type(self, selector: str, text: str) -> None:
        """Put the cursor into a field and type."""
        assert self.value(f"(one => one && (one.focus(), true))(document.querySelector({json.dumps(selector)}))"), (
            selector
        )
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click the middle of an element with the mouse, and wait for the page that comes."""
        where = self.value(
            f"(one => one && (one.scrollIntoView(), (box => [box.x + box.width / 2, box.y + box.height / 2])"
            f"(one.getClientRects()[0])))(document.querySelector({json.dumps(selector)}))"
        )
        assert where, f"there is no {selector}"
        place = {"x": where[0], "y": where[1], "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", **place)
        self._and_wait("Input.dispatchMouseEvent", type="mouseReleased", **place)

    def picture(self, path: Path) -> None:
        import base64

        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            told = self._next(deadline)
            if told.get("id") == self._number:
                assert "error" not in told, told
                return dict(told["result"])
        raise AssertionError(f"no answer to {method}")

    def _and_wait(self, method: str, **parameters: Any) -> None:
        before = self._loads
        self.call(method, **parameters)
        deadline = time.monotonic() + 30
        while self._loads == before:
            self._next(deadline)

    def _next(self, deadline: float) -> dict[str, Any]:
        told = json.loads(self._socket.recv(timeout=max(0.1, deadline - time.monotonic())))
        if told.get("method") == "Page.loadEventFired":
            self._loads += 1
        elif told.get("method") == "Log.entryAdded":
            self.complaints.append(told["params"]["entry"]["text"])
        elif told.get("method") == "Network.requestWillBeSent":
            self.requested.append(told["params"]["request"]["url"])
        return dict(told)


def chromium() -> str | None:
    """The browser's program; None where it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser with an empty profile, ended with all it made."""
    program = chromium()
    assert program is not None, "see chromium()"
    profile = Path(tempfile.mkdtemp(prefix="chromium-"))
    process = subprocess.Popen(
        [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(profile)},
        start_new_session=True, preexec_fn=ends_with_us,  # noqa: PLW1509  the child only asks its kernel
    )  # fmt: skip
    try:
        told = profile / "DevToolsActivePort"
        until(lambda: told.exists() and len(told.read_text().split()) == 2, "the browser listens", patience_s=60)
        import httpx

        port = told.read_text().split()[0]
        tab = next(one for one in httpx.get(f"http://127.0.0.1:{port}/json/list").json() if one["type"] == "page")
        with connect(tab["webSocketDebuggerUrl"], max_size=2**26) as socket:
            yield Browser(socket)
    finally:
        # Its own session: this ends the browser's helpers too, and nothing else.
        os.killpg(process.pid, 9)
        process.wait(10)
        shutil.rmtree(profile, ignore_errors=True)
