"""Whatever sequence of faults a server shows, the file is right or the error is."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noeira_tui.core.errors import NetworkError, StorageRefusedError, TransferError, VerificationError
from noeira_tui.transfer.download import download, part_path
from noeira_tui.transfer.facts import Patience, TransferContext
from tests.support.faulty_server import SECRET, Fault, FaultyServer, Kind

HURRIED = TransferContext(
    patience=Patience(connect_s=2, answer_s=0.2, tick_s=0.02, window_s=0.15, attempts=3, backoff_s=0.001)
)
CONTENTS = {
    "small": random.Random(3).randbytes(200_000),
    "large": random.Random(4).randbytes(9 << 20),
}
EXPECTED = (NetworkError, StorageRefusedError, VerificationError)

values = st.sampled_from([0, 1, 1000, 70_000, 150_000, 5 << 20])
faults = st.builds(Fault, st.sampled_from([kind for kind in Kind if kind not in {Kind.STATUS, Kind.REDIRECT}]), values)
statuses = st.builds(Fault, st.just(Kind.STATUS), st.sampled_from([403, 404, 408, 429, 500, 503, 400, 302]))
redirects = st.builds(Fault, st.just(Kind.REDIRECT), st.just(302), st.just(()), st.just("/elsewhere"))
honest = st.just(Fault(Kind.CUT, 1 << 40))
sequences = st.lists(st.one_of(faults, faults, honest, statuses, redirects), max_size=8)


def attempt(server: FaultyServer, dest: Path) -> bool:
    """Whether the pull succeeded; checks what may be there either way."""
    try:
        download(server.source(), dest, server.wanted, context=HURRIED)
    except EXPECTED as err:
        assert not dest.exists(), "nothing is published beside an error"
        assert SECRET not in f"{err}{err!r}{err.__cause__!r}"
        assert isinstance(err, TransferError) and err.message
        return False
    assert dest.read_bytes() == server.content
    assert [path.name for path in dest.parent.iterdir()] == [dest.name]
    return True


def check(name: str, sequence: list[Fault]) -> None:
    with FaultyServer(CONTENTS[name]) as server, tempfile.TemporaryDirectory() as folder:
        dest = Path(folder) / "file"
        server.will(*sequence)
        if not attempt(server, dest):
            server.faults.clear()
            assert attempt(server, dest), "an honest server mends whatever the faults left"
        assert not part_path(dest).exists()


quick = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(sequences)
def test_small(sequence: list[Fault]) -> None:
    check("small", sequence)


@quick
@given(sequences)
def test_large(sequence: list[Fault]) -> None:
    check("large", sequence)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("THOROUGH"), reason="takes minutes: THOROUGH=1 runs it")
@thorough
@given(st.sampled_from(sorted(CONTENTS)), sequences)
def test_thorough(name: str, sequence: list[Fault]) -> None:
    check(name, sequence)
