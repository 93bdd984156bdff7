"""What a kind of place has of its own: lists in pages, file systems that wait for ever."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from noeira_tui.core.errors import CancelledError
from noeira_tui.core.progress import CancelToken
from noeira_tui.datasets.source import open_source
from noeira_tui.datasets.webclient import _following
from tests.support.datasets_http import FileServer, HubServer, serving
from tests.support.waiting import until


def test_a_hub_lists_a_folder_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "inner").mkdir(parents=True)
    for number in range(5):
        (tmp_path / "data" / f"{number}.bin").write_bytes(bytes(number))
    with serving(tmp_path, HubServer) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        source = open_source("hf://datasets/o/r")
        listing = source.listing("data")
        source.close()
    assert listing.files == {f"{number}.bin": number for number in range(5)}
    assert listing.folders == ("inner",)
    assert server.counted.requests == 3


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ('<https://h/api?cursor=2>; rel="next"', "https://h/api?cursor=2"),
        ('</api?c=2>;rel=next, <https://h/x>; rel="last"', "https://h/api?c=2"),
        ('<https://elsewhere/api>; rel="next"', None),
        ('<http://h/api>; rel="next"', None),
        ('<https://h/x>; rel="last"', None),
        ("junk", None),
        (None, None),
    ],
)
def test_a_list_goes_on_at_its_own_origin_only(link: str | None, expected: str | None) -> None:
    assert _following(link, "https://h/api") == expected


class Dribbling(FileServer):
    """Sends the first half of a file, and the rest when it is told to."""

    go = threading.Event()

    def serve(self, handler: BaseHTTPRequestHandler, path: str, span: str) -> None:
        data = (self.folder / path.lstrip("/")).read_bytes()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2])
        handler.wfile.flush()
        assert Dribbling.go.wait(30)
        handler.wfile.write(data[len(data) // 2 :])


def test_the_bytes_are_told_while_they_come(tmp_path: Path) -> None:
    (tmp_path / "slow").write_bytes(bytes(4000))
    with serving(tmp_path, Dribbling) as server:
        source = open_source(server.url)
        thread = threading.Thread(target=source.whole, args=("slow",))
        thread.start()
        until(lambda: source.cost.bytes_read == 2000)
        Dribbling.go.set()
        thread.join(10)
        assert source.cost.bytes_read == 4000
        source.close()


class Silent(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Never answers while it is held."""

    protocol = ("silent",)
    asked = threading.Event()
    go = threading.Event()

    def info(self, path: str, **options: object) -> object:
        Silent.asked.set()
        assert Silent.go.wait(30)
        return {"name": path, "size": 1, "type": "file"}


class Looking(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Looks for credentials while it is held."""

    protocol = ("looking",)
    asked = threading.Event()
    go = threading.Event()

    def __init__(self, *args: object, **options: object) -> None:
        Looking.asked.set()
        assert Looking.go.wait(30)
        super().__init__(*args, **options)


@pytest.mark.parametrize("kind", [Silent, Looking])
def test_a_file_system_that_waits_for_ever_is_left_when_cancelled(kind: type[Silent] | type[Looking]) -> None:
    scheme = kind.protocol[0]
    fsspec.register_implementation(scheme, kind, clobber=True)
    cancel = CancelToken()
    raised: list[BaseException] = []

    def look() -> None:
        try:
            open_source(f"{scheme}://bucket/set", cancel=cancel).size("meta/info.json")
        except CancelledError as err:
            raised.append(err)

    thread = threading.Thread(target=look)
    thread.start()
    assert kind.asked.wait(10)
    cancel.cancel()
    until(lambda: not thread.is_alive())
    assert len(raised) == 1
    kind.go.set()
