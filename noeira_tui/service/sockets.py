"""Listening sockets, made before anything is started so that a port is known, kept and never raced for."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence

from noeira_tui.core.errors import ConfigError


def listen(host: str, ports: Sequence[int], setting: str = "--port") -> socket.socket:
    """A listening socket on the first of `ports` that is free; 0 takes any.

    Raises ConfigError naming host and port, and `setting` as what chooses another one.
    """
    failed: OSError | None = None
    for port in ports:
        try:
            return _listen(host, port)
        except OSError as err:
            failed = err
    port = ports[-1]
    if failed is not None and failed.errno == errno.EADDRINUSE:
        raise ConfigError(
            f"Port {port} on {host} is in use.",
            title="Port in use",
            hint=f"Stop what listens there, or choose another one with {setting} (0 takes a free one).",
        ) from failed
    raise ConfigError(
        f"Cannot listen on {host}, port {port}: {(failed and failed.strerror) or failed}.",
        hint=f"Check --host and {setting}.",
    ) from failed


def _listen(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    return listening


def port_of(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])


def http_address(host: str, port: int) -> str:
    """`http://host:port`, with brackets round an IPv6 address."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
