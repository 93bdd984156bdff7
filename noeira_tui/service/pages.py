"""The `pages` extension: `?limit=N&after=ID` on lists, and `X-Next-After` when there is more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from noeira_tui.service.problems import RequestRefusedError

MAX_LIMIT = 1000
_Row = TypeVar("_Row")


@dataclass(frozen=True)
class Page:
    """Which part of a list is asked for; `limit` None means everything."""

    limit: int | None
    after: str | None

    @property
    def fetch(self) -> int | None:
        """How many rows to read: one more than are shown tells whether there are more."""
        return None if self.limit is None else self.limit + 1

    def answer(self, rows: Sequence[_Row], id_of: Callable[[_Row], str], shape: Callable[[_Row], Any]) -> Response:
        """The rows to show as the answer itself: FastAPI would look at every value of every row once more."""
        headers = Response()
        shown = self.cut(rows, headers, id_of)
        answer = JSONResponse([shape(row) for row in shown])
        if "X-Next-After" in headers.headers:
            answer.headers["X-Next-After"] = headers.headers["X-Next-After"]
        return answer

    def cut(self, rows: Sequence[_Row], response: Response, id_of: Callable[[_Row], str]) -> Sequence[_Row]:
        """The rows to show; names the last one in the header when there are more."""
        if self.limit is None or len(rows) <= self.limit:
            return rows
        shown = rows[: self.limit]
        response.headers["X-Next-After"] = id_of(shown[-1])
        return shown


async def _page(
    request: Request,
    limit: Annotated[int | None, Query(ge=1, le=MAX_LIMIT)] = None,
    after: Annotated[str | None, Query(max_length=1024)] = None,
) -> Page:
    for name in ("limit", "after"):
        if len(request.query_params.getlist(name)) > 1:
            raise RequestRefusedError(422, f"{name}: given more than once")
    return Page(limit, after)


Paged = Annotated[Page, Depends(_page)]
