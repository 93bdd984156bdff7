"""A root as the documents have it, and a runner for the command lines of their shell blocks."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.commandline import CommandLine, spawn
from tests.support.pack_archives import declare, serving, stanza, tar_of, zst
from tests.support.recorders import CheckpointingRecorder
from tests.support.service_process import until
from tests.support.terminal import Terminal

NOT_OURS = {"pip"}
"""Programs whose lines are for the reader: they would change the machine of the tests."""


@dataclass(frozen=True)
class CommandLineOfDocs:
    """One `noeira-tui` line of a page: its arguments, as a shell takes them apart."""

    page: str
    arguments: tuple[str, ...]

    @property
    def detached(self) -> bool:
        """Whether it returns at once and goes on as a job."""
        return "--detach" in self.arguments


def command_lines(page: Path) -> list[CommandLineOfDocs]:
    """Every command of a page's shell blocks. AssertionError for a program that is neither ours nor the reader's."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "noeira-tui":
                found.append(CommandLineOfDocs(page.name, tuple(words[1:])))
            else:
                assert not words or words[0] in NOT_OURS, line
    return found


PROJECT = Path("projects/so101-tower")


@contextmanager
def docs_world(root: Path, cli: CommandLine, *, recording_is_here: bool) -> Iterator[Callable[[], None]]:
    """A dataset in the catalog, a pack that is declared and not here, and a recording: being made on this box until the
    function that this gives is called, or whole on the service."""
    (root / "walker.h5").write_bytes(b"walker" * 100)
    recorder = CheckpointingRecorder(root / PROJECT / "datasets" / "cube-in-bowl")
    (root / PROJECT).mkdir(parents=True)
    (root / PROJECT / "project.kv").write_text("description=a tower of cubes\n")
    for _ in range(2):
        recorder.record()
    recorder.say_finished(not recording_is_here)
    pushes = [("catalog", "push", "walker.h5", "--name", "walker-random")]
    if not recording_is_here:
        pushes.append(("dataset", "push", "--project", "so101-tower", "--dataset", "cube-in-bowl"))
    for push in pushes:
        ran = cli(*push)
        assert ran.code == 0, ran.err
    (root / "walker.h5").unlink()
    if not recording_is_here:
        shutil.rmtree(root / PROJECT)
    with serving() as server:
        data = zst(tar_of())
        declare(root, stanza(server.put("/libero.tar.zst", data), data))
        yield recorder.finish if recording_is_here else lambda: None


def run_line(line: CommandLineOfDocs, cli: CommandLine, root: Path) -> tuple[int, str]:
    """Run one line as its reader would; the exit code and what it said. What runs until it is stopped is stopped."""
    arguments = line.arguments
    if not arguments:
        return _app(root), ""
    if "--watch" in arguments and not line.detached:
        return _stopped(arguments, root, "episodes", signal.SIGINT)
    if arguments[0] == "web":
        return _stopped(arguments, root, "http://127.0.0.1:", signal.SIGINT)
    if arguments[0] == "--install-completion":
        ran = subprocess.run(
            ["/bin/bash", "-c", f"{shlex.join([sys.executable, '-m', 'noeira_tui', *arguments])}; exit $?"],
            capture_output=True, text=True, check=False, cwd=root, timeout=60,
        )  # fmt: skip
        return ran.returncode, ran.stdout + ran.stderr
    ran_here = cli(*arguments)
    return ran_here.code, ran_here.out + ran_here.err


def _app(root: Path) -> int:
    with Terminal([sys.executable, "-m", "noeira_tui"], cwd=root, columns=120) as terminal:
        terminal.expect("Packs")
        terminal.type("q")
        return terminal.wait()


def _stopped(arguments: tuple[str, ...], root: Path, wanted: str, number: signal.Signals) -> tuple[int, str]:
    """Run until a line with `wanted` is said, then Ctrl-C."""
    process = spawn(*arguments, cwd=root)
    assert process.stdout is not None and process.stderr is not None
    stream = process.stdout if arguments[0] == "web" else process.stderr
    said = ""
    for text in stream:
        said += text
        if wanted in text:
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, said + out + err


def until_jobs_end(cli: CommandLine) -> None:
    """Let detached pulls end, and end detached watches: the next line must not meet them."""

    def over() -> bool:
        live = [job for job in cli("jobs", "list", "--json").json if job["state"] in {"queued", "running"}]
        for job in live:
            if job["kind"] == "dataset-watch":
                cli("jobs", "cancel", job["id"])
        return not live

    until(over, "no job runs", 30)
