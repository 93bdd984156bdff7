"""Damaged copies, generated: every file cut, emptied, replaced or gone, every JSON field removed or of a wrong type.

Whatever is broken, the answer is either the dataset with problems or an error that names the file; never a traceback.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noeira_tui.core.errors import DatasetError, DatasetFileError
from noeira_tui.datasets.facts import DatasetInfo
from noeira_tui.datasets.inspect import inspect
from noeira_tui.datasets.inspector import Inspector
from tests.support.datasets_build import write_v3, write_zarr
from tests.support.datasets_stores import SHARED, writable_copy

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1\nsize 12345\n"
)
WRONG = (
    None,
    7,
    -1,
    2.5,
    1e400,
    True,
    "text",
    "../../../etc/passwd",
    [],
    [1, "x"],
    {},
    {"a": None},
    "{0.__class__}",
    10**30,
)


REAL = (
    "so101_rosbag_v30",
    "pusht_v30_novideo",
    "gr1_picknplace_v20",
    "kalanos_tiny/lerobot_v2_0_tiny",
    "kalanos_tiny/lerobot_v2_1_tiny",
    "kalanos_tiny/lerobot_v3_tiny",
    "lerobot_written/two_cam",
    "lerobot_written/two_cam_image",
    "pusht_keypoint.zarr",
)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small datasets of every kind, made here or copied from the real ones."""
    folder = tmp_path_factory.mktemp("originals")
    made = {"v3": write_v3(folder / "v3", episodes=3, frames=12)}
    made["z2"] = write_zarr(folder / "z2.zarr", generation=2, consolidated=True)
    made["z2u"] = write_zarr(folder / "z2u.zarr", generation=2, consolidated=False)
    made["z3"] = write_zarr(folder / "z3.zarr", generation=3, consolidated=True)
    for name in REAL if SHARED.is_dir() else ():
        made[name] = writable_copy(SHARED / name, folder / name.replace("/", "_"))
    return made


Copy = Callable[[str], Path]


@pytest.fixture
def copy(originals: dict[str, Path], tmp_path: Path) -> Copy:
    """Makes a copy of one of them that may be damaged."""

    def make(name: str) -> Path:
        if name not in originals:
            pytest.skip("the real datasets are not beside the repository")
        return Path(shutil.copytree(originals[name], tmp_path / originals[name].name))

    return make


def look(root: Path) -> DatasetInfo | DatasetError:
    """Everything that can be looked at; a problem or an error of ours is an answer, anything else fails the test."""
    try:
        info = inspect(str(root), episodes=True, deep=True)
    except DatasetError as err:
        assert err.message, err
        return err
    with Inspector(str(root)) as inspector:
        for action in (
            lambda: inspector.series(1),
            inspector.stats,
            inspector.histogram,
            lambda: [inspector.picture(1, camera.name, 0.1) for camera in info.cameras],
        ):
            try:
                action()
            except DatasetError as err:
                assert err.message, err
    assert info.episodes is not None
    info.episodes.page(0, 100)
    return info


def told(answer: DatasetInfo | DatasetError, file: str) -> bool:
    """Whether the answer names a file; one dataset's template has another folder for it."""
    file = Path(file).name if "episode_" in file else file
    if isinstance(answer, DatasetError):
        return file in answer.message or (isinstance(answer, DatasetFileError) and answer.file == file)
    return any(file in problem.file or file in problem.message for problem in answer.problems)


IGNORED = {"meta/stats.json", "meta/episodes_stats.jsonl", "meta/modality.json"}
"""What a look at a whole dataset does not need."""


@pytest.mark.parametrize("name", ["v3", *(name for name in REAL if "zarr" not in name)])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "half", "pointer", "garbage"])
def test_a_damaged_file_is_named(copy: Copy, name: str, damage: str) -> None:
    root = copy(name)
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        file, data = str(path.relative_to(root)), path.read_bytes()
        _damage(path, damage, data)
        answer = look(root)
        if file not in IGNORED:
            assert told(answer, file) or (isinstance(answer, DatasetError) and file == "meta/info.json"), (file, answer)
        path.write_bytes(data)
    assert isinstance(look(root), DatasetInfo)


@pytest.mark.parametrize("name", ["z2", "z2u", "z3", "pusht_keypoint.zarr"])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "half", "pointer", "garbage"])
def test_a_damaged_zarr_never_breaks_the_look(copy: Copy, name: str, damage: str) -> None:
    root = copy(name)
    paths = [path for path in root.rglob("*") if path.is_file() and ("extra" not in path.parts)]
    chunks = [path for path in paths if path.name[0].isdigit()]
    for path in sorted(set(paths) - set(chunks[3:])):
        data = path.read_bytes()
        _damage(path, damage, data)
        answer = look(root)
        if "episode_ends" in path.parts and path.name != ".zattrs":
            # A frame of zstandard that lost its last bytes may still hold all values: told, or right.
            right = (
                isinstance(answer, DatasetInfo)
                and answer.episodes is not None
                and sum(answer.episodes.lengths) in {46, 24644}
            )
            assert isinstance(answer, DatasetError) or answer.problems or (right and damage == "cut"), path
        path.write_bytes(data)


def _damage(path: Path, damage: str, data: bytes) -> None:
    if damage == "gone":
        path.unlink()
        return
    contents = {
        "empty": b"",
        "cut": data[:-3],
        "half": data[: len(data) // 2],
        "pointer": POINTER,
        "garbage": bytes(255 - byte for byte in data),
    }
    path.write_bytes(contents[damage])


def places(value: object, at: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every place in a JSON value."""
    if at:
        yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*at, key))


def changed(value: object, place: tuple[object, ...], new: object, *, remove: bool) -> object:
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    if remove:
        del inner[place[-1]]
    else:
        inner[place[-1]] = new
    return copy


def dumped(value: object) -> str:
    return json.dumps(value).replace("Infinity", "1e400")


@pytest.mark.parametrize("name", ["v3", "z2", "z3", *(name for name in REAL if "zarr" not in name)])
def test_every_json_field_removed_or_of_a_wrong_type(copy: Copy, name: str) -> None:
    root = copy(name)
    path = root / {"z2": ".zmetadata", "z3": "zarr.json"}.get(name, "meta/info.json")
    original = json.loads(path.read_bytes())
    tried = 0
    for number, place in enumerate(places(original)):
        path.write_text(dumped(changed(original, place, None, remove=True)))
        quick(root)
        # Each place meets a few of the wrong values, and together they meet all of them.
        for new in (WRONG[number % len(WRONG)], WRONG[(number * 5 + 3) % len(WRONG)]):
            path.write_text(dumped(changed(original, place, new, remove=False)))
            quick(root)
            tried += 1
    assert tried > 40, "or nothing was looked at"
    for whole in WRONG:
        path.write_text(dumped(whole))
        quick(root)


def quick(root: Path) -> None:
    try:
        info = inspect(str(root), episodes=True)
    except DatasetError as err:
        assert err.message
        return
    assert info.episodes is not None
    info.episodes.page(0, 10)


def test_required_fields_are_missed_by_name(copy: Copy) -> None:
    path = copy("v3") / "meta/info.json"
    original = json.loads(path.read_bytes())
    for field in ("codebase_version", "total_episodes", "total_frames", "fps", "features", "data_path"):
        path.write_text(json.dumps({key: value for key, value in original.items() if key != field}))
        problems = inspect(str(path.parents[1])).problems
        assert ("missing_field", "meta/info.json", field) in {(p.code, p.file, p.field) for p in problems}
        path.write_text(json.dumps({**original, field: [1]}))
        problems = inspect(str(path.parents[1])).problems
        assert ("wrong_type", "meta/info.json", field) in {(p.code, p.file, p.field) for p in problems}


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v3.0", "lerobot-v3"), ("v2.1", "lerobot-v2.1"), ("v2.0", "lerobot-v2"), ("v9.9", "lerobot"), (None, "lerobot")],
)
def test_versions_are_told_apart(copy: Copy, version: str | None, expected: str) -> None:
    path = copy("v3") / "meta/info.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "codebase_version": version}))
    info = inspect(str(path.parents[1]), episodes=version in {"v9.9", None})
    assert (info.format, info.format_version) == (expected, version)
    assert info.num_episodes == 3
    if info.episodes is not None:
        assert len(info.episodes) == 3, "what can be shown is shown"
        assert {"missing_field", "unknown_version"} & {problem.code for problem in info.problems}


def test_a_template_cannot_leave_the_dataset(copy: Copy) -> None:
    path = copy("v3") / "meta/info.json"
    original = json.loads(path.read_bytes())
    for template in (
        "../{chunk_index:03d}/x.parquet",
        "/etc/passwd",
        "{chunk_index.__class__}",
        "a\\b",
        "data/{nothing}",
    ):
        path.write_text(json.dumps({**original, "data_path": template}))
        info = inspect(str(path.parents[1]), episodes=True)
        assert "bad_path" in {problem.code for problem in info.problems}
        assert info.episodes is not None
        assert {episode.data_file for episode in info.episodes.page(0, 9)} == {None}


def test_zero_episodes(copy: Copy) -> None:
    path = copy("v3") / "meta/info.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "total_episodes": 0, "total_frames": 0, "splits": {}}))
    assert {problem.code for problem in inspect(str(path.parents[1])).problems} == {"zero_episodes"}


@pytest.mark.parametrize("name", ["meta/info.json", "data/chunk-000/file-000.parquet"])
def test_a_pipe_in_place_of_a_file_holds_nobody_up(copy: Copy, name: str) -> None:
    path = copy("v3") / name
    path.unlink()
    os.mkfifo(path)
    root = str(path.parents[1] if name.startswith("meta") else path.parents[2])
    if name.startswith("meta"):
        with pytest.raises(DatasetError, match=r"no meta/info\.json"):
            inspect(root)
    else:
        found = {(problem.code, problem.file) for problem in inspect(root, deep=True).problems}
        assert ("missing_file", name) in found


def test_a_statistic_that_is_no_number_keeps_its_place(copy: Copy) -> None:
    path = copy("v3") / "meta/stats.json"
    path.write_text(
        '{"action": {"mean": [NaN, 2, null, "x", Infinity, [6]], "max": "7", "std": NaN, "count": [1e999]}}'
    )
    with Inspector(str(path.parents[1])) as inspector:
        (one,) = inspector.stats()
    shown = [str(number) for number in one.mean]
    assert shown == ["nan", "2.0", "nan", "nan", "inf", "6.0"]
    assert (one.maximum, one.std, one.count) == ((), (), None)


def test_a_name_of_nothing_in_a_zip_is_no_member(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"nothing to see")
    path = tmp_path / "a.zip"
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 28 : at + 30], data[at + 32 : at + 34] = b"\0\0", b"\1\0"  # its one byte of name is one of comment
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"no dataset|nothing at|damaged"):
        inspect(str(path))


def test_a_footer_that_contradicts_its_schema_does_not_end_the_process(copy: Copy) -> None:
    path = copy("v3") / "data/chunk-000/file-000.parquet"
    data = bytearray(path.read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    # The thrift of a column chunk: its type (field 1, INT64), its encodings, its path.
    chunk = data.rindex(b"\x15\x04\x19", footer, data.rindex(b"\x18\x0depisode_index"))
    data[chunk + 1] = 0
    path.write_bytes(data)
    problems = inspect(str(path.parents[2]), deep=True).problems
    assert any("contradicts itself" in problem.message for problem in problems)
