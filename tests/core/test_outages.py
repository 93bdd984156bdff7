"""Why no connection came about is said in words: no error numbers, no classes of a library, no secrets."""

from __future__ import annotations

import errno
import http.client
import os
import socket
import ssl

import httpx
import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.stored import ask_for_first_byte
from noeira_tui.core.errors import NetworkError, NoeiraError, UnreachableError
from noeira_tui.core.outages import in_words
from noeira_tui.core.presigned import PresignedUrl
from noeira_tui.core.progress import CancelToken
from noeira_tui.transfer.facts import Patience
from noeira_tui.transfer.http import Client, network_error

REFUSED = "nothing listens there (the connection was refused)"


def test_the_words_of_what_the_system_says() -> None:
    assert in_words(ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))) == REFUSED
    assert in_words(OSError(errno.EHOSTUNREACH, "No route to host")) == "no way leads to that host"
    assert in_words(socket.gaierror(-2, "Name or service not known")) == "no host of that name was found"
    assert in_words(TimeoutError(errno.ETIMEDOUT, "Connection timed out")) == "no answer in time"
    assert in_words(TimeoutError("no answer for 60 s")) == "no answer for 60 s"
    assert in_words(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")) == "the connection was cut"
    # What has no words here has the system's.
    assert in_words(OSError(errno.ENOBUFS, "No buffer space available")) == "No buffer space available"


def test_a_library_s_wrapping_is_looked_through() -> None:
    wrapped = httpx.ConnectError("[Errno 111] Connection refused")
    wrapped.__cause__ = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    assert in_words(wrapped) == REFUSED
    # Without its cause the number goes at least.
    assert in_words(httpx.ConnectError("[Errno 111] Connection refused")) == "Connection refused"
    assert in_words(httpx.ReadError("")) == "ReadError"


def test_a_certificate_is_told_without_places_in_somebody_s_source() -> None:
    text = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:992)"
    assert in_words(httpx.ConnectError(text)) == "its certificate was not accepted: self-signed certificate"
    assert "_ssl.c" not in in_words(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:992)"))


def test_no_secret_of_an_address_is_told() -> None:
    assert "sesame" not in in_words(httpx.ConnectError("https://store.example.org/x?X-Amz-Signature=sesame failed"))


def test_a_service_that_does_not_run_is_named_with_what_to_do() -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    with CatalogClient(url, "nk_1", sleep=lambda _: None) as client, pytest.raises(UnreachableError) as caught:
        client.facts()
    assert caught.value.message == f"The catalog service at {url} cannot be reached: {REFUSED}."
    assert "noeira-tui serve" in caught.value.hint
    _is_in_words(caught.value)


def test_a_service_of_an_unknown_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with CatalogClient("http://cloud.example.org", "nk_1", sleep=lambda _: None) as client:
        with pytest.raises(UnreachableError, match="no host of that name was found") as caught:
            client.facts()
    _is_in_words(caught.value)


def test_a_store_that_does_not_run_is_named_with_what_to_do() -> None:
    url = f"http://127.0.0.1:{closed_port()}/bucket/key?X-Amz-Signature=sesame"
    with pytest.raises(NetworkError) as caught:
        ask_for_first_byte(PresignedUrl(url, None))
    assert REFUSED in caught.value.message
    assert "sesame" not in str(caught.value)
    _is_in_words(caught.value)


def test_a_transfer_from_nowhere_is_told_with_what_to_do() -> None:
    port = closed_port()
    with Client(Patience(), CancelToken()) as client, pytest.raises(NetworkError) as caught:
        client.get(f"http://127.0.0.1:{port}/pack.tar.zst?X-Amz-Signature=sesame", {})
    assert caught.value.message == f"http://127.0.0.1:{port}/pack.tar.zst cannot be reached: {REFUSED}."
    assert f"127.0.0.1:{port}" in caught.value.hint
    _is_in_words(caught.value)


def test_a_connection_that_breaks_later_is_not_called_unreachable() -> None:
    told = network_error(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), "https://a.example.org/x")
    assert told.message == "https://a.example.org/x: the connection was cut."
    assert network_error(http.client.BadStatusLine("nonsense"), "https://a.example.org/x").message.endswith("nonsense.")


def _is_in_words(err: NoeiraError) -> None:
    said = f"{err.message} {err.hint}"
    assert "Errno" not in said
    assert "Error" not in said
    assert "GET" not in said


def closed_port() -> int:
    """A port of this box where nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
