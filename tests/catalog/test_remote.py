"""RemoteCatalog against a real service and a real object store: what moves, what is refused, what is remembered."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from noeira_tui import RemoteCatalog
from noeira_tui.core.errors import (
    ConfigError,
    DestinationError,
    MissingSettingError,
    RefusedError,
    SourceChangedError,
    TransferError,
    VerificationError,
)
from noeira_tui.core.settings import Settings
from noeira_tui.transfer.facts import Wanted
from noeira_tui.transfer.part import claim, part_path
from tests.support.service_fixture import RunningService

BYTES = os.urandom(300_000)


def name() -> str:
    return f"d{uuid4().hex[:10]}"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def catalog(connected: Settings) -> RemoteCatalog:
    return RemoteCatalog(connected)


def push(catalog: RemoteCatalog, data: bytes = BYTES, *, called: str | None = None, suffix: str = ".h5") -> str:
    source = catalog.settings.root / f"source-{uuid4().hex}{suffix}"
    source.write_bytes(data)
    return catalog.push(source, name=called or name()).id


def test_a_push_and_a_pull_give_the_same_bytes(catalog: RemoteCatalog) -> None:
    dataset_id = push(catalog)
    path = catalog.pull(dataset_id)
    assert path == catalog.settings.root / "data" / f"{dataset_id}.h5"
    assert path.read_bytes() == BYTES
    row = catalog.describe(dataset_id)
    assert (row.sha256, row.size_bytes) == (sha256(BYTES), len(BYTES))


def test_pulling_what_is_here_moves_no_bytes(catalog: RemoteCatalog) -> None:
    dataset_id = push(catalog)
    first = catalog.fetch(dataset_id)
    again = catalog.fetch(dataset_id)
    assert first.bytes_transferred == len(BYTES)
    assert (again.bytes_transferred, again.requests, again.sha256) == (0, 1, sha256(BYTES))


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_or_a_device_is_neither_read_nor_replaced(catalog: RemoteCatalog, root: Path, force: bool) -> None:
    dataset_id = push(catalog)
    os.mkfifo(root / "pipe")
    for place in (root / "pipe", Path("/dev/null")):
        with pytest.raises(DestinationError, match="not a plain file"):
            catalog.pull(dataset_id, place, force=force)
        assert not place.is_file()


def test_what_an_interrupted_pull_left_goes_once_the_file_is_whole(catalog: RemoteCatalog, root: Path) -> None:
    dataset_id = push(catalog)
    path = root / "walker.h5"
    left = claim(path, Wanted(sha256(BYTES), len(BYTES)))
    os.pwrite(left.fd, BYTES[:1000], 0)
    left.record(lambda: ((0, 1000),))
    # While somebody writes it, it stays; when nobody does, it goes.
    path.write_bytes(BYTES)
    catalog.fetch(dataset_id, path)
    assert part_path(path).exists()
    left.release()
    assert catalog.fetch(dataset_id, path).bytes_transferred == 0
    assert [entry.name for entry in root.iterdir() if entry.name.startswith(path.name)] == [path.name]


def test_a_file_of_the_users_that_ends_in_part_is_kept(catalog: RemoteCatalog, root: Path) -> None:
    dataset_id = push(catalog)
    path = catalog.pull(dataset_id)
    part_path(path).write_bytes(b"mine")
    assert catalog.fetch(dataset_id).bytes_transferred == 0
    assert part_path(path).read_bytes() == b"mine"


def test_pulling_over_a_file_with_the_right_bytes_adopts_it(catalog: RemoteCatalog, root: Path) -> None:
    dataset_id = push(catalog)
    mine = root / "mine.h5"
    mine.write_bytes(BYTES)
    before = mine.stat().st_ino
    assert catalog.fetch(dataset_id, mine).bytes_transferred == 0
    assert mine.stat().st_ino == before


def test_a_file_of_the_users_own_is_refused_and_kept(catalog: RemoteCatalog, root: Path) -> None:
    dataset_id = push(catalog)
    mine = root / "mine.h5"
    mine.write_bytes(b"months of work")
    with pytest.raises(DestinationError) as caught:
        catalog.pull(dataset_id, mine)
    assert str(mine) in caught.value.message
    assert "--force" in caught.value.hint
    assert mine.read_bytes() == b"months of work"
    assert not part_path(mine).exists()
    assert catalog.fetch(dataset_id, mine, force=True).bytes_transferred == len(BYTES)
    assert mine.read_bytes() == BYTES


def test_a_file_that_was_pulled_and_edited_is_refused(catalog: RemoteCatalog) -> None:
    called = name()
    dataset_id = push(catalog, called=called)
    path = catalog.pull(dataset_id)
    path.write_bytes(b"edited" + BYTES[6:])
    push(catalog, b"newer" + BYTES, called=called)
    with pytest.raises(DestinationError):
        catalog.pull(dataset_id)
    assert path.read_bytes().startswith(b"edited")


def test_a_stale_copy_that_nobody_touched_is_replaced(catalog: RemoteCatalog) -> None:
    called = name()
    dataset_id = push(catalog, called=called)
    path = catalog.pull(dataset_id)
    push(catalog, b"newer" + BYTES, called=called)
    assert catalog.fetch(dataset_id).bytes_transferred == len(BYTES) + 5
    assert path.read_bytes() == b"newer" + BYTES


def test_a_stale_copy_that_was_only_touched_is_replaced(catalog: RemoteCatalog) -> None:
    called = name()
    dataset_id = push(catalog, called=called)
    path = catalog.pull(dataset_id)
    os.utime(path)
    push(catalog, b"newer" + BYTES, called=called)
    assert catalog.fetch(dataset_id).path.read_bytes() == b"newer" + BYTES


def test_a_folder_as_destination_takes_the_file_under_its_id(catalog: RemoteCatalog, root: Path) -> None:
    dataset_id = push(catalog)
    (root / "elsewhere").mkdir()
    assert catalog.pull(dataset_id, root / "elsewhere") == root / "elsewhere" / f"{dataset_id}.h5"


def test_a_link_to_a_bigger_disk_is_followed(catalog: RemoteCatalog, root: Path) -> None:
    dataset_id = push(catalog)
    (root / "big").mkdir()
    link = root / "link.h5"
    link.symlink_to(root / "big" / "real.h5")
    catalog.pull(dataset_id, link)
    assert link.is_symlink()
    assert (root / "big" / "real.h5").read_bytes() == BYTES


def test_a_pending_row_is_explained(catalog: RemoteCatalog) -> None:
    from noeira_tui.catalog.wire import NewDataset

    registration = catalog.client.register(NewDataset(name(), "v1"))
    with pytest.raises(RefusedError) as caught:
        catalog.pull(registration.id)
    assert caught.value.status == 409
    assert "never completed" in caught.value.message
    assert "push" in caught.value.hint


def test_an_unknown_id_names_it(catalog: RemoteCatalog) -> None:
    with pytest.raises(RefusedError) as caught:
        catalog.pull("no-such-v1")
    assert caught.value.status == 404
    assert "no-such-v1" in caught.value.message


def test_pushing_the_same_again_moves_nothing(catalog: RemoteCatalog) -> None:
    called = name()
    push(catalog, called=called)
    source = catalog.settings.root / "again.h5"
    source.write_bytes(BYTES)
    assert catalog.push(source, name=called).bytes_transferred == 0
    assert catalog.push(source, name=called, seed=7).bytes_transferred == len(BYTES), "new facts need a registration"
    assert catalog.describe(f"{called}-v1").seed == 7


@pytest.mark.parametrize(("bad_name", "bad_version"), [("../up", "v1"), ("ok", "v 1"), ("", "v1"), (".hidden", "v1")])
def test_a_name_that_is_no_segment_is_refused_before_any_request(
    catalog: RemoteCatalog, bad_name: str, bad_version: str
) -> None:
    catalog.client.close()
    with pytest.raises(ConfigError):
        catalog.push(catalog.settings.root / "whatever", name=bad_name, version=bad_version)


def test_only_regular_files_are_pushed(catalog: RemoteCatalog, root: Path) -> None:
    with pytest.raises(TransferError, match="no file"):
        catalog.push(root / "absent.h5", name=name())
    with pytest.raises(TransferError, match="not a file"):
        catalog.push(root, name=name())


def test_an_empty_file_makes_the_round_trip(catalog: RemoteCatalog) -> None:
    dataset_id = push(catalog, b"")
    assert catalog.pull(dataset_id).read_bytes() == b""


def test_a_file_that_grows_while_it_is_sent_is_never_completed(
    catalog: RemoteCatalog, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from noeira_tui.transfer import upload as module

    source = root / "growing.h5"
    source.write_bytes(BYTES)
    called = name()
    original = module.upload

    def growing(path: Path, *args: object, **kwargs: object) -> object:
        with path.open("ab") as stream:
            stream.write(b"!")
        raise SourceChangedError(f"{path} changed.")

    monkeypatch.setattr(module, "upload", growing)
    with pytest.raises(SourceChangedError):
        catalog.push(source, name=called)
    monkeypatch.setattr(module, "upload", original)
    with pytest.raises(RefusedError, match="never completed"):
        catalog.pull(f"{called}-v1")
    assert catalog.push(source, name=called).size_bytes == len(BYTES) + 1


def test_an_object_with_other_bytes_is_never_published(catalog: RemoteCatalog, service: RunningService) -> None:
    data = os.urandom(123_457)  # contents of its own: equal contents are stored once for all tests
    dataset_id, digest = push(catalog, data), sha256(data)
    damaged = [path for path in service.data_dir.rglob("*") if path.is_file() and path.stat().st_size == len(data)]
    assert damaged
    for path in damaged:
        path.write_bytes(b"X" + data[1:])
    with pytest.raises(VerificationError) as caught:
        catalog.pull(dataset_id)
    assert digest in caught.value.message
    assert not (catalog.settings.data_dir / f"{dataset_id}.h5").exists()


def test_an_earlier_copy_that_was_edited_is_not_forgotten(catalog: RemoteCatalog, root: Path) -> None:
    from noeira_tui.overview.look import look

    dataset_id = push(catalog, os.urandom(5000))
    (catalog.settings.root / "keep").mkdir()
    earlier = catalog.pull(dataset_id, root / "keep" / "first.h5")
    catalog.pull(dataset_id, root / "keep" / "second.h5")
    for source in root.glob("source-*"):
        source.unlink()
    assert look(catalog.settings).safe_to_destroy
    earlier.write_bytes(b"edited here")
    view = look(catalog.settings)
    assert not view.safe_to_destroy
    assert [(item.path, item.state) for item in view.datasets if item.path == earlier] == [(earlier, "local")]


def test_the_download_url_needs_no_key(catalog: RemoteCatalog) -> None:
    dataset_id = push(catalog)
    url = catalog.client.get_dataset(dataset_id).download.url
    assert httpx.get(url).content == BYTES


def test_an_unusable_state_folder_costs_memory_only(
    connected: Settings, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").write_text("")
    monkeypatch.setenv("NOEIRA_STATE", str(root / "file" / "state"))
    warnings: list[str] = []
    catalog = RemoteCatalog(Settings.load(root=root), warn=lambda err: warnings.append(str(err)))
    dataset_id = push(catalog)
    assert catalog.pull(dataset_id).read_bytes() == BYTES
    assert warnings
    assert "NOEIRA_STATE" in warnings[0]


@pytest.mark.parametrize("missing", ["NOEIRA_CLOUD_URL", "NOEIRA_CLOUD_API_KEY"])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_or_empty_key_is_named_with_the_places(
    connected: Settings, root: Path, monkeypatch: pytest.MonkeyPatch, missing: str, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(missing)
    else:
        monkeypatch.setenv(missing, value)
    with pytest.raises(MissingSettingError) as caught:
        RemoteCatalog.from_env()
    assert caught.value.name == missing
    assert missing in str(caught.value)
    for place in ("environment", str(root / ".env"), "config.toml"):
        assert place in caught.value.message


def test_the_key_is_in_no_repr_and_no_error(catalog: RemoteCatalog, service: RunningService) -> None:
    shown = f"{catalog!r} {catalog.client!r} {catalog.settings!r} {catalog.settings.setting('NOEIRA_CLOUD_API_KEY')!r}"
    assert service.key not in shown
