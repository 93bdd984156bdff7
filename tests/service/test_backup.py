"""A copy made while the service works is whole, and a service restored from it serves every byte it tells of."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from noeira_tui.core.errors import ConfigError
from noeira_tui.service.backup import back_up
from tests.support.service_client import Caller, fetch, put
from tests.support.service_fixture import OutsideStore, running_service
from tests.support.service_minio import KEYS, Minio
from tests.support.service_postgres import Postgres
from tests.support.service_process import start


def everything(url: str, key: str) -> dict[str, str]:
    """Every ready dataset and its digest, after reading all of its bytes."""
    found = {}
    with Caller(url, key) as call:
        for row in call.get("/datasets").json():
            if row["status"] == "ready":
                told = call.get(f"/datasets/{row['id']}").json()
                data = fetch(told["download_url"])
                assert hashlib.sha256(data).hexdigest() == told["sha256"]
                found[row["id"]] = told["sha256"]
    return found


def test_a_copy_of_a_working_service_is_whole(tmp_path: Path) -> None:
    service = start(tmp_path / "data")
    enough = threading.Event()

    def push_on() -> None:
        with Caller(service.url, service.key) as call:
            number = 0
            while not enough.is_set():
                call.push(f"later-{number}", b"%d" % number * 1000)
                number += 1

    pushing = threading.Thread(target=push_on)
    try:
        with Caller(service.url, service.key) as call:
            for number in range(10):
                call.push(f"walker-{number}", b"data %d" % number)
            put(call.register("never")["upload_url"], b"never completed")
            before = everything(service.url, service.key)
            pushing.start()
            first = back_up(service.data_dir, tmp_path / "copy")
            assert first.missing == () and first.copied == first.objects >= 10
            second = back_up(service.data_dir, tmp_path / "copy")
            assert second.missing == () and second.copied == second.objects - first.objects
    finally:
        enough.set()
        if pushing.ident is not None:
            pushing.join(30)
        service.kill()
    shutil.rmtree(service.data_dir)
    shutil.copytree(tmp_path / "copy", service.data_dir)
    again = start(service.data_dir)
    try:
        assert (again.url, again.key) == (service.url, service.key)
        restored = everything(again.url, again.key)
        assert len(restored) == second.objects and before.items() <= restored.items()
    finally:
        again.kill()


def test_from_a_shell(tmp_path: Path) -> None:
    with running_service(tmp_path / "data") as service, Caller(service.url, service.key) as call:
        call.push("walker", b"data")
        command = [sys.executable, "-m", "noeira_tui.service.backup", "--data-dir", tmp_path / "data", "--to"]
        ran = subprocess.run([*command, tmp_path / "copy"], capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (0, "1 objects, 1 of them copied now (4 bytes)\n"), ran.stderr
        (key,) = service.stored()
        (tmp_path / "data" / "objects" / service.bucket / key).unlink()
        ran = subprocess.run([*command, tmp_path / "copy"], capture_output=True, text=True)
        assert ran.returncode == 1 and key in ran.stderr
    with closing(sqlite3.connect(tmp_path / "copy" / "service.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for path in (tmp_path / "copy").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_folder_without_a_service_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no service\.db"):
        back_up(tmp_path, tmp_path / "copy")


def test_postgres_is_dumped_and_restored(tmp_path: Path, postgres: Postgres, minio: Minio, name: str) -> None:
    """As the page says: pg_dump first, then the bucket; the bucket here is the same one, as no object ever changes."""
    from noeira_tui.service.config import ServiceConfig

    address = postgres.database(name)
    outside = OutsideStore(minio.endpoint, KEYS, bucket="backup")
    with running_service(tmp_path / "a", ServiceConfig(Path(), port=0, database_url=address), outside=outside) as one:
        with Caller(one.url, one.key) as call:
            call.push("walker", b"data")
        dump = postgres.run("pg_dump", "--format=custom", postgres.plain_url(name)).stdout
        with Caller(one.url, one.key) as call:
            call.push("later", b"not in the dump")
        key = one.key
    restored = postgres.database(f"{name}-restored")
    postgres.run("pg_restore", f"--dbname={postgres.plain_url(f'{name}-restored')}", input=dump)
    config = ServiceConfig(Path(), port=0, database_url=restored)
    with running_service(tmp_path / "b", config, outside=outside) as other:
        assert set(everything(other.url, key)) == {"walker-v1"}
        assert httpx.get(f"{other.url}/readyz").status_code == 200
