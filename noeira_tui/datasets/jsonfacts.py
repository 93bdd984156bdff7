"""Facts out of JSON that others wrote: a field is believed where it makes sense, and a problem where not."""

from __future__ import annotations

import math
from collections.abc import Mapping

from noeira_tui.datasets.facts import Problem

MAX_NUMBER = 2**62


class Problems:
    """Collects what is wrong, each thing once, and not a hundred thousand times the same."""

    MAX_OF_A_KIND = 20

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}
        self._counts: dict[str, int] = {}

    def add(self, code: str, file: str, field: str, message: str) -> Problem:
        """Note a problem; the twenty-first of its kind and later are only counted."""
        problem = Problem(code, file, field, message)
        if problem not in self._found:
            self._counts[code] = self._counts.get(code, 0) + 1
            if self._counts[code] <= self.MAX_OF_A_KIND:
                self._found[problem] = None
        return problem

    def extend(self, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            self.add(problem.code, problem.file, problem.field, problem.message)

    @property
    def found(self) -> tuple[Problem, ...]:
        """Every problem, with a last one of a kind that says how many more there were."""
        more = tuple(
            Problem(code, "", "", f"… and {count - self.MAX_OF_A_KIND:,} more of the kind `{code}`.")
            for code, count in self._counts.items()
            if count > self.MAX_OF_A_KIND
        )
        return (*self._found, *more)


class Fields:
    """The fields of one JSON object in `file`; `at` is the object's own place in it (`features.action.`)."""

    def __init__(self, data: Mapping[str, object], file: str, problems: Problems, at: str = "") -> None:
        self._data = data
        self._file = file
        self._problems = problems
        self._at = at

    def has(self, key: str) -> bool:
        return self._data.get(key) is not None

    def raw(self, key: str) -> object:
        return self._data.get(key)

    def count(self, key: str, *, required: bool = False) -> int | None:
        """A whole number of at least 0."""
        value = self._data.get(key)
        if value is None:
            self._note_absent(key, required)
            return None
        number = whole_number(value)
        if number is None or number < 0:
            self._wrong(key, value, "a whole number of at least 0")
            return None
        return number

    def positive(self, key: str, *, required: bool = False) -> float | None:
        """A finite number above 0."""
        value = self._data.get(key)
        if value is None:
            self._note_absent(key, required)
            return None
        number = finite_number(value)
        if number is None or number <= 0:
            self._wrong(key, value, "a number above 0")
            return None
        return number

    def text(self, key: str, *, required: bool = False) -> str | None:
        value = self._data.get(key)
        if value is None:
            self._note_absent(key, required)
            return None
        if not isinstance(value, str):
            self._wrong(key, value, "text")
            return None
        return value

    def mapping(self, key: str, *, required: bool = False) -> Mapping[str, object] | None:
        value = self._data.get(key)
        if value is None:
            self._note_absent(key, required)
            return None
        if not isinstance(value, dict):
            self._wrong(key, value, "an object")
            return None
        return value

    def _note_absent(self, key: str, required: bool) -> None:
        if required:
            self._problems.add("missing_field", self._file, self._at + key, f"{self._file} has no `{self._at}{key}`.")

    def _wrong(self, key: str, value: object, wanted: str) -> None:
        self._problems.add(
            "wrong_type",
            self._file,
            self._at + key,
            f"{self._file}: `{self._at}{key}` is {_shown(value)}, not {wanted}.",
        )


def frame_rate(attributes: Mapping[str, object], problems: Problems) -> float | None:
    """Frames a second as stores tell it in their attributes: above 0, else a problem."""
    name = "fps" if attributes.get("fps") is not None else "frequency"
    value = attributes.get(name)
    rate = finite_number(value)
    if rate is not None and rate > 0:
        return rate
    if value is not None:
        problems.add("wrong_type", "", name, f"`{name}` is {_shown(value)}, not a number above 0.")
    return None


def finite_number(value: object) -> float | None:
    """A JSON number as a float; None for anything else, for booleans, and for what is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole_number(value: object) -> int | None:
    """A whole number, also one stored as a double; None for anything else."""
    number = finite_number(value)
    if number is None or not number.is_integer() or abs(number) > MAX_NUMBER:
        return None
    return int(value) if isinstance(value, int) else int(number)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
