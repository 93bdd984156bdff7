"""What a service can be started with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noeira_tui.core.errors import ConfigError
from noeira_tui.service.config import ServiceConfig, StoreKeys, database_url_of
from noeira_tui.service.sockets import http_address

HERE = Path("data")


@pytest.mark.parametrize(
    "fields",
    [
        {"port": -1},
        {"port": 65536},
        {"store_port": 65536},
        {"store_port": -1},
        {"port": 8787, "store_port": 8787},
        {"download_expiry_s": 7 * 24 * 3600 + 1},
        {"upload_expiry_s": 0},
        {"s3_endpoint": "s3.example.org", "s3_bucket": "b"},
        {"s3_endpoint": "https://s3.example.org"},
        {"public_endpoint": "ftp://x"},
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ServiceConfig(HERE, **fields)


def test_the_region_of_r2_is_auto() -> None:
    r2 = ServiceConfig(HERE, s3_endpoint="https://0123.r2.cloudflarestorage.com", s3_bucket="b")
    assert (r2.region, r2.embedded) == ("auto", False)
    assert ServiceConfig(HERE, s3_endpoint="https://s3.example.org", s3_bucket="b").region == "us-east-1"
    assert ServiceConfig(HERE, s3_endpoint="https://s3.example.org", s3_bucket="b", s3_region="eu").region == "eu"


def test_the_database_is_in_the_data_folder_unless_named(tmp_path: Path) -> None:
    assert ServiceConfig(tmp_path).resolved_database_url == database_url_of(tmp_path)
    assert ServiceConfig(tmp_path, database_url="postgresql://h/d").resolved_database_url == "postgresql://h/d"


@pytest.mark.parametrize(
    ("host", "everywhere"), [("127.0.0.1", False), ("0.0.0.0", True), ("::", True), ("box", False)]
)
def test_which_hosts_are_every_address(host: str, everywhere: bool) -> None:
    assert ServiceConfig(HERE, host=host).listens_everywhere is everywhere


def test_addresses() -> None:
    assert http_address("127.0.0.1", 1) == "http://127.0.0.1:1"
    assert http_address("::1", 1) == "http://[::1]:1"


def test_secrets_are_not_shown() -> None:
    keys = StoreKeys.from_environ({"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": " hush "})
    assert keys.secret_key == "hush" and "hush" not in repr(keys)
