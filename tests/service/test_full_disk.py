"""A disk that gets full: what is stored is read, nothing half is published, and with room again everything goes on."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service_client import Caller, anyone, fetch
from tests.support.service_process import start

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount"),
]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 10 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("this box mounts nothing")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_service_on_a_full_disk_reads_starts_and_recovers(small_disk: Path) -> None:
    reserve = small_disk / "reserve"
    reserve.write_bytes(bytes(2**20))
    service = start(small_disk / "data")
    done: dict[str, bytes] = {}
    seen: set[tuple[str, int]] = set()
    try:
        with Caller(service.url, service.key) as call:
            while ("register", 503) not in seen:
                name, data = f"d{len(seen)}-{secrets.token_hex(4)}", secrets.token_bytes(500_000)
                registered = call.post("/datasets", json={"name": name, "version": "v1"})
                seen.add(("register", registered.status_code))
                if registered.status_code != 201:
                    continue
                sent = anyone().put(registered.json()["upload_url"], content=data)
                seen.add(("put", sent.status_code))
                completed = call.complete(f"{name}-v1", data)
                seen.add(("complete", completed.status_code))
                if completed.status_code == 200:
                    assert sent.status_code == 200
                    done[f"{name}-v1"] = data
                else:
                    # So that the database gets full too, and not the store only.
                    with (small_disk / "filler").open("ab", buffering=0) as filler:
                        try:
                            filler.write(bytes(2**18))
                        except OSError:
                            continue
        assert done and ("put", 507) in seen
        assert seen <= {
            ("register", 201), ("register", 503), ("put", 200), ("put", 507),
            ("complete", 200), ("complete", 422), ("complete", 503),
        }  # fmt: skip
        service.kill()
        service = start(small_disk / "data")
        with Caller(service.url, service.key) as call:
            for dataset_id, data in done.items():
                assert fetch(call.get(f"/datasets/{dataset_id}").json()["download_url"]) == data
            reserve.unlink()
            call.push("late", b"there is room again")
    finally:
        service.kill()
