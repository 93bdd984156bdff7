"""What the inspector reads and when it stops: bytes counted at the server, cancelled reads, errors, leaving."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from noeira_tui.core.settings import Settings
from noeira_tui.tui.inspector_actions import Section
from noeira_tui.tui.widgets.plot import Plot
from tests.support.datasets_build import write_mp4, write_v3
from tests.support.datasets_http import FileServer, serving
from tests.support.datasets_stores import S3Store, running_nanio
from tests.tui.fake_box import FakeBox
from tests.tui.inspecting import inspecting

WANTED = ("observation.state", "action", "timestamp", "frame_index", "episode_index")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`small`: five episodes of two cameras, whose mp4s have 12 MB."""
    folder = tmp_path_factory.mktemp("read")
    write_v3(folder / "small", episodes=5, frames=60)
    video = folder / "small/videos/observation.images.front/chunk-000/file-000.mp4"
    write_mp4(video, 320, size_bytes=12_000_000, height=120, width=160)
    return folder


@pytest.fixture(scope="module")
def nanio(tmp_path_factory: pytest.TempPathFactory, made: Path) -> Iterator[S3Store]:
    with running_nanio(tmp_path_factory.mktemp("nanio")) as store:
        store.link_tree(made / "small", "data", "small")
        yield store


@pytest.fixture
def s3(nanio: S3Store, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    for name, value in nanio.environ.items():
        monkeypatch.setenv(name, value)
    nanio.counted.reset()
    return nanio


class Slow(FileServer):
    """Holds back the data files and videos until it is let go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.held = threading.Event()
        self.go = threading.Event()
        self.slow_from = "/data/chunk"

    def serve(self, handler: object, path: str, span: str) -> None:
        # Whether a data file is there is asked without a range.
        if self.slow_from in path and (span or path.endswith(".json")):
            self.held.set()
            self.go.wait(20)
        super().serve(handler, path, span)  # type: ignore[arg-type]


@pytest.fixture
def slow(made: Path) -> Iterator[Slow]:
    with serving(made, Slow) as server:
        assert isinstance(server, Slow)
        yield server
        server.go.set()


def reading_threads() -> int:
    return sum(thread.name == "noeira-errand" for thread in threading.enumerate())


async def test_a_plot_and_a_frame_cost_what_they_show(s3: S3Store, made: Path) -> None:
    data = made / "small/data/chunk-000/file-000.parquet"
    metadata = pq.read_metadata(data)
    group = metadata.row_group(1)
    columns = [group.column(number) for number in range(metadata.num_columns)]
    needed = sum(one.total_compressed_size for one in columns if one.path_in_schema.startswith(WANTED))
    async with inspecting("s3://data/small") as looking:
        assert s3.counted.requests == 2
        assert f"{s3.counted.body_bytes / 1000:.1f} kB read · 2 requests" in looking.painted("#header")
        await looking.press("3")
        await looking.plotted(0)
        s3.counted.reset()
        await looking.press("j")
        await looking.plotted(1)
        assert 0 < s3.counted.body_bytes <= 1.2 * needed
        s3.counted.reset()
        await looking.press("f")
        await looking.until(lambda: looking.screen.view.frame.picture, "a frame")
        assert 0 < s3.counted.body_bytes < 2_000_000
        video = made / "small/videos/observation.images.front/chunk-000/file-000.mp4"
        assert s3.counted.body_bytes < video.stat().st_size / 5
        s3.counted.reset()
        await looking.press("k")
        await looking.plotted(0)
        await looking.settled()
        assert not [path for _, path, _ in s3.counted.log if path.endswith(".parquet")], "episode 0 is remembered"


async def test_moving_on_stops_what_is_no_longer_wanted(slow: Slow) -> None:
    async with inspecting(f"{slow.url}/small") as looking:
        await looking.press("3")
        await looking.until(slow.held.is_set, "the first plot is being read")
        before = looking.screen.reads.running
        assert before
        await looking.press("j", "j", "j")
        # The read of episode 0 ends although the server does not answer; only the wanted one waits.
        await looking.until(lambda: looking.screen.look.episode is not None and looking.screen.look.episode.index == 3)
        await looking.until(lambda: reading_threads() <= 1, "the read of the first episode has ended", deadline_s=5)
        assert not slow.go.is_set()
        slow.go.set()
        await looking.plotted(3)
        assert set(looking.screen.look._series) == {3}, "what was passed by was not read to its end"


async def test_x_stops_a_read_and_r_reads_again(slow: Slow) -> None:
    slow.slow_from = "/meta/info.json"
    async with inspecting(f"{slow.url}/small", settled=False) as looking:
        await looking.until(slow.held.is_set)
        assert "reading the metadata" in looking.painted("#status")
        await looking.press("x")
        await looking.until(lambda: "It was stopped" in looking.text)
        await looking.until(lambda: reading_threads() == 0, "the read has ended", deadline_s=5)
        slow.go.set()
        await looking.press("r")
        await looking.until(lambda: "so101_follower" in looking.text)


async def test_leaving_stops_all_reads_and_closes(slow: Slow) -> None:
    async with inspecting(f"{slow.url}/small") as looking:
        await looking.press("3")
        await looking.until(slow.held.is_set)
        inspector = looking.screen.reads._inspector
        assert inspector is not None
        closed = threading.Event()
        original = inspector.close
        inspector.close = lambda: (original(), closed.set())[0]  # type: ignore[method-assign]
        await looking.press("escape")
        await looking.until(lambda: not looking.is_open)
        await looking.until(closed.is_set, "the connections are closed")
        await looking.until(lambda: reading_threads() == 0, "the read has ended", deadline_s=5)


async def test_quitting_does_not_wait_for_a_read(slow: Slow) -> None:
    began = 0.0
    async with inspecting(f"{slow.url}/small") as looking:
        await looking.press("3")
        await looking.until(slow.held.is_set)
        began = time.perf_counter()
        await looking.press("q")
    assert time.perf_counter() - began < 10, "half a second on a machine that does nothing else; twenty if it waited"


# Errors


async def test_nothing_there_is_told_and_found_once_it_is_there(made: Path, tmp_path: Path) -> None:
    async with inspecting(tmp_path / "later") as looking:
        for section in Section:
            await looking.go_to(section)
            assert "✗" in looking.text.splitlines()[0]
        assert "r reads again" in looking.text
        await looking.press("y")
        assert str(tmp_path / "later") in looking.driver.app.clipboard
        shutil.copytree(made / "small", tmp_path / "later")
        await looking.press("1", "r")
        await looking.until(lambda: "so101_follower" in looking.text)


async def test_a_web_page_is_no_dataset(made: Path) -> None:
    with serving(made) as server:
        server.behaviour.html_for_everything = True
        async with inspecting(f"{server.url}/small") as looking:
            assert "web page" in looking.text
            assert "Traceback" not in looking.shown


async def test_an_address_of_the_service_without_a_service(tmp_path: Path) -> None:
    box = FakeBox(settings=Settings.load(root=tmp_path))
    async with inspecting("noeira://datasets/walker-v1", box=box) as looking:
        assert "NOEIRA_CLOUD" in looking.text


async def test_an_episode_that_cannot_be_read_is_told_in_its_place(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made / "small", tmp_path / "gone")
    data = folder / "data/chunk-000/file-000.parquet"
    whole = data.read_bytes()
    data.write_bytes(whole[: len(whole) // 2])
    async with inspecting(folder) as looking:
        await looking.press("3")
        plot = looking.screen.query_one("#state", Plot)
        await looking.until(lambda: "file-000.parquet" in plot.notice)
        assert "✗" in plot.notice
        await looking.press("y")
        assert "file-000.parquet" in looking.driver.app.clipboard
        data.write_bytes(whole)
        await looking.press("r")
        await looking.plotted(0)
        assert plot.curves is not None


async def test_a_video_that_is_cut_is_told_in_its_place(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made / "small", tmp_path / "cut")
    video = folder / "videos/observation.images.wrist/chunk-000/file-000.mp4"
    video.write_bytes(video.read_bytes()[:900])
    async with inspecting(folder) as looking:
        await looking.go_to(Section.EPISODES)
        await looking.press("f", "c")
        await looking.until(lambda: "is damaged" in looking.screen.view.frame.notice)
        await looking.plotted(0)
        await looking.press("c")
        await looking.until(lambda: looking.screen.view.frame.picture, "the other camera is shown all the same")


async def test_what_has_to_be_downloaded_whole_is_said_first(made: Path, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    folder = made / "small"
    shutil.make_archive(str(tmp_path / "served/small"), "gztar", folder, "meta")
    with serving(tmp_path / "served") as server:
        async with inspecting(f"{server.url}/small.tar.gz") as looking:
            await looking.until(lambda: "download" in looking.driver.toasts().lower())
            assert "It had to be downloaded whole" in looking.text


def upload(settings: Settings, project: str, folder: Path) -> None:
    """Offer, store and complete every file of a recording, `info.json` last."""
    import hashlib

    import httpx

    from noeira_tui.catalog.client import CatalogClient
    from noeira_tui.core.settings import API_KEY

    with CatalogClient(settings.service_url, settings.require(API_KEY)) as client:
        client.put_project(project)
        client.put_recording(project, "small", n_episodes=5, n_frames=300, fps=30)
        paths = sorted(
            (path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == "info.json"
        )
        for path in paths:
            data, name = path.read_bytes(), str(path.relative_to(folder))
            digest = hashlib.sha256(data).hexdigest()
            offer = client.register_file(project, "small", name, sha256=digest, size_bytes=len(data))
            if offer.upload is not None:
                httpx.put(offer.upload.url, content=data).raise_for_status()
                client.complete_file(project, "small", name, sha256=digest, size_bytes=len(data))


async def test_a_recording_that_only_the_service_has(made: Path, connected: Settings) -> None:
    """Through presigned URLs, with this box's own key."""
    upload(connected, "looked-into", made / "small")
    box = FakeBox(settings=connected)
    async with inspecting("noeira://projects/looked-into/small", box=box) as looking:
        assert "so101_follower" in looking.text
        await looking.go_to(Section.EPISODES)
        await looking.press("f")
        await looking.plotted(0)
        await looking.until(lambda: looking.screen.view.frame.picture)
        cost = looking.screen.reads.cost
        assert cost is not None
        assert cost.bytes_read < 3_000_000


async def test_an_app_that_ends_while_it_opens_is_no_crash(made: Path) -> None:
    from noeira_tui.tui.glyphs import SYMBOLS
    from noeira_tui.tui.inspecting import opener
    from noeira_tui.tui.screens.inspector import InspectorScreen
    from tests.tui.driving import driving

    async with driving() as app:
        uri = str(made / "small")
        app.app.push_screen(InspectorScreen(uri, opener(uri, app.box.settings), SYMBOLS))
