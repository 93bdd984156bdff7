"""The arrays of a zarr store and their attributes, read from its metadata alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from noeira_tui.core.errors import DatasetError, DatasetFileError
from noeira_tui.datasets.jsonfacts import Problems, whole_number
from noeira_tui.datasets.registry import ZARR2_ALL, ZARR2_ARRAY, ZARR2_GROUP, ZARR3
from noeira_tui.datasets.source import Source

_MAX_DEPTH = 6
_MAX_NODES = 5000
Attributes = Mapping[str, object]


@dataclass(frozen=True)
class ZarrArray:
    """One array: path in the store (empty for the root), shape, chunk shape and element type; `metadata` is its own
    JSON object, which zarr reads it by."""

    path: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str
    separator: str
    attributes: Attributes = field(default_factory=dict, repr=False)
    metadata: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Nodes:
    """Everything in a store. `generation` is 2 or 3; `groups` are the attributes of each group by path."""

    generation: int
    consolidated: bool
    arrays: tuple[ZarrArray, ...]
    groups: Mapping[str, Attributes]

    def find(self, *paths: str) -> ZarrArray | None:
        """The first array at one of some paths."""
        by_path = {array.path: array for array in self.arrays}
        return next((by_path[path] for path in paths if path in by_path), None)


def read_nodes(source: Source, marker: str, data: object, problems: Problems) -> Nodes:
    """Every array below the root whose metadata file `marker` holds `data`.

    Raises DatasetFileError for metadata that are no object, DatasetError where they must be listed and cannot be.
    """
    root = _object(data, marker)
    if marker == ZARR3:
        return _read_v3(source, root, problems)
    if marker == ZARR2_ALL:
        listed = _object(root.get("metadata"), f"{marker}: metadata")
        return _from_keys(listed, 2, ZARR2_ALL, problems)
    if marker == ZARR2_ARRAY:
        array = parse_array("", 2, root, marker, problems)
        return Nodes(2, False, () if array is None else (array,), {})
    return _walk(source, 2, problems)


def _read_v3(source: Source, root: Mapping[str, object], problems: Problems) -> Nodes:
    if root.get("node_type") == "array":
        array = parse_array("", 3, root, ZARR3, problems)
        return Nodes(3, False, () if array is None else (array,), {"": _attributes(root)})
    told = root.get("consolidated_metadata")
    listed = told.get("metadata") if isinstance(told, dict) else None
    if not isinstance(listed, dict):
        return _walk(source, 3, problems, root)
    arrays: list[ZarrArray] = []
    groups: dict[str, Attributes] = {"": _attributes(root)}
    for path, node in listed.items():
        if not isinstance(node, dict):
            problems.add(
                "wrong_type", ZARR3, f"consolidated_metadata.{path}", f"{ZARR3}: the node {path!r} is no object."
            )
        elif node.get("node_type") == "array":
            array = parse_array(path, 3, node, ZARR3, problems)
            arrays += [] if array is None else [array]
        else:
            groups[path] = _attributes(node)
    return Nodes(3, True, tuple(arrays), groups)


def _from_keys(listed: Mapping[str, object], generation: int, file: str, problems: Problems) -> Nodes:
    """v2's consolidated metadata: every metadata file by its path."""
    arrays: list[ZarrArray] = []
    groups: dict[str, Attributes] = {}
    for key, node in listed.items():
        folder, _, name = key.rpartition("/")
        if name not in {ZARR2_ARRAY, ZARR2_GROUP}:
            continue
        if not isinstance(node, dict):
            problems.add("wrong_type", file, f"metadata.{key}", f"{file}: {key!r} is no object.")
            continue
        said = listed.get(f"{folder}/.zattrs" if folder else ".zattrs")
        attributes = said if isinstance(said, dict) else {}
        if name == ZARR2_GROUP:
            groups[folder] = attributes
        else:
            array = parse_array(folder, generation, node, file, problems, attributes)
            arrays += [] if array is None else [array]
    return Nodes(generation, True, tuple(arrays), groups)


def _walk(source: Source, generation: int, problems: Problems, root: Mapping[str, object] | None = None) -> Nodes:
    """Ask for every folder's own metadata; an array's folder is never listed, for all its chunks are in there."""
    if not source.can_list:
        raise DatasetError(
            f"{source.shown} is a zarr group without consolidated metadata on a server that cannot be listed: "
            "which arrays it has cannot be told.",
            title="Cannot be listed",
            hint="Run zarr.consolidate_metadata on it, or read it from a place that can be listed (s3://, a folder).",
        )
    arrays: list[ZarrArray] = []
    groups: dict[str, Attributes] = {}
    _walk_group(source, generation, "", root, arrays, groups, problems)
    return Nodes(generation, False, tuple(arrays), groups)


def _walk_group(
    source: Source,
    generation: int,
    path: str,
    node: Mapping[str, object] | None,
    arrays: list[ZarrArray],
    groups: dict[str, Attributes],
    problems: Problems,
) -> None:
    attributes: Attributes = {} if node is None else _attributes(node)
    if generation == 2:
        attributes = _v2_attributes(source, path)
    groups[path] = attributes
    if path.count("/") >= _MAX_DEPTH or len(arrays) + len(groups) > _MAX_NODES:
        return
    prefix = f"{path}/" if path else ""
    folders = [prefix + name for name in sorted(source.listing(path).folders) if not name.startswith("__MACOSX")]
    for folder, found in zip(folders, source.each(lambda f: _own(source, generation, f), folders), strict=True):
        if found is None:
            continue
        is_array, data = found
        if is_array:
            marker = f"{folder}/{ZARR3 if generation == 3 else ZARR2_ARRAY}"
            array = parse_array(folder, generation, data, marker, problems)
            arrays += [] if array is None else [array]
        else:
            _walk_group(source, generation, folder, data, arrays, groups, problems)


def _own(source: Source, generation: int, folder: str) -> tuple[bool, Mapping[str, object]] | None:
    """A folder's own metadata, and whether it is an array's; None for a folder that is no node."""
    if generation == 3:
        marker = f"{folder}/{ZARR3}"
        data = source.json_or_none(marker)
        if data is None:
            return None
        node = _object(data, marker)
        return node.get("node_type") == "array", node
    marker = f"{folder}/{ZARR2_ARRAY}"
    data = source.json_or_none(marker)
    if data is not None:
        return True, _object(data, marker)
    data = source.json_or_none(f"{folder}/{ZARR2_GROUP}")
    return None if data is None else (False, {})


def own_metadata(source: Source, nodes: Nodes, array: ZarrArray, problems: Problems) -> ZarrArray | None:
    """An array as its own metadata file has it, for comparing with consolidated ones; None when it is not there."""
    name = ZARR3 if nodes.generation == 3 else ZARR2_ARRAY
    marker = f"{array.path}/{name}" if array.path else name
    data = source.json_or_none(marker)
    if data is None:
        return None
    return parse_array(array.path, nodes.generation, _object(data, marker), marker, problems)


def parse_array(
    path: str,
    generation: int,
    node: Mapping[str, object],
    file: str,
    problems: Problems,
    attributes: Attributes | None = None,
) -> ZarrArray | None:
    """An array's metadata; None, and a problem, when they make no sense."""
    shape = _sizes(node.get("shape"))
    if generation == 3:
        grid = node.get("chunk_grid")
        configuration = grid.get("configuration") if isinstance(grid, dict) else None
        chunks = _sizes(configuration.get("chunk_shape")) if isinstance(configuration, dict) else None
        dtype, separator = node.get("data_type"), _separator(node)
    else:
        chunks, dtype, separator = (
            _sizes(node.get("chunks")),
            node.get("dtype"),
            str(node.get("dimension_separator") or "."),
        )
    if shape is None or chunks is None or len(chunks) != len(shape) or dtype is None or 0 in chunks:
        what = "shape" if shape is None else "data type" if dtype is None else "chunks"
        field_name = f"{path}.{what}" if path else what
        problems.add("no_shape", file, field_name, f"{file}: the array {path!r} has no {what} that makes sense.")
        return None
    said = attributes if attributes is not None else _attributes(node)
    return ZarrArray(path, shape, chunks, _plain_dtype(dtype), separator, said, node)


def _separator(node: Mapping[str, object]) -> str:
    encoding = node.get("chunk_key_encoding")
    told = encoding.get("configuration") if isinstance(encoding, dict) else None
    separator = told.get("separator") if isinstance(told, dict) else None
    is_v2 = isinstance(encoding, dict) and encoding.get("name") == "v2"
    return f"v2{separator or '.'}" if is_v2 else str(separator or "/")


_KINDS = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def _plain_dtype(value: object) -> str:
    """An element type in plain words: `float32` for `<f4`."""
    if isinstance(value, str):
        code = value.lstrip("<>|=")
        if code == "b1":
            return "bool"
        if code[:1] in _KINDS and code[1:].isdigit():
            return f"{_KINDS[code[0]]}{8 * int(code[1:])}"
        return value[:40]
    if isinstance(value, dict):
        return str(value.get("name", "unknown"))[:40]
    return "struct" if isinstance(value, list) else "unknown"


def _sizes(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > 32:
        return None
    sizes = [whole_number(size) for size in value]
    known = tuple(size for size in sizes if size is not None and size >= 0)
    return known if len(known) == len(value) else None


def _attributes(node: Mapping[str, object]) -> Attributes:
    said = node.get("attributes")
    return said if isinstance(said, dict) else {}


def _v2_attributes(source: Source, path: str) -> Attributes:
    if path.count("/") > 0:
        return {}
    said = source.json_or_none(f"{path}/.zattrs" if path else ".zattrs")
    return said if isinstance(said, dict) else {}


def _object(data: object, file: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise DatasetFileError(f"{file} is damaged: it is no JSON object.", code="damaged_file", file=file)
    return data
