"""What a transfer lets others do: read along while a file arrives, and send one authorization to one origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from noeira_tui.core.errors import NetworkError
from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.transfer.download import download, part_path
from noeira_tui.transfer.facts import Downloaded
from noeira_tui.transfer.follow import FrontReader
from noeira_tui.transfer.halt import StoppedError
from tests.support.faulty_server import FAST_CONTEXT, Fault, FaultyServer, Kind

BEARER = "Bearer hf_0123456789"


class Reader:
    """Reads along; keeps what each attempt gave, and whether it came to its end."""

    def __init__(self) -> None:
        self.attempts: list[tuple[bytes, bool]] = []

    def __call__(self, arriving: FrontReader) -> None:
        got = bytearray()
        try:
            while data := arriving.read(300_000):
                got += data
        except StoppedError:
            self.attempts.append((bytes(got), False))
            return
        self.attempts.append((bytes(got), True))


def pull(server: FaultyServer, dest: Path, **more: object) -> Downloaded:
    return download(server.source(), dest, server.wanted, context=FAST_CONTEXT, **more)  # type: ignore[arg-type]


def test_who_reads_along_gets_every_byte(large: FaultyServer, dest: Path) -> None:
    reader = Reader()
    pull(large, dest, tap=reader)
    assert reader.attempts == [(large.content, True)]
    assert dest.read_bytes() == large.content


def test_who_reads_along_gets_what_a_former_attempt_left(large: FaultyServer, dest: Path) -> None:
    large.will(Fault(Kind.CUT, 3_000_000), *[Fault(Kind.RESET)] * 10)
    broken, whole = Reader(), Reader()
    with pytest.raises(NetworkError):
        pull(large, dest, tap=broken)
    large.faults.clear()
    pull(large, dest, tap=whole)
    assert [complete for _, complete in broken.attempts] == [False]
    assert large.content.startswith(broken.attempts[0][0])
    assert whole.attempts == [(large.content, True)]


def test_wrong_bytes_are_read_along_again(large: FaultyServer, dest: Path) -> None:
    """What was read along is worth nothing until the file is verified: the clean retry is a new attempt."""
    large.will(Fault(Kind.FLIP, 5))
    reader = Reader()
    pull(large, dest, tap=reader)
    assert len(reader.attempts) == 2
    assert reader.attempts[0][0] != large.content
    assert reader.attempts[1] == (large.content, True)


@pytest.fixture
def other(small: FaultyServer) -> Iterator[FaultyServer]:
    with FaultyServer(small.content) as server:
        yield server


def authorized(server: FaultyServer, path: str = "/object") -> FixedUrl:
    return FixedUrl(PresignedUrl(server.origin + path, authorization=BEARER))


def sent(server: FaultyServer) -> list[str | None]:
    return [seen.headers.get("Authorization") for seen in server.seen]


def test_authorization_goes_to_its_origin(small: FaultyServer, dest: Path) -> None:
    small.will(Fault(Kind.REDIRECT, location="/elsewhere"))
    download(authorized(small), dest, small.wanted, context=FAST_CONTEXT)
    assert sent(small) == [BEARER, BEARER]


def test_authorization_goes_nowhere_else(small: FaultyServer, other: FaultyServer, dest: Path) -> None:
    """(a) 9: a redirect to another origin carries none, and neither does one back."""
    small.will(Fault(Kind.REDIRECT, location=f"{other.origin}/there"))
    other.will(Fault(Kind.REDIRECT, location=f"{small.origin}/back"))
    download(authorized(small), dest, small.wanted, context=FAST_CONTEXT)
    assert sent(small) == [BEARER, None]
    assert sent(other) == [None]


def test_authorization_is_not_for_others_to_read(
    small: FaultyServer, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without TLS it leaves this host in the clear: never, also not by way of a proxy."""
    monkeypatch.setenv("http_proxy", small.origin)
    source = FixedUrl(PresignedUrl("http://store.example/object", authorization=BEARER))
    download(source, dest, small.wanted, context=FAST_CONTEXT)
    assert sent(small) == [None]


def test_authorization_is_not_in_errors(small: FaultyServer, dest: Path) -> None:
    small.always = Fault(Kind.RESET)
    with pytest.raises(NetworkError) as caught:
        download(authorized(small), dest, small.wanted, context=FAST_CONTEXT)
    assert "hf_" not in f"{caught.value}{caught.value.__context__!r}{authorized(small)!r}"
    assert not part_path(dest).exists()
