"""A cancel is prompt wherever the network has stopped, on the way to an answer as well as in it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from noeira_tui.core.errors import CancelledError, NetworkError
from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.core.progress import CancelToken
from noeira_tui.transfer.download import download
from noeira_tui.transfer.facts import Patience, TransferContext, Wanted
from noeira_tui.transfer.prompt import promptly
from noeira_tui.transfer.upload import upload
from tests.support.faulty_proxy import FaultyProxy

PATIENT = TransferContext(patience=Patience(connect_s=60, answer_s=60, tick_s=0.02))
PROMPT_S = 2.0


@contextmanager
def full_backlog() -> Iterator[str]:
    """A port where a connection waits until others were accepted, which never happens."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/object"


@contextmanager
def no_handshake() -> Iterator[str]:
    """A port that takes connections and never says a word of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/object"


@contextmanager
def silent_proxy() -> Iterator[str]:
    with FaultyProxy(silent=True) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("https_proxy", f"http://{proxy.address}")
        yield "https://store.example/object"


@contextmanager
def half_a_head() -> Iterator[str]:
    """An answer that begins, and stands still in the middle of its headers."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:

        def answer() -> None:
            taken = stack.enter_context(listening.accept()[0])
            taken.recv(4096)
            taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/object"
        thread.join(5)


PLACES = [full_backlog, no_handshake, silent_proxy, half_a_head]


@pytest.mark.parametrize("way", ["pull", "small pull", "push"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_cancel_where_the_network_stands_still(
    place: Callable[[], Iterator[str]], way: str, dest: Path, tmp_path: Path
) -> None:
    cancel = CancelToken()
    caught: list[BaseException] = []
    file = tmp_path / "file"
    file.write_bytes(b"some" * 1000)

    def run(url: str) -> None:
        source = FixedUrl(PresignedUrl(url))
        try:
            if way == "push":
                upload(file, source, cancel=cancel, context=PATIENT)
            else:
                size = 1000 if way == "small pull" else 64 << 20
                download(source, dest, Wanted("0" * 64, size), cancel=cancel, context=PATIENT)
        except (CancelledError, NetworkError) as err:
            caught.append(err)

    with place() as url:
        thread = threading.Thread(target=run, args=(url,))
        thread.start()
        thread.join(0.3)  # long enough to get stuck; shorter is no failure, as a cancel always counts
        assert thread.is_alive(), "nothing blocks here"
        began = time.monotonic()
        cancel.cancel()
        thread.join(20)
        assert time.monotonic() - began < PROMPT_S
    assert [type(error) for error in caught] == [CancelledError]


def test_head_that_never_ends_is_given_up(dest: Path) -> None:
    """(a) 11: a server cannot hold a transfer up by sending its headers byte by byte."""
    patience = Patience(connect_s=3, answer_s=0.3, tick_s=0.02, attempts=2, backoff_s=0.01)
    with half_a_head() as url, pytest.raises(NetworkError):
        download(FixedUrl(PresignedUrl(url)), dest, Wanted("0" * 64, 10), context=TransferContext(patience=patience))


def test_what_comes_too_late_is_given_back() -> None:
    """A connection that is made after the cancel is closed, not forgotten."""
    go, dropped = threading.Event(), threading.Event()
    cancel = CancelToken()
    cancel.cancel()

    def late() -> str:
        assert go.wait(10)
        return "line"

    given: list[str] = []

    def drop(line: str) -> None:
        given.append(line)
        dropped.set()

    with pytest.raises(CancelledError):
        promptly(late, cancel, 0.01, drop)
    go.set()
    assert dropped.wait(10)
    assert given == ["line"]


def test_promptly_raises_what_was_raised() -> None:
    def fail() -> None:
        raise OSError(5, "broken")

    with pytest.raises(OSError, match="broken"):
        promptly(fail, CancelToken(), 0.01)
