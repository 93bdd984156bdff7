"""Starting, stopping, killing and starting again: two processes, one folder, nothing lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from noeira_tui.core.errors import ConfigError, MissingSettingError, StateError
from noeira_tui.service.config import ServiceConfig, database_url_of
from noeira_tui.service.datafolder import DataFolder
from noeira_tui.service.keys import KeyStore
from noeira_tui.service.objectstore import EmbeddedStore
from noeira_tui.service.run import serve
from tests.support.service_client import Caller, anyone, fetch
from tests.support.service_process import ServeProcess, is_running, start, until


@pytest.fixture
def running(tmp_path: Path) -> Iterator[ServeProcess]:
    service = start(tmp_path / "data")
    try:
        yield service
    finally:
        service.kill()


def test_the_first_start_makes_a_key_and_both_lines(running: ServeProcess) -> None:
    client_env = running.data_dir / "client.env"
    assert client_env.read_text() == f"NOEIRA_CLOUD_URL={running.url}\nNOEIRA_CLOUD_API_KEY={running.key}\n"
    for private in (client_env, running.data_dir / "store.json"):
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
    with Caller(running.url, running.key) as call:
        call.push("walker", b"data")
        assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"data"
    secret = running.key.rpartition("_")[2]
    for path in running.data_dir.glob("service.db*"):
        assert secret.encode() not in path.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_stores_secret_is_in_no_command_line(running: ServeProcess) -> None:
    notes = json.loads((running.data_dir / "store.json").read_text())
    told = Path(f"/proc/{running.store_pid}/cmdline").read_text()
    assert "storechild" in told and notes["secret_key"] not in told and notes["access_key"] not in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stopping_stops_both_and_a_later_start_finds_everything(tmp_path: Path, number: signal.Signals) -> None:
    first = start(tmp_path)
    with Caller(first.url, first.key) as call:
        call.push("walker", b"data")
    store = first.store_pid
    assert first.stop(number) == 0
    assert not is_running(store)
    again = start(tmp_path)
    try:
        assert (again.url, again.store_endpoint, again.key) == (first.url, first.store_endpoint, first.key)
        with Caller(again.url, again.key) as call:
            assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"data"
    finally:
        again.kill()


def test_the_stores_port_can_be_named_before_and_after_it_took_one(tmp_path: Path) -> None:
    first = start(tmp_path)
    first.stop(signal.SIGTERM)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        with pytest.raises(AssertionError, match=f"Port {port} on 127.0.0.1 is in use"):
            start(tmp_path, store_port=port)
    named = start(tmp_path, store_port=port)
    try:
        assert named.store_endpoint == f"http://127.0.0.1:{port}" != first.store_endpoint
        with Caller(named.url, named.key) as call:
            call.push("walker", b"data")
            assert fetch(call.get("/datasets/walker-v1").json()["download_url"]) == b"data"
    finally:
        named.kill()


def test_the_store_does_not_outlive_a_killed_service(tmp_path: Path) -> None:
    first = start(tmp_path)
    with Caller(first.url, first.key) as call:
        call.push("walker", b"data")
        url = call.get("/datasets/walker-v1").json()["download_url"]
    store = first.store_pid
    first.kill()
    until(lambda: not is_running(store), "the store ends")
    again = start(tmp_path)
    try:
        assert (again.url, again.store_endpoint) == (first.url, first.store_endpoint)
        # A URL handed out before still works: same port, same keys, same object.
        assert fetch(url) == b"data"
    finally:
        again.kill()


def test_a_killed_store_is_started_again(running: ServeProcess) -> None:
    with Caller(running.url, running.key) as call:
        call.push("walker", b"data")
        url = call.get("/datasets/walker-v1").json()["download_url"]
        store = running.store_pid
        os.kill(store, signal.SIGKILL)
        until(lambda: running.store_pid != store, "another store")
        assert fetch(url) == b"data"
        call.push("walker", b"more", version="v2")
        assert running.process.poll() is None


@pytest.mark.slow
def test_a_store_that_ends_again_and_again_stops_the_service(running: ServeProcess) -> None:
    def ended() -> bool:
        if is_running(store := running.store_pid):
            os.kill(store, signal.SIGKILL)
        return running.process.poll() is not None

    until(ended, "the service gives up", patience_s=60)
    assert running.process.returncode == 1
    assert running.process.stderr is not None
    assert "The object store ended 6 times" in running.process.stderr.read()


def test_a_second_service_on_the_same_folder_is_refused(running: ServeProcess) -> None:
    with pytest.raises(StateError, match=f"process {running.process.pid}") as caught:
        serve(ServiceConfig(running.data_dir, port=0), lambda ready: None)
    assert "--data-dir" in caught.value.hint
    with Caller(running.url, running.key) as call:
        assert call.get("/datasets").status_code == 200


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Port {port} on 127.0.0.1 is in use") as caught:
            serve(ServiceConfig(tmp_path, port=port), lambda ready: None)
    assert "--port" in caught.value.hint
    # The folder is free again.
    DataFolder(tmp_path).lock()


def test_a_stores_port_in_use_is_named_with_its_own_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(ConfigError, match="is in use") as caught:
            serve(ServiceConfig(tmp_path, port=0, store_port=taken.getsockname()[1]), lambda ready: None)
    assert "NOEIRA_SERVICE_STORE_PORT" in caught.value.hint


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written") as caught:
        serve(ServiceConfig(tmp_path / "file" / "data"), lambda ready: None)
    assert "--data-dir" in caught.value.hint


def test_an_address_of_nobody_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"192\.0\.2\.1"):
        serve(ServiceConfig(tmp_path, host="192.0.2.1", port=0), lambda ready: None)


def test_the_url_line_follows_the_port(tmp_path: Path) -> None:
    first = start(tmp_path)
    assert first.stop() == 0
    with socket.create_server(("127.0.0.1", int(first.url.rpartition(":")[2]))):
        second = start(tmp_path)
    try:
        assert second.url != first.url and second.key == first.key
        assert (tmp_path / "client.env").read_text().splitlines()[0] == f"NOEIRA_CLOUD_URL={second.url}"
    finally:
        second.kill()


def test_a_client_file_of_a_lost_database_gets_a_fresh_key(tmp_path: Path) -> None:
    first = start(tmp_path)
    assert first.stop() == 0
    for path in tmp_path.glob("service.db*"):
        path.unlink()
    second = start(tmp_path)
    try:
        assert second.key != first.key
        assert httpx.get(f"{second.url}/datasets", headers={"Authorization": f"Bearer {second.key}"}).json() == []
    finally:
        second.kill()


def test_a_store_left_behind_is_ended(tmp_path: Path) -> None:
    """A store whose service is gone but whose pipe is still held, so that it did not notice."""
    config, folder = ServiceConfig(tmp_path, port=0), DataFolder(tmp_path)
    left, successor = EmbeddedStore(config, folder), EmbeddedStore(config, folder)
    left.start()
    try:
        pid = int(json.loads((tmp_path / "store.pid").read_text())["pid"])
        successor.start()
        until(lambda: not is_running(pid), "the store left behind ends")
        store = successor.client
        store.make_bucket()
        store.write("a", b"b")
        assert anyone().get(store.presign_get("a", 60).url).content == b"b"
    finally:
        successor.stop()
        left.stop()


def test_another_process_with_an_old_number_is_left_alone(tmp_path: Path) -> None:
    config, folder = ServiceConfig(tmp_path, port=0), DataFolder(tmp_path)
    store = EmbeddedStore(config, folder)
    store.start()
    store.stop()
    notes = json.loads((tmp_path / "store.pid").read_text())
    with subprocess.Popen(["sleep", "60"]) as bystander:
        (tmp_path / "store.pid").write_text(json.dumps({**notes, "pid": bystander.pid}))
        store.start()
        store.stop()
        assert bystander.poll() is None
        bystander.kill()


def test_what_a_killed_store_had_staged_is_removed_and_blocks_nothing(tmp_path: Path) -> None:
    config, folder = ServiceConfig(tmp_path, port=0), DataFolder(tmp_path)
    embedded = EmbeddedStore(config, folder)
    embedded.start()
    embedded.client.make_bucket()
    embedded.client.write("whole", b"whole")
    embedded.stop()
    bucket = tmp_path / "objects" / config.bucket
    staged = [bucket / ".tmp.0123", bucket / ".nanio-meta" / "half.json.tmp"]
    for path in staged:
        path.write_bytes(b"half")
    embedded.start()
    try:
        assert not any(path.exists() for path in staged)
        embedded.client.write("half", b"now whole")
        assert (embedded.client.read("half"), embedded.client.read("whole")) == (b"now whole", b"whole")
    finally:
        embedded.stop()


def test_keys_work_while_the_service_runs_and_when_it_is_stopped(running: ServeProcess) -> None:
    keys = KeyStore(database_url_of(running.data_dir))
    facts, key = keys.create("ci", "read")
    with Caller(running.url, key) as call:
        assert call.get("/datasets").status_code == 200
        assert keys.revoke(facts.id).revoked
        assert call.get("/datasets").json() == {"error": "Invalid API key"}
    keys.close()
    assert running.stop() == 0
    assert [facts.name for facts in KeyStore(database_url_of(running.data_dir)).list()][1:] == ["ci"]


def test_an_outside_store_needs_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    config = ServiceConfig(tmp_path, port=0, s3_endpoint="http://127.0.0.1:1", s3_bucket="b")
    with pytest.raises(MissingSettingError) as missing:
        serve(config, lambda ready: None)
    assert missing.value.name == "AWS_ACCESS_KEY_ID"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    with pytest.raises(ConfigError, match="gave no answer"):
        serve(config, lambda ready: None)


def test_an_outside_store_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any S3 does: here another service's store, reached as if it were not ours."""
    outside = EmbeddedStore(ServiceConfig(tmp_path / "outside", port=0), DataFolder(tmp_path / "outside"))
    outside.start()
    try:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", outside.keys.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", outside.keys.secret_key)
        service = start(tmp_path / "data", s3_endpoint=outside.endpoint, s3_bucket="lab-data", s3_region="auto")
        try:
            with Caller(service.url, service.key) as call:
                assert call.push("walker", b"data")["bucket"] == "lab-data"
                url = call.get("/datasets/walker-v1").json()["download_url"]
                assert url.startswith(outside.endpoint) and "%2Fauto%2Fs3%2F" in url
                assert fetch(url) == b"data"
            assert not (tmp_path / "data" / "objects").exists()
        finally:
            service.kill()
    finally:
        outside.stop()


def test_a_store_on_every_address_is_named_as_the_client_reached_us(tmp_path: Path) -> None:
    service = start(tmp_path, host="0.0.0.0")
    try:
        port, store_port = (one.rpartition(":")[2] for one in (service.url, service.store_endpoint))
        assert service.url == f"http://127.0.0.1:{port}"
        with Caller(f"http://localhost:{port}", service.key) as call:
            call.push("walker", b"data")
            url = call.get("/datasets/walker-v1").json()["download_url"]
            assert url.startswith(f"http://localhost:{store_port}/")
            assert fetch(url) == b"data"
    finally:
        service.kill()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_compared_for_minutes_does_not_keep_a_service_from_stopping(tmp_path: Path, workers: int) -> None:
    running = start(tmp_path, workers=workers)
    try:
        with Caller(running.url, running.key) as call, ThreadPoolExecutor(1) as pool:
            registered = call.register("walker")
            upload = tmp_path / "objects" / registered["bucket"] / registered["object_key"]
            with upload.open("wb") as stream:
                stream.truncate(100 * 2**30)
            body = {"size_bytes": 100 * 2**30, "sha256": "a" * 64}
            asked = pool.submit(call.post, "/datasets/walker-v1/complete", json=body)
            until(lambda: len(list(upload.parent.glob("[0-9a-f]*"))) == 2, "the comparison began")
            assert running.stop() == 0
            answer = asked.result()
    finally:
        running.kill()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


def test_a_request_in_flight_is_finished_before_the_service_ends(running: ServeProcess) -> None:
    address = urlsplit(running.url)
    body = b'{"name":"late","version":"v1"}'
    lines = ["POST /datasets HTTP/1.1", "Host: x", f"Authorization: Bearer {running.key}"]
    head = "\r\n".join([*lines, "Content-Type: application/json", f"Content-Length: {len(body)}", "", ""])
    with socket.create_connection((address.hostname or "", address.port or 80), timeout=15) as connection:
        connection.sendall(head.encode() + body[:10])
        until(lambda: "noeira_requests_in_flight 2" in httpx.get(f"{running.url}/metrics").text, "the request is there")
        running.process.send_signal(signal.SIGTERM)

        def refuses() -> bool:
            try:
                httpx.get(f"{running.url}/healthz", timeout=1)
            except httpx.TransportError:
                return True
            return False

        until(refuses, "nobody new is let in")
        connection.sendall(body[10:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 201")
    assert running.process.wait(15) == 0
    again = start(running.data_dir)
    try:
        with Caller(again.url, again.key) as call:
            assert [row["id"] for row in call.get("/datasets").json()] == ["late-v1"]
    finally:
        again.kill()
