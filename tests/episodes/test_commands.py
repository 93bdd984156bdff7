"""`ingest` and `episodes`: JSON, words, exit codes, jobs; datasets on the service; the document's command lines."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import noeira_tui
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb
from noeira_tui.jobs import process
from noeira_tui.jobs.episode_kinds import EpisodesIngest
from noeira_tui.jobs.kinds import kind_of
from noeira_tui.jobs.records import JobState
from noeira_tui.jobs.store import JobStore
from tests.support.commandline import CommandLine
from tests.support.datasets_http import serving
from tests.support.episodes_build import takes, write_v3, write_v21, write_zarr
from tests.support.waiting import until

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "ingest.md").read_text("utf-8")
INGEST = ["ingested", "skipped", "failed", "frames", "bytes_read", "requests", "elapsed_s", "failures"]
EPISODE = """
    episode_id episode_index source_uri content_hash robot task language_instruction num_frames duration_s fps
    overall_score flags dead_fraction ldlj sparc gripper_chatter_rate joint_path_length overall_saturation
    static_fraction mean_entropy psd_high_fraction state_action_consistency jitter_ratio
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def cubes(root: Path) -> Path:
    made = write_v3(root / "cubes", takes(5))
    # Of a file that was just written nobody can say later whether it changed.
    for path in made.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return made


def test_json_of_ingest_and_of_the_list(cli: CommandLine, root: Path, cubes: Path) -> None:
    ran = cli("ingest", "cubes", "--json")
    assert ran.code == 0
    assert list(ran.json) == INGEST
    assert (ran.json["ingested"], ran.json["skipped"], ran.json["failed"]) == (5, 0, 0)
    assert (root / "episodes" / "episodes" / "_delta_log").is_dir()
    listed = cli("episodes", "list", "--json").json
    assert [list(one) for one in listed] == [EPISODE.split()] * 5
    scores = [one["overall_score"] for one in listed]
    assert scores == sorted(scores)
    assert {one["episode_index"] for one in listed} == set(range(5))
    assert listed[0]["source_uri"] == str(cubes)
    some = cli("episodes", "list", "--min-score", scores[2], "--json").json
    assert [one["overall_score"] for one in some] == scores[2:]
    assert cli("episodes", "list", "--flag", "jerky", "--json").json == []


def test_words_for_a_person(cli: CommandLine, cubes: Path) -> None:
    ran = cli("ingest", cubes)
    assert ran.code == 0
    assert ran.out.startswith("5 episodes ingested (210 frames), 0 were there, 0 failed; ")
    assert cli("ingest", cubes).out.startswith("0 episodes ingested (0 frames), 5 were there, 0 failed; 0 B read in ")
    table = cli("episodes", "list").out.splitlines()
    assert table[0].split() == ["score", "episode", "frames", "time", "dataset", "task", "flags"]
    assert len(table) == 6
    stats = cli("episodes", "stats").out
    assert stats.startswith("5 episodes, 210 frames, ")
    assert "#" in stats


def test_stats_and_queries_as_json(cli: CommandLine, cubes: Path) -> None:
    cli("ingest", cubes)
    stats = cli("episodes", "stats", "--json").json
    assert (stats["episodes"], stats["frames"], stats["sources"], stats["tasks"]) == (5, 210, 1, 1)
    assert sum(step["episodes"] for step in stats["score"]["histogram"]) == 5
    sql = "SELECT num_frames, num_frames, ingested_at, flags, cameras FROM scored_episodes ORDER BY 1 LIMIT 1"
    (row,) = cli("episodes", "query", sql, "--json").json
    assert list(row) == ["num_frames", "num_frames_2", "ingested_at", "flags", "cameras"]
    assert row["num_frames"] == row["num_frames_2"] == 40
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", row["ingested_at"])
    assert isinstance(row["flags"], list)
    plain = cli("episodes", "query", "SELECT 'x' || chr(27) AS a, NULL AS b").out
    assert "\x1b" not in plain
    assert plain.splitlines()[1].endswith("—")


def test_an_answer_that_fails_at_its_end_is_an_error_and_nothing_else(cli: CommandLine, cubes: Path) -> None:
    cli("ingest", cubes)
    late = "SELECT CASE WHEN i = 90000 THEN error('too late') ELSE i END AS n FROM range(100000) t(i)"
    ran = cli("episodes", "query", late, "--json")
    assert (ran.code, list(ran.json)) == (2, ["error"])
    assert "too late" in ran.json["error"]["message"]
    ran = cli("episodes", "query", late)
    assert (ran.code, ran.out) == (2, "")


def test_answers_are_printed_to_the_letter(cli: CommandLine, cubes: Path) -> None:
    cli("ingest", cubes)
    sql = "SELECT i AS n, 'x' || i AS \"a b\", [1.5, NULL] AS l FROM range(2500) t(i)"
    document = json.dumps([{"n": number, "a b": f"x{number}", "l": [1.5, None]} for number in range(2500)])
    assert cli("episodes", "query", sql, "--json").out == document + "\n"
    assert cli("episodes", "query", "SELECT 1 AS n WHERE false", "--json").out == "[]\n"
    assert cli("episodes", "query", "SELECT 1 AS n WHERE false").out == "n\n"
    table = cli("episodes", "query", "SELECT i AS n, 'y' AS wide FROM range(2500) t(i)").out.splitlines()
    assert (len(table), table[0], table[1], table[-1]) == (2501, "n     wide", "0     y", "2499  y")


ASKED = """
import contextlib, os, resource, sys
from noeira_tui.__main__ import main
with contextlib.redirect_stdout(open(os.devnull, "w")):
    main(["episodes", "query", f"SELECT i, repeat('x', 90) AS t FROM range({sys.argv[1]}) t(i)", *sys.argv[2:]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def test_a_query_that_takes_long_draws_nothing_into_its_answer(cli: CommandLine, cubes: Path) -> None:
    cli("ingest", cubes)
    # Python without a script is what DuckDB draws a bar for.
    asked = ["episodes", "query", "SELECT current_setting('enable_progress_bar') AS bar", "--json"]
    run = f"import sys; from noeira_tui.__main__ import main; main({asked!r})"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, check=True)
    assert json.loads(done.stdout) == [{"bar": False}]


@pytest.mark.parametrize("form", ["--json", "--quiet"])
def test_a_long_answer_takes_no_more_memory_than_a_short_one(cli: CommandLine, cubes: Path, form: str) -> None:
    cli("ingest", cubes)
    few, many = (
        int(subprocess.run([sys.executable, "-c", ASKED, count, form], capture_output=True, check=True).stdout)
        for count in ("10", "300000")
    )
    # Held in memory they took 227 MB more.
    assert many < few + 60


def test_a_query_reads_the_catalog_and_nothing_else(cli: CommandLine, root: Path, cubes: Path) -> None:
    cli("ingest", cubes)
    (root / "secret.csv").write_text("word\nhidden\n")
    asked = (
        "",
        "-- only a remark",
        "SELECT * FROM read_csv('secret.csv')",
        f"SELECT * FROM '{root}/secret.csv'",
        f"COPY episodes TO '{root}/out.csv'",
        f"EXPLAIN ANALYZE COPY episodes TO '{root}/out.csv'",
        f"ATTACH '{root}/out.csv' AS there",
        "INSTALL httpfs",
        "DROP VIEW episodes",
        "SET enable_external_access = true; SELECT 1",
    )
    for sql in asked:
        ran = cli("episodes", "query", sql)
        assert (ran.code, ran.out) == (2, ""), sql
        assert "hidden" not in ran.err
    assert not (root / "out.csv").exists()
    assert cli("episodes", "query", "DESCRIBE episodes").code == 0
    assert cli("episodes", "query", "PIVOT scored_episodes ON robot USING count(*)").code == 0


def test_what_is_wrong_is_told(cli: CommandLine, root: Path, cubes: Path) -> None:
    (cubes / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"")
    ran = cli("ingest", "cubes", "nothing", "--json")
    assert ran.code == 1
    assert ran.json["failed"] == 6
    errors = {(Path(one["uri"]).name, one["episode"]): one["error"] for one in ran.json["failures"]}
    assert "it is empty" in errors["cubes", 3]
    assert "There is nothing at" in errors["nothing", None]
    assert [cli("episodes", "query", sql).code for sql in ("SELECT", "SELECT * FROM nope")] == [2, 2]
    assert "latest_scores" in cli("episodes", "query", "SELECT * FROM nope").err
    gone = cli("episodes", "list", "--catalog", "elsewhere", "--json")
    assert (gone.code, gone.json["error"]["title"]) == (2, "No catalog")
    assert cli("ingest", "cubes", "--workers", "0").code == 2
    assert cli("ingest").code == 2


def test_an_ingest_is_a_job_with_its_episodes_counted(cli: CommandLine, root: Path, cubes: Path) -> None:
    job = cli("ingest", cubes, "nothing", "--detach", "--json").json["job"]
    store = JobStore(StateDb(Settings.load(root=root).state_dir))
    record = until(lambda: None if (found := store.get(job)).is_live else found, deadline_s=60)
    assert record.state is JobState.FAILED
    assert record.failure is not None
    assert record.failure.title == "1 failed, 5 ingested"
    assert record.progress.items_done == 5
    assert record.progress.bytes_done > 0
    assert "There is nothing at" in store.log_path(job).read_text()
    kind = kind_of(record.spec)
    assert isinstance(kind, EpisodesIngest)
    write_v3(root / "nothing", takes(3, seed=4))
    process.retry(store, job, None)
    done = until(lambda: None if (found := store.get(job)).is_live else found, deadline_s=60)
    assert done.state is JobState.DONE
    assert json.loads(done.result or "")["ingested"] == 3


def test_datasets_on_the_service(connected: Settings, cli: CommandLine, root: Path, cubes: Path) -> None:
    folder = root / "projects" / "curate" / "datasets"
    folder.mkdir(parents=True)
    (folder.parent / "project.kv").write_text("name=curate\n")
    cubes.rename(folder / "cubes")
    pushed = cli("dataset", "push", "--project", "curate", "--dataset", "cubes", "--json")
    assert pushed.code == 0, pushed.out + pushed.err
    ran = cli("ingest", "noeira://projects/curate/cubes", "--json")
    assert (ran.json["ingested"], ran.json["failures"]) == (5, [])
    again = cli("ingest", "noeira://projects/curate/cubes", "--json")
    assert (again.json["skipped"], again.json["bytes_read"]) == (5, 0)
    here = cli("ingest", "projects/curate/datasets/cubes", "--json")
    assert (here.json["ingested"], here.json["skipped"]) == (0, 5)


def test_a_signature_in_an_address_is_kept_nowhere(cli: CommandLine, root: Path, cubes: Path) -> None:
    with serving(cubes) as server:
        address = f"{server.url}?signature=s3cr3t/"
        ran = cli("ingest", address, "--workers", "2", "--json")
        assert (ran.json["ingested"], ran.json["failures"]) == (5, [])
        detached = cli("ingest", address, "--detach")
    assert detached.code == 2
    listed = cli("episodes", "list", "--json")
    assert {one["source_uri"] for one in listed.json} == {f"{server.url}?…"}
    said = [ran.out, ran.err, detached.out, detached.err, listed.out, cli("jobs", "list", "--json").out]
    kept = [
        path.read_bytes()
        for path in (*root.rglob("*"), *Settings.load(root=root).state_dir.rglob("*"))
        if path.is_file()
    ]
    assert "s3cr3t" not in "".join(said)
    assert not [one for one in kept if b"s3cr3t" in one]


def test_one_call_from_python(root: Path, cubes: Path) -> None:
    outcome = noeira_tui.ingest(["cubes"], catalog="curated")
    assert (outcome.ingested, outcome.skipped, outcome.failures) == (5, 0, ())
    assert noeira_tui.ingest(cubes, catalog=root / "curated").skipped == 5
    assert noeira_tui.ingest(cubes).ingested == 5
    assert (root / "episodes" / "catalog.json").is_file()


def test_every_command_line_of_the_document_runs(cli: CommandLine, root: Path) -> None:
    write_v21(root / "datasets" / "pusht", takes(4))
    write_zarr(root / "datasets" / "cubes.zarr", takes(4, seed=1), generation=2)
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    lines = [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("noeira-tui ")]
    assert len(lines) >= 8
    for arguments in lines:
        ran = cli(*arguments)
        assert ran.code == 0, (arguments, ran.err)
        assert ran.out or ran.err == "No such episodes.\n"


def test_every_flag_is_in_the_document() -> None:
    from noeira_tui.episodes.checks import CHECKS
    from noeira_tui.episodes.flags import FLAGS, METRICS

    for name in (*FLAGS, *CHECKS, *METRICS):
        assert f"`{name}`" in DOCUMENT, name


HEAVY = {"deltalake", "duckdb", "pyarrow", "numpy", "distributed", "zarr", "textual", "xxhash"}


@pytest.mark.parametrize("module", ["noeira_tui", "noeira_tui.cli.main", "noeira_tui.episodes.ingest"])
def test_nothing_heavy_is_imported_before_it_is_used(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_pandas_is_not_imported_though_it_is_there(root: Path, cubes: Path) -> None:
    (root / "libraries" / "pandas").mkdir(parents=True)
    (root / "libraries" / "pandas" / "__init__.py").write_text("raise SystemExit('pandas was imported')\n")
    environ = {**os.environ, "PYTHONPATH": str(root / "libraries"), "NOEIRA_ROOT": str(root)}
    command = [sys.executable, "-m", "noeira_tui", "ingest", str(cubes), "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
