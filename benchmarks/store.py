"""nginx as the object store: whole speed at `/`, each connection capped at `/capped/`, uploads at `/put/`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CAP_BYTES_PER_S = 50_000_000

_CONFIGURATION = """
daemon off; master_process on; worker_processes 1; {user}
pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000; client_max_body_size 0;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/body; fastcgi_temp_path {folder}/body;
  uwsgi_temp_path {folder}/body; scgi_temp_path {folder}/body;
  server {{
    listen 127.0.0.1:{port}; root {folder}/www;
    location / {{ }}
    location /capped/ {{ alias {folder}/www/; limit_rate {cap}; }}
    location /put/ {{ alias {folder}/put/; dav_methods PUT; }}
  }}
}}
"""


@dataclass(frozen=True)
class Store:
    """A running server; files put into `www` are at once at `url(name)`."""

    www: Path
    origin: str

    def url(self, name: str, *, capped: bool = False) -> str:
        return f"{self.origin}/{'capped/' if capped else ''}{name}"

    def put_url(self, name: str) -> str:
        return f"{self.origin}/put/{name}"


@contextmanager
def running_store(folder: Path) -> Iterator[Store]:
    """Run nginx over `folder` until the end of the context. Raises SystemExit when nginx is not installed."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if nginx is None:
        raise SystemExit("The benchmarks need nginx: apt-get install nginx, or brew install nginx.")
    for name in ("www", "put", "body"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    configuration.write_text(_CONFIGURATION.format(folder=folder, port=port, cap=CAP_BYTES_PER_S, user=user))
    server = subprocess.Popen([nginx, "-c", str(configuration)], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        yield Store(folder / "www", f"http://127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("nginx did not start; see error.log in the benchmark's folder.")
