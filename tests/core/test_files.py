from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from noeira_tui.core.files import write_atomically
from tests.support.unprivileged import ordinary_user
from tests.support.waiting import until


def test_it_writes_and_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"new", mode=0o600)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_secret_file_is_never_open_to_others(tmp_path: Path) -> None:
    """Not even for the moment before a chmod, and whatever the file's former mode was."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    before = os.umask(0)
    try:
        write_atomically(path, b"secret", mode=0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_replaced_and_its_target_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"mine"
    assert (tmp_path / "link").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file_and_nothing_beside(tmp_path: Path) -> None:
    folder = tmp_path / "is a folder"
    folder.mkdir()
    (folder / "x").touch()
    with pytest.raises(OSError):
        write_atomically(folder, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["is a folder"]
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "nowhere" / "file", b"new")


def test_a_folder_one_may_not_write_to() -> None:
    with ordinary_user() as folder:
        (folder / "shut").mkdir(mode=0o500)
        with pytest.raises(PermissionError):
            write_atomically(folder / "shut" / "file", b"new")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the file size stands for the disk: the write fails half-way."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import resource, signal, sys; from pathlib import Path; from noeira_tui.core.files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_atomically(Path(sys.argv[1]), b'x' * 5000)\n"
        "except OSError as err: sys.exit(err.errno)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment(), check=False)
    assert done.returncode == 27  # EFBIG
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_killed_writer_leaves_the_old_contents_or_the_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "file"
    code = (
        "import itertools, sys; from pathlib import Path; from noeira_tui.core.files import write_atomically\n"
        "for n in itertools.count(): write_atomically(Path(sys.argv[1]), bytes([n % 256]) * 100_000)"
    )
    for _ in range(3):
        path.unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, "-c", code, str(path)], env=environment()) as writer:
            until(path.exists)
            first = path.stat().st_ino
            until(lambda first=first: path.stat().st_ino != first)  # type: ignore[misc]
            writer.send_signal(signal.SIGKILL)
        data = path.read_bytes()
        assert len(data) == 100_000 and len(set(data)) == 1


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
