"""Serves the app to browsers of this box: a page, its terminal, and a process of the app for every open page."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from noeira_tui.core.errors import ConfigError
from noeira_tui.tui.terminal import PAGE_DRIVER
from noeira_tui.tui.web.guard import guard

_HERE = Path(__file__).parent
_LIBRARY = Path(textual_serve.__file__).parent / "static"
_END_WITHIN_S = 3.0
_MAX_CELLS = 1000
HOST = "127.0.0.1"


class AppProcess(AppService):
    """One process of the app: without a shell, in a session of its own, and certainly gone after `stop`."""

    def __init__(self, arguments: Sequence[str], socket: web.WebSocketResponse) -> None:
        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=_closing(socket),
            download_manager=DownloadManager(),
        )
        self._arguments = arguments

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = {
            **self._build_environment(width=width, height=height),
            "TEXTUAL_DRIVER": PAGE_DRIVER,
            # The browser shows every sign, whatever the terminal of the server can.
            "LC_ALL": "C.UTF-8",
        }
        self._process = process = await asyncio.create_subprocess_exec(
            *self._arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        self._stdin = process.stdin
        return process

    async def stop(self) -> None:
        """Ask the app to end, then make it."""
        process = self._process
        if process is None:
            return
        task, self._task = self._task, None
        if process.returncode is None:
            await self.send_meta({"type": "quit"})
        for end in (process.terminate, process.kill):
            try:
                await asyncio.wait_for(process.wait(), _END_WITHIN_S)
                break
            except TimeoutError:
                with suppress(ProcessLookupError):
                    end()
        await process.wait()
        if task is not None:
            await task


def _closing(socket: web.WebSocketResponse) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        await socket.close()

    return close


class AppServer:
    """The server. `arguments` is the command line of the app."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._open: set[web.WebSocketResponse] = set()

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(middlewares=[guard])
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/page.js", self._script),
                web.get("/ws", self._terminal),
                web.static("/static", _LIBRARY),
            ]
        )
        return app

    async def run(self, port: int, stop: asyncio.Event, announce: Callable[[int], None]) -> None:
        """Serve on loopback until `stop` is set, then end every app. Raises ConfigError for a port that is taken."""
        runner = web.AppRunner(self.application(), access_log=None, shutdown_timeout=2 * _END_WITHIN_S)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, port)
            try:
                await site.start()
            except OSError as err:
                raise ConfigError(
                    f"Port {port} cannot be used: {err.strerror or err}.", hint="Name another with --port, or 0."
                ) from err
            announce(runner.addresses[0][1])
            await stop.wait()
            await asyncio.gather(*(socket.close(code=WSCloseCode.GOING_AWAY) for socket in tuple(self._open)))
        finally:
            await runner.cleanup()

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(_HERE / "page.html", headers={"Content-Type": "text/html; charset=utf-8"})

    async def _script(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(_HERE / "page.js", headers={"Content-Type": "text/javascript; charset=utf-8"})

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        """One open page: a process of the app, as long as the page is open or until it is left."""
        socket = web.WebSocketResponse(heartbeat=15)
        await socket.prepare(request)
        app = AppProcess(self._arguments, socket)
        self._open.add(socket)
        try:
            await app.start(_cells(request.query.get("width"), 80), _cells(request.query.get("height"), 24))
            await _pass_on(socket, app)
        finally:
            self._open.discard(socket)
            await asyncio.shield(app.stop())
        return socket


async def _pass_on(socket: web.WebSocketResponse, app: AppProcess) -> None:
    """Give the app what the page sends, until it is closed."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        try:
            said = message.json()
        except ValueError:
            continue  # no word of our page
        match said:
            case ["stdin", str(text)]:
                await app.send_bytes(text.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await app.set_terminal_size(_cells(str(width), 80), _cells(str(height), 24))
            case ["ping", data]:
                await socket.send_json(["pong", data])
            case ["blur", *_]:
                await app.blur()
            case ["focus", *_]:
                await app.focus()


def _cells(text: str | None, otherwise: int) -> int:
    return max(1, min(_MAX_CELLS, int(text))) if text and text.isascii() and text.isdigit() else otherwise


def app_command(root: Path | None, env_file: Path | None, *, read_only: bool) -> list[str]:
    """The command line of the app in a page: the same program, with the same options."""
    command = [sys.executable, "-m", "noeira_tui"]
    if root is not None:
        command += ["--root", os.fspath(root)]
    if env_file is not None:
        command += ["--env-file", os.fspath(env_file)]
    return [*command, "--read-only"] if read_only else command
