"""The nginx configuration that is handed out, with a real nginx: what it passes on is what the signatures bind to."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from noeira_tui import RemoteCatalog
from noeira_tui.core.settings import Settings
from noeira_tui.service.config import ServiceConfig
from tests.support.service_fixture import RunningService, running_service
from tests.support.service_process import ROOT, ends_with_us, until

CONF = ROOT / "deploy" / "nginx.conf"
CATALOG, OBJECTS = "localhost", "127.0.0.1"
"""Two names of this machine."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def settings_of(port: int, service: RunningService) -> str:
    """The file as it is, on one loopback port, without the certificates that a test has not."""
    text = "\n".join(line for line in CONF.read_text().splitlines() if "ssl_certificate" not in line)
    for old, new in (
        ("proxy_pass http://127.0.0.1:8787", f"proxy_pass {service.url}"),
        ("proxy_pass http://127.0.0.1:8788", f"proxy_pass {service.store_endpoint}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port}"),
        ("catalog.example.org", CATALOG),
        ("objects.example.org", OBJECTS),
    ):
        assert old in text
        text = text.replace(old, new)
    return text


@contextmanager
def running_nginx(folder: Path, servers: str) -> Iterator[None]:
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("there is no nginx here")
    folder.mkdir()
    kept = "".join(
        f"{kind}_temp_path {folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root; " if os.geteuid() == 0 else ""
    main = f"{user}daemon off; pid {folder / 'pid'}; error_log {folder / 'log'}; events {{}}"
    (folder / "nginx.conf").write_text(f"{main}\nhttp {{ access_log off; {kept}\n{servers}\n}}")
    process = subprocess.Popen(
        [program, "-c", str(folder / "nginx.conf")],
        stderr=subprocess.DEVNULL,
        preexec_fn=ends_with_us,  # noqa: PLW1509  the child only asks its kernel
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The service's address behind the proxy, and a key."""
    port = free_port()
    config = ServiceConfig(Path(), port=0, public_endpoint=f"http://{OBJECTS}:{port}")
    with ExitStack() as stack:
        service = stack.enter_context(running_service(tmp_path / "service", config))
        stack.enter_context(running_nginx(tmp_path / "nginx", settings_of(port, service)))
        url = f"http://{CATALOG}:{port}"

        def answers() -> bool:
            try:
                return httpx.get(f"{url}/healthz").status_code == 200
            except httpx.ConnectError:
                return False

        until(answers, "nginx answers")
        yield url, service.key


def test_a_push_and_a_pull_get_through(tmp_path: Path, address: tuple[str, str]) -> None:
    url, key = address
    source = tmp_path / "walker.h5"
    source.write_bytes(os.urandom(1024) * 5000)
    environ = {"NOEIRA_CLOUD_URL": url, "NOEIRA_CLOUD_API_KEY": key, "NOEIRA_STATE": str(tmp_path / "state")}
    with RemoteCatalog(Settings.load(root=tmp_path, environ=environ)) as catalog:
        catalog.push(source, name="walker")
        assert catalog.pull("walker-v1", tmp_path / "pulled.h5").read_bytes() == source.read_bytes()
    told = httpx.get(f"{url}/datasets/walker-v1", headers={"Authorization": f"Bearer {key}"}).json()
    assert told["download_url"].startswith(f"http://{OBJECTS}:")


def test_figures_are_kept_inside(address: tuple[str, str]) -> None:
    assert httpx.get(f"{address[0]}/metrics").status_code == 404
