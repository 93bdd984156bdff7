"""What every test of the app shares: addresses in a bucket lead nowhere."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catalogs of the tests name datasets on S3, and the app asks for their lists of rejected episodes."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
