"""Run the comparisons and write them as a Markdown table: `python -m benchmarks --write FILE`."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from pathlib import Path

from benchmarks.rows import ALL, Bench, Row
from benchmarks.store import running_store
from noeira_tui.core.quantity import parse_size, show_size

_HEAD = "| work | against | ours | theirs | ratio | goal | | processor time |\n|---|---|---|---|---|---|---|---|"


def main() -> None:
    arguments = _arguments()
    names = set(arguments.only or [])
    wanted = [rows for rows in ALL if not names or rows.__name__.removesuffix("_rows") in names]
    size = parse_size(arguments.size, "--size")
    with tempfile.TemporaryDirectory(prefix="noeira-bench-", dir=arguments.folder) as folder:
        Path(folder).chmod(0o755)
        with running_store(Path(folder)) as store:
            bench = Bench(Path(folder), store, size, arguments.rounds)
            lines = [_about(size, arguments.rounds), "", _HEAD]
            print("\n".join(lines), flush=True)
            for rows in wanted:
                for row in rows(bench):
                    lines.append(_line(row))
                    print(lines[-1], flush=True)
    if arguments.write:
        Path(arguments.write).write_text("\n".join(lines) + "\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", default="1GiB", help="size of the file that is moved; some rows use four times that")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each tool, of which the median counts")
    parser.add_argument("--folder", default="/var/tmp", help="where to work; needs 14 times the size, on a real disk")
    parser.add_argument("--write", help="a file for the table")
    choices = [rows.__name__.removesuffix("_rows") for rows in ALL]
    parser.add_argument("--only", nargs="+", choices=choices, help="some of the comparisons")
    return parser.parse_args()


def _about(size: int, rounds: int) -> str:
    machine = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{show_size(size)} of random bytes, nginx on loopback, medians of {rounds}; {machine}, {_load()}."


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} when it began"


def _line(row: Row) -> str:
    mark = {True: "✓", False: "✗", None: ""}[row.met]
    cells = (row.work, row.against, row.ours, row.theirs, row.ratio or "", row.target, mark, row.processor)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
