"""Opening a connection: straight or through a proxy, with TLS and the authorities of this box."""

from __future__ import annotations

import base64
import functools
import http.client
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from noeira_tui.core.errors import NetworkError
from noeira_tui.transfer.facts import Patience


@dataclass(frozen=True)
class Line:
    """An open connection, how to name targets on it, and the headers a proxy on the way wants."""

    connection: http.client.HTTPConnection
    absolute_targets: bool = False
    headers: dict[str, str] = field(default_factory=dict, repr=False)

    def target(self, parts: SplitResult) -> str:
        """What the request line names: path and query, or the whole URL when a proxy has to find the host."""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return f"{parts.scheme}://{host_header(parts)}{path}" if self.absolute_targets else path


def host_header(parts: SplitResult) -> str:
    """Host and port as the `Host` header has them: no user name, brackets round IPv6."""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port is None else f"{host}:{parts.port}"


def dial(parts: SplitResult, patience: Patience) -> Line:
    """Connect to the origin of a URL. Raises OSError, http.client.HTTPException, or NetworkError for an odd proxy."""
    proxy = proxy_for(parts)
    if proxy is None:
        connection = _connection(parts, patience)
        connection.connect()
        return Line(connection)
    hop = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if hop.scheme not in {"http", "https"}:
        raise NetworkError(
            f"The proxy {hop.scheme}://{host_header(hop)} is of a kind that transfers cannot use.",
            hint="Name an http:// proxy in HTTP_PROXY and HTTPS_PROXY, or except the host in NO_PROXY.",
            retryable=False,
        )
    if parts.scheme == "http":
        connection = _connection(hop, patience)
        connection.connect()
        return Line(connection, absolute_targets=True, headers=_proxy_authorization(hop))
    if hop.scheme == "https":
        raise NetworkError(
            f"The proxy https://{host_header(hop)} would need TLS inside TLS.",
            hint="Name it with http:// in HTTPS_PROXY.",
            retryable=False,
        )
    tunnel = http.client.HTTPSConnection(
        hop.hostname or "", hop.port or 80, timeout=patience.connect_s, context=tls_context()
    )
    tunnel.set_tunnel(parts.hostname or "", parts.port or 443, headers=_proxy_authorization(hop))
    tunnel.connect()
    return Line(tunnel)


def _connection(parts: SplitResult, patience: Patience) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port or 443, timeout=patience.connect_s, context=tls_context())
    return http.client.HTTPConnection(host, parts.port or 80, timeout=patience.connect_s)


def tls_context() -> ssl.SSLContext:
    """The box's own authorities, or those of SSL_CERT_FILE and SSL_CERT_DIR; certifi's beside the box's own.

    certifi is what a Python without the system's store has. Raises OSError for a named file that is not there.
    """
    return _trusting(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@functools.cache
def _trusting(named_file: str | None, named_folder: str | None) -> ssl.SSLContext:
    """Loading hundreds of authorities takes tens of milliseconds: once is enough."""
    # It reads the same variables.
    context = ssl.create_default_context()
    if not (named_file or named_folder):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def certificate_hint() -> str:
    """What to do about a certificate that was not accepted."""
    named = os.environ.get("SSL_CERT_FILE")
    if named and not Path(named).is_file():
        return f"SSL_CERT_FILE names {named}, which does not exist."
    return "Name the file of your authority's certificates in SSL_CERT_FILE, and check the clock of this box."


def proxy_for(parts: SplitResult) -> str | None:
    """The proxy that a request for a URL goes through; None for none."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(host_header(parts)):
        return None
    return proxy


def _proxy_authorization(hop: SplitResult) -> dict[str, str]:
    if hop.username is None:
        return {}
    pair = f"{unquote(hop.username)}:{unquote(hop.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
