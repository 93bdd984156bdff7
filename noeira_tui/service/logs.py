"""The service's log on stderr: lines for a person, or one JSON object a line. Keys and signatures never get there."""

from __future__ import annotations

import atexit
import json
import logging
import logging.handlers
import queue
import sys
from datetime import UTC, datetime

from noeira_tui.catalog.wire import format_time
from noeira_tui.core.redact import redact

REQUESTS = "noeira_tui.service.requests"
_FIELDS = "noeira_fields"
_WAITING_LINES = 10_000


def configure(log_format: str) -> None:
    """Send this process' log to stderr in one of the formats; requests are logged in JSON only."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    as_json = log_format == "json"
    handler.setFormatter(JsonLines() if as_json else PlainLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [_in_the_background(handler) if as_json else handler]
    root.setLevel(logging.INFO if as_json else logging.WARNING)
    logging.getLogger(REQUESTS).setLevel(logging.INFO if as_json else logging.WARNING)
    # It tells the lines of each step.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _in_the_background(handler: logging.Handler) -> logging.Handler:
    """Let a thread write the lines: a request is not to wait for whoever reads them.

    A reader that stands still loses lines, once ten thousand wait for it, and stops nothing.
    """
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(_WAITING_LINES)
    listener = logging.handlers.QueueListener(waiting, handler)
    listener.start()
    atexit.register(listener.stop)
    return _Hurried(waiting)


class _Hurried(logging.handlers.QueueHandler):
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        # It stays in this process, and the fields and tracebacks are wanted as they are.
        return record

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  the library's name
        """Nothing: the line is lost, and saying so would be another one."""


def with_fields(**fields: object) -> dict[str, object]:
    """The `extra` of a log call whose fields become fields of the JSON line."""
    return {_FIELDS: fields}


class PlainLines(logging.Formatter):
    """The usual lines, without secrets, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object a line: `at`, `level`, `logger`, `message`, the call's own fields, and `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": format_time(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        fields = getattr(record, _FIELDS, {})
        line |= {name: redact(value) if isinstance(value, str) else value for name, value in fields.items()}
        if record.exc_info:
            line["traceback"] = redact(self.formatException(record.exc_info))
        return json.dumps(line)
