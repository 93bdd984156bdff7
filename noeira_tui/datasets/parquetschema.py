"""The schema of a parquet file: its top-level columns and the leaves that are stored."""

from __future__ import annotations

from dataclasses import dataclass

from noeira_tui.datasets.parquetthrift import (
    BINARY,
    I32,
    STOP,
    STRUCT,
    MalformedError,
    field_end,
    list_head,
    next_field,
    stored_list,
    stored_varint,
    unzigzag,
    varint,
)

_TYPE, _REPETITION, _NAME, _CHILDREN = 1, 3, 4, 5
_REPEATED = 2
_PHYSICAL_TYPES = range(8)
_BYTES = 6
_MAX_DEPTH = 64
_NUMBER_TYPES = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}
"""How numpy calls the physical types that are numbers."""


@dataclass(frozen=True)
class Leaf:
    """A column as it is stored. `column` is the top-level one it belongs to; `physical` is its type's number."""

    path: tuple[str, ...]
    column: str
    physical: int
    is_repeated: bool

    @property
    def number_type(self) -> str | None:
        """The numbers that a top-level column is of, as numpy calls them; None for any other."""
        return _NUMBER_TYPES.get(self.physical) if len(self.path) == 1 and not self.is_repeated else None

    @property
    def is_text(self) -> bool:
        """Whether its values are bytes of any length."""
        return self.physical == _BYTES

    @property
    def width(self) -> int:
        """Bytes of one of its numbers."""
        return int(_NUMBER_TYPES[self.physical][2:])

    @property
    def stored_path(self) -> bytes:
        """Its path as a column chunk has it."""
        names = [name.encode() for name in self.path]
        return stored_list(len(names), BINARY) + b"".join(stored_varint(len(name)) + name for name in names)


@dataclass(frozen=True)
class Schema:
    """The names of the top-level columns in order, and all leaves in order."""

    names: tuple[str, ...]
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class _Element:
    name: str
    physical: int | None
    children: int
    is_repeated: bool


def read_schema(data: bytes, at: int) -> tuple[Schema, int]:
    """The schema whose list of elements is at a place, and the place behind it.

    Raises MalformedError, and IndexError where the data ends too early.
    """
    count, kind, at = list_head(data, at)
    if kind != STRUCT or not count:
        raise MalformedError("it has no schema")
    elements: list[_Element] = []
    for _ in range(count):
        element, at = _read_element(data, at)
        elements.append(element)
    names: list[str] = []
    leaves: list[Leaf] = []
    following = 1
    for _ in range(elements[0].children):
        names.append(_at(elements, following).name)
        following = _descend(elements, following, (), False, leaves)
    if following != count:
        raise MalformedError("its schema contradicts itself")
    return Schema(tuple(names), tuple(leaves)), at


def _at(elements: list[_Element], number: int) -> _Element:
    if number >= len(elements):
        raise MalformedError("its schema contradicts itself")
    return elements[number]


def _descend(
    elements: list[_Element], number: int, above: tuple[str, ...], is_repeated: bool, leaves: list[Leaf]
) -> int:
    """Collect the leaves of an element; the number of the element behind it."""
    element = _at(elements, number)
    path = (*above, element.name)
    is_repeated = is_repeated or element.is_repeated
    if len(path) > _MAX_DEPTH:
        raise MalformedError("its schema is nested too deep")
    if not element.children:
        if element.physical is None:
            raise MalformedError(f"`{'.'.join(path)}` in its schema has no type")
        leaves.append(Leaf(path, path[0], element.physical, is_repeated))
        return number + 1
    number += 1
    for _ in range(element.children):
        number = _descend(elements, number, path, is_repeated, leaves)
    return number


def _read_element(data: bytes, at: int) -> tuple[_Element, int]:
    numbers: dict[int, int] = {}
    name: str | None = None
    number = 0
    while True:
        number, kind, at = next_field(data, at, number)
        if kind == STOP:
            break
        if number in (_TYPE, _REPETITION, _CHILDREN) and kind == I32:
            stored, at = varint(data, at)
            numbers[number] = unzigzag(stored)
        elif number == _NAME and kind == BINARY:
            length, start = varint(data, at)
            at = start + length
            name = _text(data[start:at])
        else:
            at = field_end(data, at, kind)
    physical, repetition = numbers.get(_TYPE), numbers.get(_REPETITION, 0)
    if name is None or repetition not in range(3) or (physical is not None and physical not in _PHYSICAL_TYPES):
        raise MalformedError("a column in its schema is of no known kind")
    return _Element(name, physical, max(0, numbers.get(_CHILDREN, 0)), repetition == _REPEATED), at


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as err:
        raise MalformedError("a name in its schema is no text") from err
