"""An outside object store that misbehaves now and then: what the service makes of it, and what it never does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.service.config import StoreKeys
from tests.support.plain_store import PlainStore, running_plain_store
from tests.support.service_client import Caller, fetch, put
from tests.support.service_fixture import OutsideStore, RunningService, running_service


@pytest.fixture
def plain() -> Iterator[PlainStore]:
    with running_plain_store() as store:
        yield store


@pytest.fixture
def service(tmp_path: Path, plain: PlainStore) -> Iterator[RunningService]:
    outside = OutsideStore(plain.endpoint, StoreKeys("key", "secret"))
    with running_service(tmp_path, outside=outside) as service:
        yield service


@pytest.fixture
def call(service: RunningService) -> Iterator[Caller]:
    with Caller(service.url, service.key) as caller:
        yield caller


@pytest.mark.parametrize("size_bytes", [200_000, 3_000_000])
def test_a_store_that_ends_while_it_is_read_is_no_answer(call: Caller, plain: PlainStore, size_bytes: int) -> None:
    """Its answer breaks off where the connection does: that is no shorter object."""
    data = b"d" * size_bytes
    registered = call.register("walker")
    put(registered["upload_url"], data)
    plain.cut_answers = 9
    answer = call.complete("walker-v1", data)
    assert answer.status_code == 503 and answer.headers["Retry-After"]
    plain.cut_answers = 0
    assert call.complete("walker-v1", data).status_code == 200
    assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == data
