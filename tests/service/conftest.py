"""One service for the contract suite; every test uses names of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import httpx
import pytest

from tests.support.service_client import Caller
from tests.support.service_fixture import RunningService, running_service


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("catalog")) as service:
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
