"""The tasks of a LeRobot dataset: a parquet table since v3, a list of JSON lines before."""

from __future__ import annotations

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.jsonfacts import Problems, whole_number
from noeira_tui.datasets.lerobot.layout import INFO, TASKS_LINES, TASKS_PARQUET, Generation
from noeira_tui.datasets.parquet import whole_parquet
from noeira_tui.datasets.source import Source

_MAX_TABLE_BYTES = 256 << 20
_Numbered = list[tuple[int, str]]


def read_tasks(source: Source, generation: Generation, expected: int | None, problems: Problems) -> tuple[str, ...]:
    """The tasks in the order of their numbers. A file that is absent or broken is a problem, and gives none."""
    path = TASKS_PARQUET if generation is Generation.V3 else TASKS_LINES
    try:
        found = (
            _from_table(source, path, problems) if generation is Generation.V3 else _from_lines(source, path, problems)
        )
    except DatasetFileError as err:
        problems.add(err.code, path, "", err.message)
        return ()
    found.sort(key=lambda item: item[0])
    numbers = [number for number, _ in found]
    if len(set(numbers)) != len(numbers):
        problems.add("counts_disagree", path, "task_index", f"{path}: a `task_index` is given twice.")
    if expected is not None and expected != len(found):
        problems.add(
            "counts_disagree",
            INFO,
            "total_tasks",
            f"{INFO}: `total_tasks` is {expected:,}, {path} has {len(found):,}.",
        )
    return tuple(task for _, task in found)


def _from_table(source: Source, path: str, problems: Problems) -> _Numbered:
    import pyarrow as pa

    table = whole_parquet(source, path, _MAX_TABLE_BYTES)
    text = next(
        (
            name
            for name in ("task", "__index_level_0__", *table.column_names)
            if name in table.column_names
            and (pa.types.is_string(table[name].type) or pa.types.is_large_string(table[name].type))
        ),
        None,
    )
    if text is None:
        problems.add("missing_field", path, "task", f"{path} has no column with the tasks' text.")
        return []
    texts = [str(value) for value in table[text].to_pylist()]
    if "task_index" not in table.column_names:
        problems.add("missing_field", path, "task_index", f"{path} has no column `task_index`.")
        return list(enumerate(texts))
    return _numbered(table["task_index"].to_pylist(), texts, path, problems)


def _from_lines(source: Source, path: str, problems: Problems) -> _Numbered:
    numbers: list[object] = []
    texts: list[str] = []
    for line, row in enumerate(source.json_lines(path), 1):
        task = row.get("task") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(task, str):
            problems.add("wrong_type", path, "task", f"{path}, line {line}: there is no text `task`.")
            continue
        numbers.append(row.get("task_index"))
        texts.append(task)
    return _numbered(numbers, texts, path, problems)


def _numbered(numbers: list[object], texts: list[str], path: str, problems: Problems) -> _Numbered:
    found: _Numbered = []
    for place, (number, text) in enumerate(zip(numbers, texts, strict=True)):
        index = whole_number(number)
        if index is None:
            problems.add(
                "wrong_type", path, "task_index", f"{path}: the `task_index` of {text[:60]!r} is no whole number."
            )
        found.append((place if index is None else index, text))
    return found
