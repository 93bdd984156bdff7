"""The whole picture: with a service, without one, with a broken one, and on a box in trouble."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from noeira_tui.catalog.client import CatalogClient
from noeira_tui.catalog.lastanswer import CatalogAnswer, remember
from noeira_tui.catalog.memory import CatalogMemory
from noeira_tui.catalog.remote import RemoteCatalog
from noeira_tui.catalog.wire import DatasetRow, NewDataset, ProjectRow, RecordingAnswer, RecordingRow, RowStatus
from noeira_tui.core.owner import ProcessOwner
from noeira_tui.core.settings import API_KEY, PROJECTS, STATE, URL, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.core.states import State
from noeira_tui.jobs.kinds import CatalogPush
from noeira_tui.jobs.store import JobStore
from noeira_tui.overview.look import look
from noeira_tui.overview.picture import DatasetView, Overview, RecordingView
from tests.recordings.samples import EPISODES, FRONT, MP4, TABLE, make_recording, put
from tests.support.service_fixture import RunningService
from tests.support.unprivileged import ordinary_user

NOWHERE = "http://127.0.0.1:1"
Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Settings of a root of one's own, with these in the environment."""
    (tmp_path / "root" / "data").mkdir(parents=True)

    def make(**environ: str) -> Settings:
        return Settings.load(
            root=tmp_path / "root", cwd=tmp_path / "root", environ={STATE: str(tmp_path / "state"), **environ}
        )

    return make


def offline(load: Load) -> Settings:
    return load(**{URL: NOWHERE, API_KEY: "nk_some_key"})


def answered(settings: Settings, answer: CatalogAnswer) -> None:
    """Have the service have said this, once."""
    remember(CatalogMemory(StateDb(settings.state_dir), settings.service_url), answer)


def row(name: str, data: bytes | None = None, **facts: object) -> DatasetRow:
    from hashlib import sha256

    if data is None:
        return DatasetRow(f"{name}-v1", name, "v1", RowStatus.PENDING, **facts)  # type: ignore[arg-type]
    digest = sha256(data).hexdigest()
    return DatasetRow(f"{name}-v1", name, "v1", RowStatus.READY, len(data), digest, **facts)  # type: ignore[arg-type]


def states(overview: Overview) -> dict[str, State]:
    return {view.id: view.state for view in overview.datasets}


def one(overview: Overview, dataset_id: str) -> DatasetView:
    (view,) = [view for view in overview.datasets if view.id == dataset_id]
    return view


def recording(overview: Overview, name: str = "trial") -> RecordingView:
    (view,) = [view for view in overview.recordings if view.dataset == name]
    return view


# -- no service


def test_an_empty_box_without_a_service_is_safe(load: Load) -> None:
    seen = look(load())
    assert (seen.service.url, seen.service.reachable) == (None, None)
    assert seen.service.error is not None and URL in seen.service.error
    assert (seen.projects, seen.datasets, seen.packs, seen.warnings) == ((), (), (), ())
    assert seen.safe_to_destroy and seen.unsafe_because == ()
    assert seen.free_bytes


def test_without_a_service_everything_here_is_only_here(load: Load) -> None:
    settings = load()
    put(settings.data_dir / "walker-v1.h5", b"12345")
    make_recording(settings.projects_dir)
    seen = look(settings)
    assert states(seen) == {"walker-v1": State.LOCAL}
    assert recording(seen).state is State.LOCAL
    assert not seen.safe_to_destroy and len(seen.unsafe_because) == 2
    assert seen.totals.unsent == 2
    assert seen.totals.bytes_unsent == 5 + recording(seen).size_bytes


def test_a_key_that_is_missing_is_a_service_that_could_not_be_asked(load: Load) -> None:
    settings = load(**{URL: NOWHERE})
    put(settings.data_dir / "walker-v1.h5", b"12345")
    seen = look(settings)
    assert seen.service.url == NOWHERE and seen.service.reachable is False
    assert seen.service.error is not None and API_KEY in seen.service.error
    assert states(seen) == {"walker-v1": State.UNKNOWN}, "local would be a claim that nobody can make"
    assert not seen.safe_to_destroy
    answered(settings, CatalogAnswer(datasets=(row("walker", b"12345"),)))
    assert one(look(settings), "walker-v1").last_state is State.CURRENT


@pytest.mark.parametrize("url", ["no-address", "ftp://x"])
def test_a_wrong_address_is_a_service_that_could_not_be_asked(load: Load, url: str) -> None:
    settings = load(**{URL: url, API_KEY: "nk_some_key"})
    put(settings.data_dir / "walker-v1.h5", b"12345")
    seen = look(settings)
    assert seen.service.reachable is False and seen.service.hint
    assert states(seen) == {"walker-v1": State.UNKNOWN}


# -- offline


def test_offline_without_a_last_answer_nothing_is_known(load: Load) -> None:
    settings = offline(load)
    put(settings.data_dir / "walker-v1.h5", b"12345")
    make_recording(settings.projects_dir)
    seen = look(settings)
    assert seen.service.reachable is False and seen.service.answer_at is None and seen.service.checked_at
    for view in (one(seen, "walker-v1"), recording(seen)):
        assert (view.state, view.last_state, view.unsent_bytes) == (State.UNKNOWN, None, 0)
    assert (seen.totals.unknown, seen.totals.unsent) == (2, 0)
    assert not seen.safe_to_destroy
    told = " | ".join(seen.unsafe_because)
    assert "walker-v1 cannot be compared" in told and "tower/trial cannot be compared" in told


def test_offline_the_last_answer_and_its_age_are_shown(load: Load) -> None:
    settings = offline(load)
    data = put(settings.data_dir / "walker-v1.h5", b"12345")
    put(settings.data_dir / "mine-v1.h5", b"only here")
    folder = make_recording(settings.projects_dir)
    put(settings.projects_dir / "tower" / "project.kv", b"dataset=wanted-v1\ndataset=nobody-has-it\n")
    rows = (
        row("walker", data.read_bytes(), filename="walker.h5"),
        row("cloud", b"far"),
        row("wanted", b"w"),
        row("half"),
    )
    answered(settings, CatalogAnswer(datasets=rows, projects=(ProjectRow("tower"), ProjectRow("other"))))
    seen = look(settings)
    assert seen.service.answer_at is not None and seen.taken_at - seen.service.answer_at < 60
    last = {view.id: (view.state, view.last_state) for view in seen.datasets}
    assert last == {
        "walker-v1": (State.UNKNOWN, State.CURRENT),
        "mine-v1": (State.UNKNOWN, State.LOCAL),
        "cloud-v1": (State.UNKNOWN, State.REMOTE),
        "half-v1": (State.UNKNOWN, State.PENDING),
        "wanted-v1": (State.MISSING, None),
    }
    assert one(seen, "walker-v1").sha256 == rows[0].sha256, "what the service said is still shown"
    assert (recording(seen).state, recording(seen).last_state) == (State.UNKNOWN, State.LOCAL)
    assert recording(seen).folder == folder
    assert recording(seen, "nobody-has-it").state is State.MISSING
    assert seen.totals.missing == 2
    assert not seen.safe_to_destroy


def test_offline_this_box_still_knows_what_it_knows(load: Load) -> None:
    """A recording that goes on, and an interrupted pull, need no service to be told."""
    settings = offline(load)
    folder = make_recording(settings.projects_dir)
    (folder / FRONT).write_bytes(MP4[:16])
    assert recording(look(settings)).state is State.RECORDING


def test_the_first_glance_uses_the_last_answer_but_promises_nothing(load: Load) -> None:
    settings = offline(load)
    data = put(settings.data_dir / "walker-v1.h5", b"12345")
    seen = look(settings, ask=False)
    assert (seen.service.reachable, seen.service.error) == (None, None)
    assert states(seen) == {"walker-v1": State.UNKNOWN}, "it was never asked: nothing can be told yet"
    answered(settings, CatalogAnswer(datasets=(row("walker", data.read_bytes()),)))
    seen = look(settings, ask=False)
    assert states(seen) == {"walker-v1": State.CURRENT}
    assert not seen.safe_to_destroy
    assert seen.unsafe_because == ("what is here was compared with the service's last answer only",)


# -- a service that answers


def test_every_state_on_a_real_service(connected: Settings, service: RunningService, tmp_path: Path) -> None:
    theirs = Settings.load(environ={**service.environ, STATE: str(tmp_path / "their-state")}, cwd=tmp_path)
    with RemoteCatalog(connected) as ours, RemoteCatalog(theirs) as others:

        def push(name: str, data: bytes) -> None:
            path = put(tmp_path / "pushed" / f"{name}.h5", data)
            others.push(path, name=f"look-{name}")

        for name in ("current", "stale", "modified", "diverged", "gone", "other", "cloud"):
            push(name, f"first {name}".encode())
        for name in ("current", "stale", "modified", "diverged", "gone"):
            ours.pull(f"look-{name}-v1")
        for name in ("stale", "diverged"):
            push(name, b"second contents")
        for name in ("modified", "diverged"):
            put(connected.data_dir / f"look-{name}-v1.h5", b"edited here")
        put(connected.data_dir / "look-other-v1.h5", b"never pulled")
        put(connected.data_dir / "look-local-v1.h5", b"nobody knows it")
        (connected.data_dir / "look-gone-v1.h5").unlink()
        others.client.register(NewDataset("look-pending", "v1"))
        put(connected.data_dir / "look-pending-v1.h5", b"its upload broke off")
    seen = look(connected)
    found = {
        name.removeprefix("look-").removesuffix("-v1"): state for name, state in states(seen).items() if "look-" in name
    }
    assert found == {
        "current": State.CURRENT,
        "stale": State.STALE,
        "modified": State.MODIFIED,
        "diverged": State.DIVERGED,
        "gone": State.MISSING,
        "other": State.DIVERGED,
        "cloud": State.REMOTE,
        "local": State.LOCAL,
        "pending": State.PENDING,
    }
    assert seen.service.reachable and seen.service.latency_ms is not None and seen.service.error is None
    unsafe = " | ".join(seen.unsafe_because)
    assert {word for word in found if f"look-{word}-v1 " in unsafe} == {
        "modified",
        "diverged",
        "other",
        "local",
        "pending",
    }
    assert seen.totals.unsent == 5
    again = look(connected, ask=False)
    assert states(again) == states(seen), "the last answer tells the same"


def test_a_box_whose_files_are_all_there_and_verified_is_safe(
    connected: Settings, service: RunningService, tmp_path: Path
) -> None:
    path = put(tmp_path / "walker.h5", b"contents")
    with RemoteCatalog(connected) as catalog:
        catalog.push(path, name="safe")
        catalog.pull("safe-v1")
    assert look(connected).safe_to_destroy
    # Same size, other contents, and times that say nothing: it must be hashed before it counts.
    copy = connected.data_dir / "safe-v1.h5"
    put(copy, b"CONTENTS", changed_at=2_000_000.0)
    seen = look(connected)
    assert one(seen, "safe-v1").state is State.MODIFIED
    assert not seen.safe_to_destroy


def test_a_push_that_waits_or_runs_makes_a_box_unsafe(connected: Settings, me: ProcessOwner) -> None:
    store = JobStore(StateDb(connected.state_dir))
    store.create(CatalogPush("/some/file", "busy").spec(connected), owner=me)
    seen = look(connected)
    assert seen.unsafe_because == ("push busy-v1 is still running",)
    assert seen.totals.jobs_running == 1


@pytest.fixture
def me() -> ProcessOwner:
    return ProcessOwner.me()


class _Page(BaseHTTPRequestHandler):
    body, kind, status = b"", "text/html", 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Type", self.kind)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *arguments: object) -> None:
        return


@pytest.fixture
def answering() -> Iterator[Callable[[bytes, str, int], str]]:
    """A server that answers everything with one body; gives its address."""
    servers: list[ThreadingHTTPServer] = []

    def start(body: bytes, kind: str, status: int) -> str:
        handler = type("Page", (_Page,), {"body": body, "kind": kind, "status": status})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"<html><body>Sign in</body></html>", "text/html", 200),
        (b"<html>502 Bad Gateway</html>", "text/html", 404),
        (b'{"datasets": []}', "application/json", 200),
        (b"[1, 2]", "application/json", 200),
        (b'[{"id": 3}]', "application/json", 200),
        (b"[" * 100_000, "application/json", 200),
        (b'{"error": "Invalid API key"}', "application/json", 401),
        (b"\xff\xfe", "text/plain", 200),
        (b"", "text/plain", 204),
    ],
    ids=["page", "404-page", "object", "numbers", "no-row", "deep", "401", "binary", "empty"],
)
def test_a_service_that_answers_nonsense_is_told_and_breaks_nothing(
    load: Load, answering: Callable[[bytes, str, int], str], body: bytes, kind: str, status: int
) -> None:
    settings = load(**{URL: answering(body, kind, status), API_KEY: "nk_some_key"})
    put(settings.data_dir / "walker-v1.h5", b"12345")
    seen = look(settings)
    assert seen.service.reachable is False
    assert seen.service.error and seen.service.error_title
    assert "nk_some_key" not in repr(seen)
    assert states(seen) == {"walker-v1": State.UNKNOWN}
    assert not seen.safe_to_destroy


@pytest.mark.parametrize("body", ["not json", "{}", "[]", '{"datasets": [{}]}', '{"files": [[1]], "recordings": {}}'])
def test_a_damaged_last_answer_is_a_warning(load: Load, body: str) -> None:
    settings = offline(load)
    answered(settings, CatalogAnswer())
    with StateDb(settings.state_dir).transaction("") as connection:
        connection.execute("UPDATE answers SET body = ?", (body,))
    seen = look(settings)
    assert seen.service.answer_at is None
    assert any("damaged" in warning for warning in seen.warnings)


# -- recordings


def known(folder: Path, *, change: dict[str, bytes] | None = None, lacks: tuple[str, ...] = ()) -> CatalogAnswer:
    """The service's answer when it has the recording, but for `change` (path → contents there) and what it lacks."""
    from hashlib import sha256

    files = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and name not in lacks:
            data = (change or {}).get(name, path.read_bytes())
            files.append({"path": name, "sha256": sha256(data).hexdigest(), "sizeBytes": len(data), "status": "ready"})
    facts = {
        "name": folder.name,
        "nEpisodes": 2,
        "nFrames": 98,
        "fps": 15,
        "fileCount": len(files),
        "readyCount": len(files),
    }
    answer = RecordingAnswer.parse({"dataset": facts, "files": files})
    project = folder.parent.parent.name
    return CatalogAnswer(
        projects=(ProjectRow(project),),
        recordings={project: (RecordingRow.parse(facts),)},
        files={(project, folder.name): answer},
    )


def seen_with(
    settings: Settings, answer: CatalogAnswer, monkeypatch: pytest.MonkeyPatch, *, settle: bool = False
) -> Overview:
    """A look at a service that says this now."""
    monkeypatch.setattr("noeira_tui.overview.asking._ask", lambda *arguments: (answer, 1.0))
    return look(settings, settle=settle)


def test_a_recording_that_the_service_has(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = offline(load)
    folder = make_recording(settings.projects_dir)
    seen = seen_with(settings, known(folder), monkeypatch)
    view = recording(seen)
    assert (view.state, view.here, view.on_service, view.ahead, view.behind) == (State.CURRENT, True, True, 0, 0)
    assert (view.episodes, view.frames, view.fps, view.files) == (2, 98, 15, 6)
    assert seen.safe_to_destroy


def test_a_recording_that_lacks_files_may_still_have_others_that_nobody_verified(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = offline(load)
    folder = make_recording(settings.projects_dir)
    answer = known(folder)
    (folder / FRONT).unlink()
    monkeypatch.setattr("noeira_tui.overview.look.GLANCE_BYTES", 0)
    seen = seen_with(settings, answer, monkeypatch)
    assert (recording(seen).state, recording(seen).unverified) == (State.PARTIAL, 5)
    assert not seen.safe_to_destroy and "not verified" in seen.unsafe_because[0]
    seen = seen_with(settings, answer, monkeypatch, settle=True)
    assert (recording(seen).state, recording(seen).unverified) == (State.PARTIAL, 0)
    assert seen.safe_to_destroy


@pytest.mark.parametrize("lacks", [(TABLE,), (TABLE, EPISODES)])
def test_a_recording_with_files_that_were_not_sent(
    load: Load, monkeypatch: pytest.MonkeyPatch, lacks: tuple[str, ...]
) -> None:
    settings = offline(load)
    folder = make_recording(settings.projects_dir)
    seen = seen_with(settings, known(folder, lacks=lacks), monkeypatch)
    assert (recording(seen).state, recording(seen).ahead) == (State.AHEAD, len(lacks))
    assert seen.totals.unsent == 1 and seen.totals.bytes_unsent == sum((folder / name).stat().st_size for name in lacks)
    assert not seen.safe_to_destroy


def test_what_no_push_can_send_is_held_back_at_a_glance_too(
    load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = offline(load)
    folder = make_recording(settings.projects_dir)
    answer = known(folder)
    large, odd = folder / "videos/observation.images.front/chunk-000/file-001.mp4", folder / "videos/a b/x.mp4"
    size = 6 * 1024**3
    put(large, MP4 + (1).to_bytes(4) + b"free" + (size - len(MP4)).to_bytes(8))
    os.truncate(large, size)
    put(odd, MP4)
    for path in (large, odd):
        os.utime(path, (1_000_000, 1_000_000))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    view = recording(seen_with(settings, answer, monkeypatch))
    assert (view.state, view.ahead, view.held_back) == (State.AHEAD, 0, 2)
    assert view.unsent_bytes == size + len(MP4)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "some")
    view = recording(seen_with(settings, answer, monkeypatch))
    assert (view.ahead, view.held_back) == (1, 1)


def test_what_lies_behind_a_link_was_not_seen(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = offline(load)
    folder = make_recording(settings.projects_dir)
    answer = known(folder, lacks=(FRONT,))
    (folder / "videos").rename(tmp_path / "bigger-disk")
    (folder / "videos").symlink_to(tmp_path / "bigger-disk")
    seen = seen_with(settings, answer, monkeypatch)
    assert recording(seen).state is State.CURRENT
    assert not seen.safe_to_destroy and "videos/ is a link" in seen.unsafe_because[0]


def test_a_recording_that_only_the_service_has(load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = offline(load)
    answer = known(make_recording(tmp_path / "elsewhere"))
    view = recording(seen_with(settings, answer, monkeypatch))
    assert (view.state, view.here, view.on_service, view.folder) == (State.REMOTE, False, True, None)
    put(settings.projects_dir / "tower" / "project.kv", b"dataset=trial\n")
    view = recording(seen_with(settings, answer, monkeypatch))
    assert (view.state, view.wanted) == (State.MISSING, True)
    none_ready = replace(answer.recordings["tower"][0], ready_count=0)
    view = recording(seen_with(settings, replace(answer, recordings={"tower": (none_ready,)}), monkeypatch))
    assert (view.state, view.bytes_to_fetch) == (State.PENDING, 0)


def test_a_second_look_reads_no_contents(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = offline(load)
    answer = known(make_recording(settings.projects_dir))
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 10_000_000_000)
    assert recording(seen_with(settings, answer, monkeypatch)).state is State.CURRENT
    monkeypatch.setattr("noeira_tui.overview.look.GLANCE_BYTES", 0)
    assert recording(seen_with(settings, answer, monkeypatch)).state is State.CURRENT


# -- ids


def test_files_of_one_name_have_ids_of_their_own(load: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = offline(load)
    for name in ("walker.h5", "walker.zarr", "walker", "cloud-v1.h5"):
        put(settings.data_dir / name, name.encode())
    elsewhere = put(tmp_path / "elsewhere" / "cloud.h5", b"far")
    CatalogMemory(StateDb(settings.state_dir), NOWHERE).synced(
        "cloud-v1", elsewhere, sha256="0" * 64, size_bytes=3, mtime_ns=1, pushed=False
    )
    seen = seen_with(settings, CatalogAnswer(datasets=(row("cloud", b"far"),)), monkeypatch)
    ids = [view.id for view in seen.datasets]
    assert len(set(ids)) == len(ids) == 5
    assert one(seen, "cloud-v1").path == elsewhere
    assert one(seen, "cloud-v1.h5").state is State.LOCAL


def test_a_newer_version_is_only_a_remark(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = offline(load)
    put(settings.data_dir / "walker-v9.h5", b"nine")
    rows = [replace(row("walker", b"nine"), id=f"walker-{version}", version=version) for version in ("v9", "v10", "v2")]
    pending = replace(row("walker"), id="walker-v11", version="v11")
    seen = seen_with(settings, CatalogAnswer(datasets=(*rows, pending)), monkeypatch)
    assert (one(seen, "walker-v9").state, one(seen, "walker-v9").newer_version) == (State.CURRENT, "v10")
    assert one(seen, "walker-v10").newer_version is None
    assert seen.safe_to_destroy


# -- a box in trouble


def test_a_state_folder_that_cannot_be_used_is_a_warning_and_no_promise(load: Load, tmp_path: Path) -> None:
    settings = load(**{URL: NOWHERE, API_KEY: "k", STATE: "/proc/no-state"})
    put(settings.data_dir / "walker-v1.h5", b"12345")
    seen = look(settings)
    assert any("/proc/no-state" in warning for warning in seen.warnings)
    assert states(seen) == {"walker-v1": State.UNKNOWN}
    assert any("whether a push is running" in reason for reason in seen.unsafe_because)


def test_a_damaged_state_database_is_a_warning(load: Load) -> None:
    settings = load()
    settings.state_dir.mkdir()
    (settings.state_dir / "state.db").write_bytes(b"no database, " * 1000)
    seen = look(settings)
    assert any("state.db" in warning for warning in seen.warnings)
    assert not seen.safe_to_destroy


def test_broken_declarations_are_shown_where_they_are(load: Load) -> None:
    settings = load()
    put(settings.projects_dir / "tower" / "project.kv", b"\xff\xfe no key value\n=x\ndataset=\n")
    put(settings.root / "envs" / "so101" / "assets.kv", b"pack\x00 = [broken\n")
    seen = look(settings)
    assert [project.project for project in seen.projects] == ["tower"]
    assert "line 1" in seen.projects[0].problem
    assert {pack.state for pack in seen.packs} <= {State.INVALID}


def test_names_that_are_not_utf8_keep_nothing_from_being_seen(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load()
    made = make_recording(settings.projects_dir)
    for odd in (os.fsdecode(b"\xff"), "[bold", "new\nline"):
        folder = settings.projects_dir / odd
        shutil.copytree(made, folder / "datasets" / odd)
        put(folder / "project.kv", b"dataset=\xff\xfe\n")
    seen = look(settings)
    assert len(seen.projects) == 4
    assert {view.dataset for project in seen.projects for view in project.recordings if view.here} >= {
        "[bold",
        "\udcff",
    }
    assert not seen.safe_to_destroy
    assert look(settings).totals == seen.totals


def test_folders_one_may_not_look_into_are_named_and_the_box_is_not_safe() -> None:
    with ordinary_user() as folder:
        settings = Settings.load(root=folder, cwd=folder, environ={STATE: str(folder / "state")})
        assert look(settings).safe_to_destroy
        shut = [
            folder / "data" / "shut",
            folder / "projects" / "one" / "datasets" / "shut",
            folder / "projects" / "two" / "datasets",
            folder / "projects" / "three",
        ]
        for path in shut:
            put(path / "meta" / "info.json", b"{}")
        for mode in (0, 0o400, 0o100):
            for path in shut:
                path.chmod(mode)
            seen = look(settings)
            told = [reason for reason in seen.unsafe_because if "cannot be looked into" in reason]
            assert told == [f"{path} cannot be looked into" for path in sorted(shut)]
        for path in shut:
            path.chmod(0o700)
        (folder / "data").chmod(0)
        assert f"{folder / 'data'} cannot be looked into" in look(settings).unsafe_because
        (folder / "data").chmod(0o700)


def test_projects_elsewhere_or_absent(load: Load, tmp_path: Path) -> None:
    make_recording(tmp_path / "other")
    seen = look(load(**{PROJECTS: str(tmp_path / "other")}))
    assert [view.dataset for view in seen.recordings] == ["trial"]
    assert look(load(**{PROJECTS: str(tmp_path / "absent")})).projects == ()
    assert look(load(**{PROJECTS: os.devnull})).projects == ()


def test_the_client_is_closed_and_the_key_in_no_picture(connected: Settings, service: RunningService) -> None:
    assert service.key not in repr(look(connected))
    with CatalogClient(service.url, service.key) as client:
        assert service.key not in repr(client)
