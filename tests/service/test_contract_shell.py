"""The protocol spoken by a shell script that was written from its page alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.service_fixture import RunningService

SCRIPT = Path(__file__).with_name("roundtrip.sh")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_a_client_in_plain_curl_makes_the_round_trip(catalog: RunningService, name: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        ["sh", str(SCRIPT), name],
        cwd=tmp_path,
        env={**os.environ, **catalog.environ, "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout) == (0, "round trip\n"), ran.stderr
