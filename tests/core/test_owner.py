from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from noeira_tui.core import owner
from noeira_tui.core.owner import FOREIGN_HEARTBEAT_S, Life, ProcessOwner
from tests.support.waiting import until

ME = """
import json
from dataclasses import asdict
from noeira_tui.core.owner import ProcessOwner
print(json.dumps(asdict(ProcessOwner.me())), flush=True)
"""


def child(code: str) -> tuple[subprocess.Popen[str], ProcessOwner]:
    """A process that tells who it is, then runs `code`."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{ME}\n{code}"],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert process.stdout is not None
    return process, ProcessOwner(**json.loads(process.stdout.readline()))


def test_this_process_lives() -> None:
    me = ProcessOwner.me()
    assert me.life() is Life.ALIVE
    assert me.pid == os.getpid() and me.start_time
    assert not me.is_gone(heartbeat_age_s=1e9), "a living process is not gone, however long it said nothing"
    assert ProcessOwner.me() == me


def test_another_process_lives_until_it_ends_and_a_zombie_is_dead() -> None:
    process, its = child("import sys; sys.stdin.read()")
    assert its.life() is Life.ALIVE
    assert process.stdin is not None
    process.stdin.close()
    # It is not waited for: what is left of it is a zombie, which still has its pid and start time.
    until(lambda: its.life() is Life.DEAD)
    assert Path(f"/proc/{its.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    assert its.is_gone(heartbeat_age_s=0.0)
    process.wait()
    assert its.life() is Life.DEAD
    assert process.stdout is not None
    process.stdout.close()


def test_a_stopped_process_is_not_dead() -> None:
    process, its = child("import signal, os; os.kill(os.getpid(), signal.SIGSTOP)")
    stat = Path(f"/proc/{its.pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    assert its.life() is Life.ALIVE
    process.kill()
    process.communicate()


def test_a_reused_pid_is_another_process() -> None:
    assert replace(ProcessOwner.me(), start_time="1").life() is Life.DEAD
    assert replace(ProcessOwner.me(), start_time="").life() is Life.DEAD


def test_a_name_with_brackets_and_spaces_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a ) b ( Z 1"
    program.symlink_to(sys.executable)
    process = subprocess.Popen([str(program), "-c", "input()"], stdin=subprocess.PIPE)
    try:
        me = ProcessOwner.me()
        started = until(lambda: owner._start_time(process.pid))
        assert replace(me, pid=process.pid, start_time=started).life() is Life.ALIVE
        assert int(started) >= int(me.start_time)
    finally:
        process.kill()
        process.communicate()


def test_another_boot_of_this_host_ended_everything() -> None:
    assert replace(ProcessOwner.me(), boot_id="another").life() is Life.DEAD


@pytest.mark.parametrize(
    "change", [{"host": "elsewhere", "boot_id": "another"}, {"pid_namespace": "pid:[1]"}], ids=["host", "container"]
)
def test_what_cannot_be_looked_at_is_gone_after_a_minute_of_silence(change: dict[str, str]) -> None:
    foreign = ProcessOwner(**{**asdict(ProcessOwner.me()), **change})
    assert foreign.life() is Life.FOREIGN
    assert not foreign.is_gone(FOREIGN_HEARTBEAT_S - 1)
    assert foreign.is_gone(FOREIGN_HEARTBEAT_S + 1)


def test_a_host_that_changed_its_name_knows_its_own_processes() -> None:
    assert replace(ProcessOwner.me(), host="before-dhcp").life() is Life.ALIVE


def test_a_pid_that_nobody_has() -> None:
    assert replace(ProcessOwner.me(), pid=2**22 + 1).life() is Life.DEAD
