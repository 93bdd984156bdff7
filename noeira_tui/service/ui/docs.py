"""`/docs`: the OpenAPI document for people, made on the server; nothing is loaded from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from noeira_tui.service.ui.pages import render

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Line:
    """A parameter, a body or an answer of an operation."""

    kind: str
    name: str
    shape: str
    words: str


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    words: str
    open: bool
    rows: tuple[Line, ...]


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The document as a page."""
    schema = request.app.openapi()
    groups: dict[str, list[Operation]] = {}
    for path, operations in schema["paths"].items():
        for method, told in operations.items():
            groups.setdefault(told["tags"][0], []).append(_operation(method.upper(), path, told))
    shapes = {
        name: {field: shape_of(one) for field, one in told.get("properties", {}).items()}
        for name, told in sorted(schema["components"]["schemas"].items())
    }
    info = schema["info"]
    values = {"title": info["title"], "version": info["version"], "description": info["description"]}
    return render(request, "docs.html", {**values, "groups": groups, "shapes": shapes})


def _operation(method: str, path: str, told: Mapping[str, Any]) -> Operation:
    rows = [
        Line(one["in"], one["name"], shape_of(one["schema"]), "" if one.get("required") else "may be left out")
        for one in told.get("parameters", [])
    ]
    if "requestBody" in told:
        rows.append(Line("body", "JSON", shape_of(_content(told["requestBody"])), ""))
    rows += [
        Line("answer", code, shape_of(_content(one)), one.get("description", ""))
        for code, one in sorted(told["responses"].items())
    ]
    words = " ".join(told.get("description", "").split())
    return Operation(told["operationId"], method, path, words, "security" not in told, tuple(rows))


def _content(told: Mapping[str, Any]) -> Mapping[str, Any]:
    contents: list[Mapping[str, Any]] = list(told.get("content", {}).values())
    schema: Mapping[str, Any] = contents[0].get("schema", {}) if contents else {}
    return schema


def shape_of(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a few words: `string or null`, `list of Dataset`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(shape_of(one) for one in schema[several]))
    if "enum" in schema:
        return " or ".join(str(one) for one in schema["enum"])
    if "const" in schema:
        return str(schema["const"]).lower()
    if schema.get("type") == "array":
        return f"list of {shape_of(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {shape_of(schema['additionalProperties'])}"
    return str(schema.get("type", ""))
