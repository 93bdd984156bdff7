"""`web`: the app in a browser, for a forwarded port."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from getpass import getuser
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli.command import Cli, command
from noeira_tui.cli.extras import needs_extra
from noeira_tui.core.errors import ConfigError

if TYPE_CHECKING:
    from noeira_tui.tui.web.server import AppServer

DEFAULT_PORT = 8788


def add(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "web")(web)


def web(
    cli: Cli,
    port: Annotated[
        int | None, typer.Option("--port", metavar="P", help=f"{DEFAULT_PORT} by default; 0 takes a free one.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The app without dangerous actions.")] = False,
) -> int:
    """The app in a browser, on loopback only: forward the port to your own machine with ssh -L.

    Prints the address, and the ssh command. Ctrl-C ends it; jobs go on. Example: noeira-tui web --port 0
    """
    with needs_extra("web", "The app in a browser"):
        from noeira_tui.tui.web.server import AppServer, app_command

    if port is not None and not 0 <= port < 65536:
        raise ConfigError(f"There is no port {port}.", hint="It is a number up to 65535; 0 takes a free one.")
    _ = cli.settings  # what is wrong with them is said here, not on a page
    server = AppServer(app_command(cli.root, cli.env_file, read_only=read_only))
    ended_by: list[int] = []

    def announce(bound: int) -> None:
        url = f"http://127.0.0.1:{bound}/"
        if cli.output.json:
            cli.output.data({"url": url, "port": bound, "ssh": ssh_line(bound)})
        else:
            cli.output.line(url)
        cli.output.say(f"from your own machine: {ssh_line(bound)}   then open http://localhost:{bound}/ there")
        cli.output.say("only you on this box can open it; Ctrl-C ends it")
        # The library repeats the last words of an app on stdout; that one has data only.
        streams.enter_context(redirect_stdout(sys.stderr))

    with ExitStack() as streams:
        asyncio.run(_serve(server, _free(DEFAULT_PORT) if port is None else port, announce, ended_by))
    return 128 + ended_by[-1] if ended_by else 0


async def _serve(server: AppServer, port: int, announce: Callable[[int], None], ended_by: list[int]) -> None:
    stop = asyncio.Event()

    def end(number: int) -> None:
        ended_by.append(number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    await server.run(port, stop, announce)


def _free(port: int) -> int:
    """The usual port, else any: nobody asked for this one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port


def ssh_line(port: int) -> str:
    """The command that forwards the port, to be run on the machine with the browser."""
    # Where somebody came from by SSH, that address works from there.
    fields = os.environ.get("SSH_CONNECTION", "").split()
    host, ssh_port = (fields[2], fields[3]) if len(fields) == 4 else (socket.gethostname(), "22")
    other = "" if ssh_port == "22" else f"-p {ssh_port} "
    return f"ssh -N -L {port}:127.0.0.1:{port} {other}{getuser()}@{host}"
