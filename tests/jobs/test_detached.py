"""Jobs as they really run: processes of their own, a real service, a real object store, real signals."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from noeira_tui.catalog.remote import RemoteCatalog
from noeira_tui.core.errors import JobError
from noeira_tui.core.owner import Life, ProcessOwner
from noeira_tui.core.settings import API_KEY, MAX_RATE, SLOTS, STATE, URL, Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs import process
from noeira_tui.jobs.kinds import CatalogPull, CatalogPush
from noeira_tui.jobs.records import JobRecord, JobState, Request
from noeira_tui.jobs.runner import run_detached
from noeira_tui.jobs.store import JobStore
from noeira_tui.transfer.part import partial_bytes
from tests.support.service_fixture import RunningService
from tests.support.terminal import Terminal
from tests.support.waiting import until

SIZE = 6_000_000
LARGE = 24_000_000
CHECKOUT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True)
class Dataset:
    """A dataset that the service has."""

    id: str
    sha256: str


@dataclass(frozen=True)
class Box:
    """A box with its jobs; what it starts reads the settings from the environment, as a user's jobs do."""

    settings: Settings
    store: JobStore

    def pull(self, dataset: Dataset, name: str | None = None) -> JobRecord:
        return process.start(self.store, CatalogPull(dataset.id, str(self.dest(dataset, name))).spec(self.settings))

    def dest(self, dataset: Dataset, name: str | None = None) -> Path:
        return self.settings.data_dir / (name or f"{dataset.id}.bin")

    def moving(self, job: JobRecord) -> JobRecord:
        """The job, once it has moved some bytes and its row tells so."""

        def seen() -> JobRecord | None:
            record = self.store.get(job.id)
            assert record.is_live, f"{record.state}: {record.failure}\n{self.log(job)}"
            return record if record.progress.bytes_done > 0 else None

        record = until(seen, what="a first byte")
        assert record is not None
        return record

    def over(self, job: JobRecord) -> JobRecord:
        """The job, once it is over."""
        until(lambda: not self.store.get(job.id).is_live, deadline_s=40, what="an end")
        return self.store.get(job.id)

    def done(self, job: JobRecord) -> JobRecord:
        record = self.over(job)
        assert record.state is JobState.DONE, f"{record.state}: {record.failure}\n{self.log(job)}"
        return record

    def log(self, job: JobRecord) -> str:
        return self.store.log_path(job.id).read_text()


@pytest.fixture(scope="module")
def dataset(service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return push(service, tmp_path_factory.mktemp("pushed"), "job-test", SIZE)


@pytest.fixture(scope="module")
def large(service: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Large enough for a pull to note now and then what it has."""
    return push(service, tmp_path_factory.mktemp("pushed"), "job-test-large", LARGE)


def push(service: RunningService, folder: Path, name: str, size_bytes: int) -> Dataset:
    path = folder / name
    path.write_bytes(random.Random(5).randbytes(size_bytes))
    settings = Settings.load(environ={**service.environ, STATE: str(folder / "state")}, cwd=folder)
    with RemoteCatalog(settings) as catalog:
        pushed = catalog.push(path, name=name)
    return Dataset(pushed.id, pushed.sha256)


@pytest.fixture
def box(connected: Settings) -> Iterator[Box]:
    box = Box(connected, JobStore(StateDb(connected.state_dir)))
    yield box
    for record in box.store.list():
        if record.owner is not None and record.owner.pid != os.getpid() and record.owner.life() is Life.ALIVE:
            os.kill(record.owner.pid, signal.SIGKILL)


@pytest.fixture
def slow(box: Box, monkeypatch: pytest.MonkeyPatch) -> Box:
    """The box with a bandwidth at which the dataset takes six seconds, or three for each of two."""
    monkeypatch.setenv(MAX_RATE, "1MB")
    return box


def owner_of(record: JobRecord) -> ProcessOwner:
    assert record.owner is not None
    return record.owner


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stat_fields(pid: int) -> list[str]:
    """state, ppid, pgrp, session, tty_nr … of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def children() -> list[int]:
    """The processes that this one is the parent of, zombies too."""
    mine = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and stat_fields(int(entry.name))[1] == str(os.getpid()):
                mine.append(int(entry.name))
        except OSError:
            continue  # it ended while we looked
    return mine


def test_a_job_runs_on_its_own_and_leaves_its_starter_no_zombie(slow: Box, dataset: Dataset) -> None:
    before = children()
    began = time.monotonic()
    job = slow.pull(dataset)
    assert time.monotonic() - began < 3, "to start a job must not hold the app up"
    assert job.state is JobState.QUEUED
    owner = owner_of(slow.moving(job))
    state, parent, _, session, terminal = stat_fields(owner.pid)[:5]
    assert state != "Z" and int(parent) != os.getpid()
    assert int(session) != os.getsid(0) and terminal == "0"
    assert os.path.realpath(f"/proc/{owner.pid}/cwd") == "/", "it must not hold a file system that somebody unmounts"
    assert children() == before
    process.cancel(slow.store, job.id)
    assert children() == before


def test_a_whole_pull_and_push(box: Box, dataset: Dataset) -> None:
    job = box.done(box.pull(dataset))
    assert digest(box.dest(dataset)) == dataset.sha256
    assert (job.progress.bytes_done, job.progress.bytes_total) == (SIZE, SIZE)
    assert job.result is not None and f'"bytes_transferred": {SIZE}' in job.result
    until(lambda: owner_of(job).life() is Life.DEAD, what="the end of its process")
    push = process.start(box.store, CatalogPush(str(box.dest(dataset)), "job-test-again").spec(box.settings))
    assert dataset.sha256 in (box.done(push).result or "")


STARTER = """
import os, sys, time
from pathlib import Path
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs import process
from noeira_tui.jobs.kinds import CatalogPull
from noeira_tui.jobs.store import JobStore
settings = Settings.load()
job = process.start(JobStore(StateDb(settings.state_dir)), CatalogPull(sys.argv[1], sys.argv[2]).spec(settings))
print("started", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["hang-up", "kill"])
def test_a_job_survives_its_starter_and_its_terminal(slow: Box, dataset: Dataset, how: str) -> None:
    command = [sys.executable, "-c", STARTER, dataset.id, str(slow.dest(dataset))]
    with Terminal(command, cwd=slow.settings.root, env={"PYTHONPATH": CHECKOUT}) as terminal:
        terminal.expect("started")
        (job,) = slow.store.list()
        owner = owner_of(slow.moving(job))
        if how == "kill":
            os.killpg(terminal.pid, signal.SIGKILL)
            terminal.wait()
    # Leaving the block closed the terminal: what still belonged to it was hung up.
    until(lambda: not Path(f"/proc/{terminal.pid}").exists(), what="the starter's end")
    reached = slow.store.get(job.id).progress.bytes_done
    until(lambda: slow.moving(job).progress.bytes_done > reached, what="progress after the starter's death")
    assert owner.life() is Life.ALIVE
    process.cancel(slow.store, job.id)


def test_a_job_that_listens_is_cancelled_by_asking_and_keeps_what_it_has(slow: Box, dataset: Dataset) -> None:
    job = slow.moving(slow.pull(dataset))
    seen = process.cancel(slow.store, job.id)
    assert (seen.state, seen.failure) == (JobState.CANCELLED, None)
    until(lambda: owner_of(job).life() is Life.DEAD)
    assert not slow.dest(dataset).exists()
    assert "CancelledError" not in slow.log(job) and "Traceback" not in slow.log(job)
    assert seen.can_retry
    with pytest.raises(JobError, match="cancelled already"):
        process.cancel(slow.store, job.id)


def test_a_deaf_job_is_killed(slow: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_ASK_FIRST_S", 0.3)
    job = slow.moving(slow.pull(dataset))
    os.kill(owner_of(job).pid, signal.SIGSTOP)
    seen = process.cancel(slow.store, job.id)
    assert seen.state is JobState.CANCELLED
    assert owner_of(job).life() is Life.DEAD


def test_a_killed_job_is_interrupted_and_its_retry_goes_on_from_there(
    box: Box, large: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAX_RATE, "8MB")
    job = box.moving(box.pull(large))
    part = box.dest(large).with_name(box.dest(large).name + ".part")
    until(lambda: box.moving(job) and partial_bytes(box.dest(large)), what="a note of what is there")
    os.kill(owner_of(job).pid, signal.SIGKILL)
    until(lambda: owner_of(job).life() is Life.DEAD)
    seen = box.store.list()[0]
    assert seen.state is JobState.INTERRUPTED, "never shown as running"
    assert part.exists() and not box.dest(large).exists()
    monkeypatch.delenv(MAX_RATE)
    again = process.retry(box.store, job.id, box.settings.service_url)
    assert (again.id, again.state, again.retries) == (job.id, JobState.QUEUED, 1)
    result = json.loads(box.done(again).result or "")
    assert digest(box.dest(large)) == large.sha256
    assert not part.exists()
    assert result["resumed_from"] > 0
    assert result["bytes_transferred"] == LARGE - result["resumed_from"], "nothing is fetched twice"
    assert box.log(job).count(": started") == 2, "the log of the first attempt is kept"


def test_a_terminated_job_is_interrupted_and_says_so(slow: Box, dataset: Dataset) -> None:
    job = slow.moving(slow.pull(dataset))
    os.kill(owner_of(job).pid, signal.SIGTERM)
    seen = slow.over(job)
    assert seen.state is JobState.INTERRUPTED and seen.can_retry


def test_pause_holds_a_job_still_and_resume_lets_it_go_on(
    box: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAX_RATE, "3MB")
    job = box.moving(box.pull(dataset))
    box.store.ask(job.id, Request.PAUSE)
    until(lambda: box.store.get(job.id).state is JobState.PAUSED)
    until(lambda: standing_still(box, job), what="standing still")
    assert owner_of(job).life() is Life.ALIVE
    box.store.ask(job.id, Request.NONE)
    box.done(job)
    assert digest(box.dest(dataset)) == dataset.sha256


def standing_still(box: Box, job: JobRecord) -> bool:
    """Whether nothing moves for longer than four beats, with bytes still to come."""
    before = box.store.get(job.id).progress.bytes_done
    end = time.monotonic() + 1.1
    while time.monotonic() < end:
        now = box.store.get(job.id)
        assert now.state is JobState.PAUSED
        if now.progress.bytes_done != before:
            return False
        time.sleep(0.05)
    return before < SIZE


def test_two_jobs_share_the_bandwidth_of_the_box(box: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_RATE, "4MB")
    jobs = [box.pull(dataset, name) for name in ("one.bin", "two.bin")]
    ended = [box.done(job) for job in jobs]
    began = min(job.started_at or 0 for job in ended)
    took_s = max(job.finished_at or 0 for job in ended) - began
    # 12 MB at 4 MB/s; the first chunk of each connection and the second before a recount come free.
    assert took_s > 1.8, "each on its own would take 1.5 s"
    assert [digest(box.dest(dataset, name)) for name in ("one.bin", "two.bin")] == [dataset.sha256] * 2


def test_one_slot_lets_one_job_run_and_the_next_one_follow(
    slow: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SLOTS, "1")
    first = slow.moving(slow.pull(dataset, "one.bin"))
    second, third = slow.pull(dataset, "two.bin"), slow.pull(dataset, "three.bin")
    until(lambda: slow.store.get(third.id).owner is not None and slow.store.get(second.id).owner is not None)
    states = [slow.store.get(job.id).state for job in (first, second, third)]
    assert states == [JobState.RUNNING, JobState.QUEUED, JobState.QUEUED]
    process.cancel(slow.store, second.id)
    assert slow.store.get(second.id).state is JobState.CANCELLED
    # Killed without a word: whoever waits must find out by itself.
    os.kill(owner_of(first).pid, signal.SIGKILL)
    slow.moving(third)
    assert slow.store.get(first.id).state is JobState.INTERRUPTED


def test_of_two_processes_for_one_row_one_works(box: Box, dataset: Dataset) -> None:
    record = box.store.create(CatalogPull(dataset.id, str(box.dest(dataset))).spec(box.settings))
    environ = {**os.environ, "PYTHONPATH": CHECKOUT}
    log = box.settings.root / "both.log"
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "noeira_tui.jobs", str(box.store.folder.parent), str(record.id)]
        for starter in [subprocess.Popen(command, env=environ, stdout=stream, stderr=stream) for _ in range(2)]:
            assert starter.wait(20) == 0
    box.done(record)
    until(lambda: "not waiting to be taken up" in log.read_text())
    assert log.read_text().count(": started") == 1
    assert digest(box.dest(dataset)) == dataset.sha256


def test_a_job_that_fails_says_why_in_its_row_and_its_log(box: Box) -> None:
    job = box.over(box.pull(Dataset("no-such-v1", "")))
    assert job.state is JobState.FAILED and job.failure is not None
    message = job.failure.message
    assert "no-such-v1" in message
    # The row is what others look at, and comes first.
    until(lambda: message in box.log(job))


def test_no_key_and_no_signature_is_ever_written_down(
    box: Box, dataset: Dataset, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.done(box.pull(dataset))
    upload = box.settings.root / "upload.bin"
    upload.write_bytes(b"some bytes " * 1000)
    box.done(process.start(box.store, CatalogPush(str(upload), "job-secrets").spec(box.settings)))
    box.over(box.pull(Dataset("no-such-v1", "")))
    monkeypatch.setenv(API_KEY, "nk_" + "wrong" * 8)
    refused = box.over(box.pull(dataset, "other.bin"))
    assert refused.state is JobState.FAILED
    secrets = [service.key, "nk_" + "wrong" * 8, "X-Amz-Signature", "X-Amz-Credential", service.store_secret_key]
    files = [path for path in box.settings.state_dir.rglob("*") if path.is_file()]
    assert {"state.db", f"{refused.id}.log"} <= {path.name for path in files}
    for path in files:
        data = path.read_bytes()
        assert [secret for secret in secrets if secret.encode() in data] == [], path
    command = Path("/proc/self/cmdline").read_bytes()
    assert service.key.encode() not in command


def test_a_jobs_command_line_shows_no_key(slow: Box, dataset: Dataset, service: RunningService) -> None:
    job = slow.moving(slow.pull(dataset))
    assert service.key.encode() not in Path(f"/proc/{owner_of(job).pid}/cmdline").read_bytes()
    process.cancel(slow.store, job.id)


def test_a_job_of_another_service_is_refused(slow: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    job = slow.moving(slow.pull(dataset))
    process.cancel(slow.store, job.id)
    with pytest.raises(JobError, match="belongs to"):
        process.retry(slow.store, job.id, "http://another.example.org")
    # What starts it may know the old address while the job's own settings name a new one.
    monkeypatch.setenv(URL, "http://another.example.org")
    process.retry(slow.store, job.id, slow.settings.service_url)
    seen = slow.over(job)
    assert seen.state is JobState.FAILED and seen.failure is not None
    assert "another.example.org" in seen.failure.message


def test_a_job_whose_root_is_gone_fails_and_says_so(slow: Box, dataset: Dataset) -> None:
    job = slow.moving(slow.pull(dataset))
    process.cancel(slow.store, job.id)
    slow.settings.root.rename(slow.settings.root.with_name("moved"))
    process.retry(slow.store, job.id, slow.settings.service_url)
    seen = slow.over(job)
    slow.settings.root.with_name("moved").rename(slow.settings.root)
    assert seen.state is JobState.FAILED and seen.failure is not None
    assert str(slow.settings.root) in seen.failure.message


def test_a_process_that_cannot_be_started_is_a_failed_job_with_a_reason(
    box: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(box.settings.root / "no-python"))
    with pytest.raises(JobError, match="cannot be started"):
        box.pull(dataset)
    (seen,) = box.store.list()
    assert seen.state is JobState.FAILED and seen.failure is not None
    assert "no-python" in seen.failure.message


def test_the_log_of_a_lost_database_is_not_taken_for_a_new_jobs(box: Box, dataset: Dataset) -> None:
    box.store.folder.mkdir(parents=True)
    box.store.log_path(1).write_text("of another job\n")
    job = box.done(box.pull(dataset))
    assert job.id == 1
    assert "of another job" not in box.log(job) and "started" in box.log(job)


def test_a_full_disk_under_the_log_does_not_end_a_job(box: Box, dataset: Dataset) -> None:
    record = box.store.create(CatalogPull(dataset.id, str(box.dest(dataset))).spec(box.settings))
    command = [sys.executable, "-m", "noeira_tui.jobs", str(box.store.folder.parent), str(record.id)]
    with Path("/dev/full").open("wb") as full:
        subprocess.run(command, env={**os.environ, "PYTHONPATH": CHECKOUT}, stderr=full, stdout=full, check=True)
    box.done(record)


def test_the_state_folder_of_a_command_cannot_be_used(
    box: Box, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE, "/proc/no-state")
    dest = box.dest(dataset)
    done = subprocess.run(
        [sys.executable, "-m", "noeira_tui", "catalog", "pull", dataset.id, str(dest)],
        env={**os.environ, "PYTHONPATH": CHECKOUT},
        cwd=box.settings.root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert digest(dest) == dataset.sha256
    assert "warning" in done.stderr and "/proc/no-state" in done.stderr and "unrecorded" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("/proc/no-state") == 1, "one trouble, told once"


def test_run_detached_takes_only_what_waits(box: Box) -> None:
    with pytest.raises(JobError, match="not waiting"):
        run_detached(StateDb(box.settings.state_dir), 77, lambda line: None)
