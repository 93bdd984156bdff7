"""The OpenAPI document is true: requests made from it meet no 5xx and no answer that it does not describe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from noeira_tui.service.app import make_app
from noeira_tui.service.config import ServiceConfig
from noeira_tui.service.database import Database
from noeira_tui.service.folderstore import FolderStore
from noeira_tui.service.presign import Signer
from tests.support.service_client import Caller
from tests.support.service_fixture import RunningService, running_service

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
    ignored_auth,
]


def document() -> dict[str, object]:
    """The document of a service that is not running."""
    store = FolderStore("http://127.0.0.1:1", "b", Signer("a", "s"), Path("objects"), 0)
    return make_app(ServiceConfig(Path("nowhere"), rate_limit=0), Database("sqlite:///nowhere.db"), store).openapi()


schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with something in it under names that generated requests reach."""
    config = ServiceConfig(Path(), port=0, rate_limit=0, wrong_keys_per_minute=0)
    with running_service(tmp_path_factory.mktemp("openapi"), config) as service:
        with Caller(service.url, service.key) as call:
            call.push("0", b"data", version="0")
            call.put("/projects/0")
            call.put("/projects/0/datasets/0", json={})
            call.send_file("/projects/0/datasets/0", "meta/info.json", b"{}")
        yield service


def some(examples: int) -> settings:
    """The same requests at every run."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@schema.parametrize()
@some(8)
def test_requests_made_from_the_document(case: schemathesis.Case, service: RunningService) -> None:
    case.call_and_validate(base_url=service.url, headers=service.headers, checks=CHECKS)


@pytest.mark.slow
@schema.parametrize()
@some(100)
def test_many_requests_made_from_the_document(case: schemathesis.Case, service: RunningService) -> None:
    case.call_and_validate(base_url=service.url, headers=service.headers, checks=CHECKS)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/datasets", {}),
        ("/datasets/{dataset_id}", {"dataset_id": "known-v1"}),
        ("/projects", {}),
        ("/projects/{slug}/datasets", {"slug": "known"}),
        ("/projects/{slug}/files", {"slug": "known"}),
        ("/projects/{slug}/datasets/{name}/files", {"slug": "known", "name": "cubes"}),
        ("/projects/{slug}/datasets/{name}/revisions", {"slug": "known", "name": "cubes"}),
        ("/audit", {}),
    ],
)
def test_known_things_are_answered_as_described(service: RunningService, path: str, parameters: dict[str, str]) -> None:
    """What random names rarely reach: rows that are there."""
    with Caller(service.url, service.key) as call:
        call.push("known", b"data", seed=7)
        call.put("/projects/known")
        call.put("/projects/known/datasets/cubes", json={"fps": 30})
        call.send_file("/projects/known/datasets/cubes", "meta/info.json", b"{}")
        call.offer("/projects/known/datasets/cubes", "pending", b"never sent")
    case = schema[path]["GET"].Case(path_parameters=parameters)
    answer = case.call(base_url=service.url, headers=service.headers)
    assert answer.status_code == 200 and answer.json()
    case.validate_response(answer, checks=[response_schema_conformance, status_code_conformance])


def test_every_operation_is_described() -> None:
    for path, operations in document()["paths"].items():  # type: ignore[attr-defined]
        for method, operation in operations.items():
            assert operation["summary"] and operation.get("description"), (method, path)
            is_open = set(operation["tags"]) & {"about", "operations"}
            assert bool(operation.get("security")) is not bool(is_open), (method, path)
