"""`inspect`: JSON field by field, words, exit codes; and what it does not start."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commandline import CommandLine
from tests.support.datasets_build import write_v3
from tests.support.datasets_http import serving

FIELDS = [
    "uri",
    "format",
    "format_version",
    "num_episodes",
    "total_frames",
    "fps",
    "robot_type",
    "cameras",
    "observation",
    "action",
    "tasks",
    "has_timestamps",
    "problems",
    "episodes",
    "bytes_read",
    "requests",
    "streamed",
    "elapsed_s",
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_v3(tmp_path_factory.mktemp("inspect") / "v3", episodes=3, frames=20)


def test_the_json(cli: CommandLine, root: Path, dataset: Path) -> None:
    done = cli("inspect", dataset, "--json")
    assert (done.code, done.err) == (0, "")
    assert list(done.json) == FIELDS
    assert done.json["uri"] == str(dataset)
    assert (done.json["format"], done.json["num_episodes"], done.json["total_frames"]) == ("lerobot-v3", 3, 63)
    assert done.json["cameras"]["observation.images.front"] == {
        "height": 48,
        "width": 64,
        "channels": 3,
        "storage": "video",
    }
    assert done.json["action"] == {"action": {"dtype": "float32", "shape": [6]}}
    assert done.json["episodes"] is None
    assert (done.json["problems"], done.json["streamed"], done.json["requests"]) == ([], True, 2)


def test_the_episodes(cli: CommandLine, root: Path, dataset: Path) -> None:
    done = cli("inspect", "--episodes", "--json", dataset)
    assert [episode["length"] for episode in done.json["episodes"]] == [20, 21, 22]
    assert list(done.json["episodes"][1]) == ["episode_index", "length", "tasks", "data_file", "videos", "problems"]
    assert done.json["episodes"][1]["videos"]["observation.images.wrist"] == {
        "file": "videos/observation.images.wrist/chunk-000/file-000.mp4",
        "from_s": 20 / 30,
        "to_s": 41 / 30,
    }


def test_in_words(cli: CommandLine, root: Path, dataset: Path) -> None:
    done = cli("inspect", dataset, "--episodes", "--deep")
    assert done.code == 0
    assert "3 episodes, 63 frames, 30 a second" in done.out
    assert "observation.images.front  64×48, video" in done.out
    assert "data/chunk-000/file-000.parquet" in done.out
    assert "requests" in done.out


def test_problems_are_no_failure(cli: CommandLine, root: Path, dataset: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(dataset, tmp_path / "broken"))
    (broken / "meta/tasks.parquet").unlink()
    done = cli("inspect", broken, "--json")
    assert done.code == 0
    assert [(p["code"], p["file"]) for p in done.json["problems"]] == [("missing_file", "meta/tasks.parquet")]
    assert list(done.json["problems"][0]) == ["code", "file", "field", "message"]
    assert "missing_file" in cli("inspect", broken).out


def test_what_cannot_be_read_is_exit_1(cli: CommandLine, root: Path, tmp_path: Path) -> None:
    (tmp_path / "d" / "meta").mkdir(parents=True)
    (tmp_path / "d" / "meta" / "info.json").write_text('{"codebase_version": "v3')
    done = cli("inspect", tmp_path / "d")
    assert (done.code, done.out) == (1, "")
    assert "meta/info.json" in done.err
    assert "Traceback" not in done.err
    done = cli("inspect", tmp_path / "nothing", "--json")
    assert done.code == 1
    assert done.json["error"]["title"] == "No dataset"


def test_a_service_address_without_a_key_is_exit_2(cli: CommandLine, root: Path) -> None:
    done = cli("inspect", "noeira://datasets/x-v1")
    assert done.code == 2
    assert "NOEIRA_CLOUD_URL" in done.err


def test_wrong_use(cli: CommandLine, root: Path) -> None:
    assert cli("inspect").code == 2


def test_names_from_outside_are_literal(cli: CommandLine, root: Path, tmp_path: Path) -> None:
    odd = write_v3(tmp_path / "odd", episodes=1, frames=5, cameras=())
    info = (odd / "meta/info.json").read_text()
    (odd / "meta/info.json").write_text(info.replace("so101_follower", "\\u001b[31mred[/"))
    done = cli("inspect", odd)
    assert "\x1b" not in done.out
    assert "\\x1b[31mred[/" in done.out


def test_it_starts_nothing_it_does_not_need(dataset: Path) -> None:
    with serving(dataset.parent) as server:
        code = (
            "import sys\nfrom noeira_tui.cli.main import run\n"
            f"code = run(['inspect', '{server.url}/v3', '--json'])\n"
            "heavy = {'httpx', 'zarr', 'fsspec', 's3fs', 'botocore', 'h5py', 'av', 'textual'}\n"
            "print(code, sorted(heavy & set(sys.modules)), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "0 []"
