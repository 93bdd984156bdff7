"""(b) 5: a push killed between any two of register, PUT and complete is never shown as uploaded, and can be redone."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from noeira_tui import RemoteCatalog
from noeira_tui.catalog.wire import RowStatus
from noeira_tui.core.errors import RefusedError
from noeira_tui.core.settings import Settings
from noeira_tui.transfer.facts import TransferContext
from tests.support.faulty_pusher import STEPS
from tests.support.service_fixture import RunningService

REPOSITORY = Path(__file__).parents[2]
SIZE = 9_000_000
LIMIT = 6 << 20


def kill_at(step: str, file: Path, name: str, *limit: int) -> None:
    """Push in a process of its own and kill it at a step."""
    command = [sys.executable, "-m", "tests.support.faulty_pusher", step, str(file), name, *map(str, limit)]
    pusher = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "NOEIRA_ROOT": str(file.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert pusher.stdout is not None and pusher.stderr is not None
    reached = pusher.stdout.readline()
    assert reached == f"{step}\n", pusher.stderr.read()
    pusher.send_signal(signal.SIGKILL)
    pusher.communicate(timeout=20)


def new_file(root: Path) -> Path:
    path = root / f"{uuid4().hex[:8]}.h5"
    path.write_bytes(os.urandom(SIZE))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("step", STEPS)
def test_first_push(step: str, connected: Settings, root: Path) -> None:
    catalog, name, file = RemoteCatalog(connected), f"d{uuid4().hex[:10]}", new_file(root)
    kill_at(step, file, name)
    rows = [row for row in catalog.list() if row.name == name]
    if step == "after complete":
        assert [(row.status, row.sha256) for row in rows] == [(RowStatus.READY, sha256(file))]
    else:
        assert [row.status for row in rows] == ([] if step == "before register" else [RowStatus.PENDING])
        with pytest.raises(RefusedError) as refused:
            catalog.pull(f"{name}-v1")
        assert refused.value.status == (404 if step == "before register" else 409)
    done = catalog.push(file, name=name)
    assert catalog.pull(done.id).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("step", STEPS)
def test_push_over_an_older_one(step: str, connected: Settings, root: Path) -> None:
    """Until the new bytes are complete, whoever pulls gets the old ones, whole."""
    catalog, name, old, new = RemoteCatalog(connected), f"d{uuid4().hex[:10]}", new_file(root), new_file(root)
    catalog.push(old, name=name)
    kill_at(step, new, name)
    served = new if step == "after complete" else old
    assert catalog.pull(f"{name}-v1", root / "now").read_bytes() == served.read_bytes()
    catalog.push(new, name=name)
    assert catalog.pull(f"{name}-v1", root / "then").read_bytes() == new.read_bytes()


@pytest.mark.parametrize("step", ["in the PUT", "before finish", "before complete"])
def test_push_in_parts(
    step: str, service: RunningService, connected: Settings, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(b) 4 and 5"""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", service.store_access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", service.store_secret_key)
    name, file = f"d{uuid4().hex[:10]}", new_file(root)
    kill_at(step, file, name, LIMIT)
    catalog = RemoteCatalog(connected, context=TransferContext(single_put_limit_bytes=LIMIT))
    assert [row.status for row in catalog.list() if row.name == name] == [RowStatus.PENDING]
    done = catalog.push(file, name=name)
    assert done.sha256 == sha256(file)
    assert catalog.pull(done.id).read_bytes() == file.read_bytes()
