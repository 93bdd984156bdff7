"""Datasets behind TLS: an authority of one's own, and certificates that are not to be trusted."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.core.errors import NetworkError
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_http import FileServer, serving

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for loopback, with its key beside it."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture
def secure(made: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with serving(made) as server:
        server.secure(tls)
        yield server


def test_an_authority_of_ones_own(secure: FileServer, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert secure.url.startswith("https://")
    with Inspector(f"{secure.url}/small") as inspector:
        assert inspector.summary().num_episodes == 5
        assert inspector.series(1).state is not None
        assert inspector.picture(1, "observation.images.front", 0.1).width == 64


def test_s3_behind_it(secure: FileServer, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("AWS_ENDPOINT_URL", secure.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    assert inspect("s3://small", episodes=True).problems == ()


def test_an_unknown_authority_is_told_with_what_to_do(secure: FileServer) -> None:
    with pytest.raises(NetworkError, match="certificate") as caught:
        inspect(f"{secure.url}/small")
    assert "SSL_CERT_FILE" in caught.value.hint
    assert not caught.value.retryable
    assert secure.counted.requests == 0


def test_a_file_of_authorities_that_is_not_there(secure: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(NetworkError) as caught:
        inspect(f"{secure.url}/small")
    assert "/nowhere/ca.pem, which does not exist" in caught.value.hint
