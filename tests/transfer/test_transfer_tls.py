"""TLS with an authority of one's own, and certificates that are not to be trusted."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.core.errors import NetworkError
from noeira_tui.transfer.download import download
from noeira_tui.transfer.upload import upload
from tests.support.faulty_proxy import FaultyProxy
from tests.support.faulty_server import FAST_CONTEXT, SECRET, Fault, FaultyServer, Kind

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for loopback, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture
def secure(certificate: Path, large_content: bytes) -> Iterator[FaultyServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with FaultyServer(large_content, tls=tls) as server:
        yield server


def test_own_authority(secure: FaultyServer, certificate: Path, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.will(Fault(Kind.CUT, 100_000), Fault(Kind.CHUNKED))
    download(secure.source(), dest, secure.wanted, context=FAST_CONTEXT)
    assert dest.read_bytes() == secure.content


def test_upload(secure: FaultyServer, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    path = tmp_path / "file"
    path.write_bytes(os.urandom(9_000_000))
    upload(path, secure.source(), context=FAST_CONTEXT)
    assert secure.uploads["/object"] == path.read_bytes()


def test_unknown_authority_is_not_retried(secure: FaultyServer, dest: Path) -> None:
    with pytest.raises(NetworkError, match="certificate") as caught:
        download(secure.source(), dest, secure.wanted, context=FAST_CONTEXT)
    assert "SSL_CERT_FILE" in caught.value.hint
    assert not caught.value.retryable
    assert secure.seen == []


def test_authority_file_that_is_missing_is_named(
    secure: FaultyServer, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(NetworkError) as caught:
        download(secure.source(), dest, secure.wanted, context=FAST_CONTEXT)
    assert "/nowhere/ca.pem" in caught.value.hint


def test_no_way_from_https_to_http(
    secure: FaultyServer, small: FaultyServer, certificate: Path, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.always = Fault(Kind.REDIRECT, location=f"{small.origin}/plain")
    with pytest.raises(NetworkError, match="without it"):
        download(secure.source(), dest, secure.wanted, context=FAST_CONTEXT)
    assert small.seen == []


def through(proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", f"http://me:p%40ss@{proxy.address}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)


def test_tunnel_through_a_proxy(
    secure: FaultyServer, certificate: Path, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS goes through the proxy untouched: it learns host and port and its own password, nothing of the URL."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with FaultyProxy() as proxy:
        through(proxy, monkeypatch)
        download(secure.source(), dest, secure.wanted, context=FAST_CONTEXT)
        assert dest.read_bytes() == secure.content
        assert proxy.asked
        for head in proxy.asked:
            assert head.startswith(f"CONNECT 127.0.0.1:{secure.port} HTTP/1.")
            assert "Proxy-Authorization: Basic bWU6cEBzcw==" in head
            assert SECRET not in head
    assert all("Proxy-Authorization" not in seen.headers for seen in secure.seen)


def test_proxy_that_refuses_the_tunnel(
    secure: FaultyServer, certificate: Path, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with FaultyProxy(refuse=407) as proxy:
        through(proxy, monkeypatch)
        with pytest.raises(NetworkError, match="407") as caught:
            download(secure.source(), dest, secure.wanted, context=FAST_CONTEXT)
    assert "p@ss" not in f"{caught.value}{caught.value.__context__!r}"
    assert secure.seen == []
