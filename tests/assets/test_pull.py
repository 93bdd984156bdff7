"""Pulling packs: providers and their credentials, installs that lose nothing, a cache that heals."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from noeira_tui.assets import place as place_module
from noeira_tui.assets.packs import Packs
from noeira_tui.assets.pull import PacksFailedError, PacksPulled
from noeira_tui.core.settings import Settings
from noeira_tui.core.states import State
from tests.support.pack_archives import (
    MESHES,
    PACKERS,
    PackServer,
    declare,
    file,
    hard_link,
    serving,
    sha256,
    stanza,
    tar,
    tar_of,
    tree,
    zst,
)
from tests.support.service_client import Caller
from tests.support.service_fixture import RunningService

V2 = {"meshes/base.stl": b"solid base, better", "meshes/new.stl": b"new", "readme.txt": b"hi\n"}


def states(packs: Packs) -> list[State]:
    return [one.state for one in packs.states()]


def failure(call: Callable[[], object]) -> str:
    with pytest.raises(PacksFailedError) as caught:
        call()
    return str(caught.value)


def publish(root: Path, server: PackServer, files: dict[str, bytes] | None = None, **more: str) -> bytes:
    """Serve a pack and declare it in `env/assets.kv`."""
    data = zst(tar_of(MESHES if files is None else files))
    declare(root / "env", stanza(server.put(f"/{sha256(data)}.tar.zst", data), data, **more))
    return data


@pytest.mark.parametrize("kind", PACKERS)
def test_fetch_verify_unpack_and_link(kind: str, packs: Packs, root: Path, cache: Path, server: PackServer) -> None:
    data = PACKERS[kind]()
    declare(root / "env", stanza(server.put("/pack", data), data))
    assert (states(packs), packs.states()[0].bytes_to_fetch) == ([State.MISSING], len(data))
    done = packs.pull()
    assert (done.packs[0].linked, done.packs[0].copied, done.bytes_transferred) == (3, 0, len(data))
    assert tree(root / "env/assets") == dict(MESHES)
    assert states(packs) == [State.CURRENT]
    cached = cache / "packs" / sha256(data) / "tree"
    for name in MESHES:
        found = (root / "env/assets" / name).lstat()
        assert found.st_ino == (cached / name).lstat().st_ino
        assert not found.st_mode & 0o222
    assert list((cache / "archives").iterdir()) == list((cache / "new").iterdir()) == []
    requests = len(server.seen)
    assert packs.pull().bytes_transferred == 0
    assert len(server.seen) == requests


def test_a_large_pack_is_unpacked_while_it_arrives(packs: Packs, root: Path, server: PackServer) -> None:
    files = {f"f{number}": os.urandom(900_000) for number in range(12)}
    publish(root, server, files)
    packs.pull()
    assert tree(root / "env/assets") == files


def test_one_file_is_installed_by_the_name_in_its_url(packs: Packs, root: Path, server: PackServer) -> None:
    data = b"solid mesh"
    one = stanza(server.put("/a/my%20mesh.stl", data), data, dest="one", pack="a")
    other = stanza(server.put("/b/other.stl", data), data, dest="two", pack="b")
    bad = stanza(server.put("/b/%2e%2e", data), data, dest="three", pack="c")
    declare(root, one, other, bad)
    assert "its url names none" in failure(packs.pull)
    assert tree(root / "one") == {"my mesh.stl": data}
    assert tree(root / "two") == {"other.stl": data}
    assert not (root / "three").exists()


def test_the_same_bytes_are_fetched_once(packs: Packs, root: Path, server: PackServer) -> None:
    data = publish(root, server)
    declare(root / "other", stanza(server.url(f"/{sha256(data)}.tar.zst"), data, pack="twin@v7"))
    assert packs.pull().bytes_transferred == len(data)
    assert len(server.seen) == 1
    assert tree(root / "env/assets") == tree(root / "other/assets") == dict(MESHES)


def test_wrong_bytes_install_nothing(packs: Packs, root: Path, server: PackServer) -> None:
    data = zst(tar_of())
    server.objects["/p"] = data[:-1] + bytes([data[-1] ^ 1])
    declare(root, stanza(server.url("/p"), data))
    assert "has sha256" in failure(packs.pull)
    assert not (root / "assets").exists()


def test_wrong_size_is_told(packs: Packs, root: Path, server: PackServer) -> None:
    data = zst(tar_of())
    text = stanza(server.put("/p", data), data).replace(f"bytes={len(data)}", f"bytes={len(data) + 1}")
    declare(root, text)
    assert failure(packs.pull)
    assert not (root / "assets").exists()


def test_an_archive_that_attacks_installs_nothing(packs: Packs, root: Path, server: PackServer, cache: Path) -> None:
    data = tar([file("good"), hard_link("x", "../../outside")])
    declare(root, stanza(server.put("/p", data), data))
    assert "climbs" in failure(packs.pull)
    assert not (root / "assets").exists()
    assert list((cache / "packs").iterdir()) == list((cache / "new").iterdir()) == []


def test_one_of_five_fails_and_the_others_are_installed(packs: Packs, root: Path, server: PackServer) -> None:
    for number in range(5):
        files = {f"{number}.stl": b"mesh %d" % number}
        data = zst(tar_of(files))
        declare(root / f"env{number}", stanza(server.put(f"/{number}", data), data, pack=f"p{number}@v1"))
    del server.objects["/3"]
    with pytest.raises(PacksFailedError) as caught:
        packs.pull()
    outcome = caught.value.outcome
    assert [one.error is None for one in outcome.packs] == [True, True, True, False, True]
    assert "p3@v1" in caught.value.message and "404" in caught.value.message
    assert caught.value.title == "1 of 5 packs failed"
    assert states(packs).count(State.CURRENT) == 4


# -- providers


def test_https_with_a_token(packs: Packs, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(token="t0ken") as server:
        publish(root, server, token_env="LAB_TOKEN")
        assert "LAB_TOKEN, which is not set" in failure(packs.pull)
        assert server.seen == []
        monkeypatch.setenv("LAB_TOKEN", "wrong")
        text = failure(packs.pull)
        assert "LAB_TOKEN (environment) was sent and not accepted" in text and "wrong" not in text
        monkeypatch.setenv("LAB_TOKEN", "t0ken")
        packs.pull()
        (where,) = packs.where()
        assert (where.credential, where.credential_source, where.token_sent) == ("LAB_TOKEN", "environment", True)
        assert "t0ken" not in repr(where)


def test_https_without_a_token_where_one_is_wanted(packs: Packs, root: Path) -> None:
    with serving(token="t0ken") as server:
        publish(root, server)
        assert "token_env=" in failure(packs.pull)


@pytest.mark.parametrize("place", ["variable", "dotenv", "path", "home", "default"])
def test_the_token_of_hf(
    place: str, packs: Packs, root: Path, own_environment: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("hf_t0ken\n")
    default = own_environment / ".cache/huggingface/token"
    if place == "variable":
        monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
    elif place == "dotenv":
        (root / ".env").write_text("HF_TOKEN=hf_t0ken\n")
    elif place == "path":
        monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    elif place == "home":
        monkeypatch.setenv("HF_HOME", str(tmp_path))
    else:
        default.parent.mkdir(parents=True)
        default.write_text("hf_t0ken")
    with serving(token="hf_t0ken") as server:
        publish(root, server, provider="hf")
        packs.pull()
        (where,) = packs.where()
    expected = {
        "variable": "environment",
        "dotenv": str(root / ".env"),
        "path": str(tmp_path / "token"),
        "home": str(tmp_path / "token"),
        "default": str(default),
    }
    assert (where.credential_source, where.token_sent) == (expected[place], True)


@pytest.mark.parametrize("provider", ["hf", "https"])
def test_no_token_follows_a_redirect_to_another_origin(
    provider: str, packs: Packs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
    with serving() as bucket, serving(token="hf_t0ken", moves_to=bucket) as hub:
        files = {f"f{number}": os.urandom(700_000) for number in range(20)}
        data = publish(root, hub, files, provider=provider, token_env="HF_TOKEN")
        bucket.objects.update(hub.objects)
        assert packs.pull().bytes_transferred == len(data)
        assert {authorization for _, authorization in hub.seen} == {"Bearer hf_t0ken"}
        assert {authorization for _, authorization in bucket.seen} == {None}
        assert all("X-Signature" in path for path, _ in bucket.seen)
    assert tree(root / "env/assets") == files


def test_no_token_over_plain_http_to_another_host(packs: Packs, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
    declare(root, stanza("http://hub.example.org/p", b"", provider="hf"))
    (where,) = packs.where()
    assert (where.credential, where.token_sent) == ("HF_TOKEN", False)
    assert "plain http" in where.note


def test_the_catalog_serves_a_pack(
    root: Path, cache: Path, connected: Settings, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = zst(tar_of())
    with Caller(service.url, service.key) as caller:
        caller.push("pack-of-tests", data)
    text = stanza("x", data, provider="noeira", id="pack-of-tests-v1")
    declare(root, text.replace("url=x\n", ""))
    packs = Packs(Settings.load(root=root))
    assert packs.pull().bytes_transferred == len(data)
    assert tree(root / "assets") == dict(MESHES)
    (where,) = packs.where()
    assert (where.locator, where.credential, where.token_sent) == ("pack-of-tests-v1", "NOEIRA_CLOUD_API_KEY", True)
    declare(root, text.replace("url=x\n", "").replace(sha256(data), "ab" * 32))
    assert "Other contents on the service" in failure(packs.pull)


def test_the_catalog_is_not_configured(packs: Packs, root: Path) -> None:
    declare(root, stanza("x", b"", provider="noeira", id="some-v1").replace("url=x\n", ""))
    assert "NOEIRA_CLOUD_URL" in failure(packs.pull)


# -- no network


def test_without_a_network_every_pack_is_named_within_a_second(
    packs: Packs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silence(place: object, timeout: float = 0) -> None:
        time.sleep(timeout * 3)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", silence)
    for number in range(6):
        text = stanza(f"https://h{number}.example.org/p", b"%d" % number, pack=f"p{number}@v1")
        declare(root / f"e{number}", text)
    began = time.monotonic()
    text = failure(packs.pull)
    assert time.monotonic() - began < 1.5
    assert all(f"p{number}@v1: No connection" in text for number in range(6))
    assert "no answer" in text


def test_what_is_cached_needs_no_network(packs: Packs, root: Path, cache: Path) -> None:
    with serving() as server:
        publish(root, server)
        packs.pull()
    for path in (root / "env/assets").rglob("*.stl"):
        path.unlink()
    assert packs.pull().bytes_transferred == 0
    assert tree(root / "env/assets") == dict(MESHES)


def test_a_closed_port_is_told_at_once(packs: Packs, root: Path) -> None:
    with serving() as server:
        publish(root, server)
    began = time.monotonic()
    assert "refused" in failure(packs.pull)
    assert time.monotonic() - began < 1.0


# -- versions and files of the user's


def upgraded(packs: Packs, root: Path, server: PackServer) -> bytes:
    publish(root, server)
    packs.pull()
    return publish(root, server, dict(V2), pack="libero@v2")


def test_another_version_replaces_the_whole_tree(packs: Packs, root: Path, server: PackServer) -> None:
    upgraded(packs, root, server)
    assert states(packs) == [State.STALE]
    packs.pull()
    assert tree(root / "env/assets") == V2
    assert [path.name for path in (root / "env").iterdir() if path.name.startswith(".")] == []
    assert states(packs) == [State.CURRENT]


@pytest.mark.parametrize("mine", ["notes.txt", "meshes/mine.stl"])
def test_files_of_the_users_stay(mine: str, packs: Packs, root: Path, server: PackServer) -> None:
    upgraded(packs, root, server)
    (root / "env/assets" / mine).write_bytes(b"mine")
    packs.pull()
    assert tree(root / "env/assets") == {**V2, mine: b"mine"}


def edit(path: Path, data: bytes) -> None:
    """As an editor saves: a new file under the old name."""
    beside = path.with_name("edited")
    beside.write_bytes(data)
    beside.replace(path)


def test_a_changed_file_is_refused_by_name(packs: Packs, root: Path, server: PackServer) -> None:
    upgraded(packs, root, server)
    edit(root / "env/assets/meshes/base.stl", b"my own base")
    assert states(packs) == [State.MODIFIED]
    assert "meshes/base.stl (modified)" in failure(packs.pull)
    assert (root / "env/assets/meshes/base.stl").read_bytes() == b"my own base"
    packs.pull(force=True)
    assert tree(root / "env/assets") == V2


def test_a_changed_file_that_the_new_version_lacks_stays(packs: Packs, root: Path, server: PackServer) -> None:
    upgraded(packs, root, server)
    edit(root / "env/assets/meshes/arm/link.stl", b"my own link")
    packs.pull()
    assert tree(root / "env/assets") == {**V2, "meshes/arm/link.stl": b"my own link"}


def test_files_nobody_remembers_are_compared(packs: Packs, root: Path, server: PackServer) -> None:
    publish(root, server)
    for name, data in MESHES.items():
        (root / "env/assets" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "env/assets" / name).write_bytes(data)
    packs.pull()
    assert states(packs) == [State.CURRENT]


def test_files_nobody_remembers_are_not_overwritten(packs: Packs, root: Path, server: PackServer) -> None:
    publish(root, server)
    (root / "env/assets/meshes").mkdir(parents=True)
    (root / "env/assets/meshes/base.stl").write_bytes(b"older")
    assert "meshes/base.stl (not from this pack)" in failure(packs.pull)
    assert tree(root / "env/assets") == {"meshes/base.stl": b"older"}


@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_link(force: bool, packs: Packs, root: Path, server: PackServer) -> None:
    publish(root, server)
    (root / "outside").mkdir()
    (root / "env/assets").mkdir(parents=True)
    (root / "env/assets/meshes").symlink_to(root / "outside")
    assert "meshes (a link)" in failure(lambda: packs.pull(force=force))
    assert list((root / "outside").iterdir()) == []


def test_a_file_becomes_a_folder_and_back(packs: Packs, root: Path, server: PackServer) -> None:
    for files in ({"a": b"1", "b/c": b"2"}, {"a/x": b"3", "b": b"4"}, {"a": b"1", "b/c": b"2"}):
        publish(root, server, files)
        packs.pull()
        assert tree(root / "env/assets") == files
        (root / "env/assets/mine").write_bytes(b"mine")
        publish(root, server, {"a/x": b"3", "b": b"4"})
        packs.pull()
        (root / "env/assets/mine").unlink()


def test_the_folder_of_the_declaration_itself(packs: Packs, root: Path, server: PackServer) -> None:
    publish(root, server, dest=".")
    packs.pull()
    assert set(tree(root / "env")) == {"assets.kv", *MESHES}
    assert states(packs) == [State.CURRENT]


def test_force_fetches_again(packs: Packs, root: Path, server: PackServer) -> None:
    data = publish(root, server)
    packs.pull()
    done = packs.pull(force=True)
    assert (done.bytes_transferred, done.packs[0].linked) == (len(data), 3)


# -- links, copies and the cache


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_a_file_that_cannot_be_linked_is_copied(
    code: int, packs: Packs, root: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def fail_once(source: str, target: str, **more: object) -> None:
        if str(target).endswith("base.stl") and "noeira-new" in str(target):
            raise OSError(code, os.strerror(code))
        real(source, target)

    publish(root, server)
    monkeypatch.setattr(place_module.os, "link", fail_once)
    done: PacksPulled = packs.pull()
    assert done.packs[0].copied >= 1 and done.packs[0].copied + done.packs[0].linked == 3
    assert code == errno.EXDEV or done.packs[0].copied == 1
    assert tree(root / "env/assets") == dict(MESHES)
    assert states(packs) == [State.CURRENT]


def test_an_edit_in_place_is_noticed_and_the_cache_heals(packs: Packs, root: Path, server: PackServer) -> None:
    data = publish(root, server)
    packs.pull()
    installed = root / "env/assets/meshes/base.stl"
    installed.chmod(0o644)
    with installed.open("r+b") as stream:
        stream.write(b"EDITED")
    assert states(packs) == [State.UNVERIFIED]
    assert [one.state for one in packs.verify()] == [State.MODIFIED]
    declare(root / "other", stanza(server.url(f"/{sha256(data)}.tar.zst"), data, pack="twin"))
    with pytest.raises(PacksFailedError) as caught:
        packs.pull()
    assert [one.error is None for one in caught.value.outcome.packs] == [False, True]
    assert tree(root / "other/assets") == dict(MESHES)
    assert installed.read_bytes().startswith(b"EDITED")


def test_a_cached_file_that_was_only_touched_is_served(
    packs: Packs, root: Path, cache: Path, server: PackServer
) -> None:
    data = publish(root, server)
    packs.pull()
    os.utime(cache / "packs" / sha256(data) / "tree/readme.txt", (1, 1))
    declare(root / "other", stanza(server.url(f"/{sha256(data)}.tar.zst"), data, pack="twin"))
    assert packs.pull().bytes_transferred == 0


@pytest.mark.parametrize("harm", ["gone", "short", "zeros", "index", "power cut"])
def test_a_damaged_cache_is_healed(
    harm: str, packs: Packs, root: Path, cache: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = publish(root, server)
    packs.pull()
    entry = cache / "packs" / sha256(data)
    victim = entry / "tree/meshes/base.stl"
    before = victim.stat()
    victim.unlink()
    if harm == "short":
        victim.write_bytes(b"so")
    elif harm == "zeros":
        victim.write_bytes(bytes(before.st_size))
    elif harm == "index":
        (entry / "index.json").write_bytes(b"{")
    elif harm == "power cut":
        # What was cached before the machine went down looks right and is not.
        with victim.open("wb") as stream:
            stream.write(bytes(before.st_size))
        os.utime(victim, ns=(before.st_mtime_ns, before.st_mtime_ns))
        index = (entry / "index.json").read_text()
        index = index.replace(str(before.st_ino), str(victim.stat().st_ino))
        (entry / "index.json").write_text(index)
        monkeypatch.setattr("noeira_tui.assets.cache.boot_id", lambda: "another boot")
    declare(root / "other", stanza(server.url(f"/{sha256(data)}.tar.zst"), data, pack="twin"))
    assert packs.pull().bytes_transferred == len(data)
    assert tree(root / "other/assets") == tree(root / "env/assets") == dict(MESHES)


def test_the_shared_cache_is_looked_in_first_and_never_written(
    root: Path, tmp_path: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOEIRA_CACHE", str(tmp_path / "lab"))
    data = publish(root, server)
    Packs(Settings.load(root=root)).pull()
    lab = tmp_path / "lab"
    before = {path: path.lstat().st_mtime_ns for path in lab.rglob("*")}
    monkeypatch.setenv("NOEIRA_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("NOEIRA_SHARED_CACHE", str(lab))
    monkeypatch.setenv("NOEIRA_STATE", str(tmp_path / "state"))
    declare(root / "other", stanza(server.url(f"/{sha256(data)}.tar.zst"), data, pack="twin"))
    packs = Packs(Settings.load(root=root))
    assert [one.is_cached for one in packs.states()] == [True, True]
    assert packs.pull().bytes_transferred == 0
    assert tree(root / "other/assets") == dict(MESHES)
    assert {path: path.lstat().st_mtime_ns for path in lab.rglob("*")} == before
    (lab / "assets/packs" / sha256(data) / "tree/readme.txt").unlink()
    declare(root / "third", stanza(server.url(f"/{sha256(data)}.tar.zst"), data, pack="third"))
    assert packs.pull().bytes_transferred == len(data)


def test_the_cache_is_listed_and_pruned(packs: Packs, root: Path, cache: Path, server: PackServer) -> None:
    data = publish(root, server)
    packs.pull()
    (held,) = packs.cached()
    assert (held.used_by, held.titles, held.may_go) == ((root / "env/assets",), ("libero@v1",), False)
    assert packs.prune(packs.cached()) == ()
    (root / "kept.stl").hardlink_to(root / "env/assets/meshes/base.stl")
    for path in (root / "env/assets").rglob("*.*"):
        path.unlink()
    (held,) = packs.cached()
    assert (held.used_by, held.other_links, held.may_go) == ((), 1, False)
    (root / "kept.stl").unlink()
    (cache / "archives" / f"{'cd' * 32}.part").write_bytes(b"half")
    held_now = packs.cached()
    assert [one.is_leftover for one in held_now] == [False, True]
    removed = packs.prune(held_now)
    assert sum(one.size_bytes for one in removed) >= sum(map(len, MESHES.values()))
    # What was listed and is gone meanwhile is not said to be removed once more.
    assert not any(one.sha256 == sha256(data) for one in packs.prune([one for one in held_now if not one.is_leftover]))
    assert packs.cached() == ()
    assert packs.pull().bytes_transferred == len(data)


# -- state


def test_states_tell_what_happened_to_files(packs: Packs, root: Path, server: PackServer) -> None:
    publish(root, server)
    packs.pull()
    base = root / "env/assets/meshes/base.stl"
    os.utime(base, (5, 5))
    assert states(packs) == [State.UNVERIFIED]
    assert [one.state for one in packs.verify()] == [State.CURRENT]
    assert states(packs) == [State.CURRENT]
    size = base.stat().st_size
    edit(base, b"X" * size)
    os.utime(base, (5, 5))
    assert states(packs) == [State.CURRENT], "same size and time: only a verification opens it"
    (status,) = packs.verify()
    assert (status.state, [one.path for one in status.problems]) == (State.MODIFIED, ["meshes/base.stl"])
    base.unlink()
    assert states(packs) == [State.PARTIAL]
    base.symlink_to("/etc/hostname")
    assert states(packs) == [State.MODIFIED]
    for path in (root / "env/assets").rglob("*.*"):
        path.unlink()
    assert states(packs) == [State.MISSING]


def test_a_state_folder_that_cannot_be_used(
    root: Path, cache: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NOEIRA_STATE", str(tmp_path / "file" / "state"))
    warnings: list[str] = []
    packs = Packs(Settings.load(root=root), warn=lambda err: warnings.append(err.message))
    publish(root, server)
    packs.pull()
    assert tree(root / "env/assets") == dict(MESHES)
    assert states(packs) == [State.UNVERIFIED]
    assert warnings


def test_a_declaration_that_came_with_a_pack_declares_nothing(packs: Packs, root: Path, server: PackServer) -> None:
    """It would overlap with the pack it came with, and could name any host for this box's tokens."""
    inner = f"pack=inner\nprovider=hf\nurl={server.url('/steal')}\nsha256={'ab' * 32}\ndest=more\n".encode()
    data = zst(tar_of({"assets.kv": inner, "robots/assets.kv": inner, "mesh.stl": b"m"}))
    declare(root / "env", stanza(server.put("/outer", data), data))
    packs.pull()
    assert [(one.pack, one.state) for one in packs.states()] == [("libero", State.CURRENT)]
    assert [one.error for one in packs.pull().packs] == [None]
    assert [path for path, _ in server.seen if "steal" in path] == []
    # One that the user puts there is a declaration, and overlaps.
    declare(root / "env/assets/mine", stanza(server.url("/x"), b"x", pack="own"))
    assert {one.pack: one.state for one in packs.states()} == {"libero": State.INVALID, "own": State.INVALID}


def test_a_place_that_cannot_be_used_is_told_before_anything_is_fetched(
    packs: Packs, root: Path, server: PackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(root, server)
    (root / "env/assets").touch()
    with pytest.raises(PacksFailedError, match=r"assets is not a folder"):
        packs.pull()
    (root / "env/assets").unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PacksFailedError, match=rf"Destination: {root / 'env'} cannot be written"):
        packs.pull()
    assert server.seen == []
