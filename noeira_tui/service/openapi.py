"""The OpenAPI document of a service, with its API keys in it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_SUMMARY = """\
A catalog of datasets and recordings: metadata and presigned URLs; the bytes go straight to the object store.

Every error is `{"error": "…"}`. `429` and `503` say in `Retry-After` when to come again. Every POST may be repeated.
"""
OPEN_TAGS = frozenset({"about", "operations"})


def document(app: FastAPI) -> None:
    """Let `/openapi.json` say which routes need an API key."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=_SUMMARY, routes=app.routes)
            components = schema.setdefault("components", {})
            components["securitySchemes"] = {"api_key": {"type": "http", "scheme": "bearer"}}
            for operations in schema["paths"].values():
                for operation in operations.values():
                    if not OPEN_TAGS & set(operation.get("tags", [])):
                        operation["security"] = [{"api_key": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI's own documentation extends it
