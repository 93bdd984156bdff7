"""Counters of a service in the text format that Prometheus reads; worker processes add theirs up through files.

Source of the format: "Text-based exposition format", version 0.0.4. Labels are route templates, methods and statuses:
never a name, a key or an address.
"""

from __future__ import annotations

import json
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_PUBLISH_EVERY_S = 1.0

_HELP = {
    "noeira_requests_total": ("counter", "Requests answered, by route, method and status."),
    "noeira_request_seconds": ("histogram", "Seconds until a request was answered, by route and method."),
    "noeira_requests_in_flight": ("gauge", "Requests being answered now."),
    "noeira_refused_total": ("counter", "Requests refused before they were looked at, by reason."),
    "noeira_swept_total": ("counter", "What the sweeper removed, by kind."),
    "noeira_database_connections": ("gauge", "Database connections in use now."),
    "noeira_start_time_seconds": ("gauge", "When this service started, in seconds since 1970."),
}

Labels = tuple[tuple[str, str], ...]
Series = dict[tuple[str, Labels], float]


class Metrics:
    """The counters of one process. With a `folder`, what the other workers published there is added when read.

    `slot` is the worker's number: a worker that is started again counts on from what its predecessor published.
    """

    def __init__(self, folder: Path | None = None, slot: int = 0) -> None:
        self._folder = folder
        self._file = f"worker-{slot}.json"
        self._lock = threading.Lock()
        self._values: Series = {}
        self._published = 0.0
        self._gauges: dict[str, Callable[[], float]] = {}
        if folder is not None:
            former = _read(folder / self._file)
            self._values = {key: value for key, value in former.items() if _HELP[_family(key[0])][0] != "gauge"}

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter (or, with a negative number, take from a gauge)."""
        with self._lock:
            self._add(name, by, labels)

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        with self._lock:
            self._add("noeira_requests_total", 1, {"route": route, "method": method, "status": str(status)})
            place = {"route": route, "method": method}
            bound = bisect_left(BOUNDS_S, seconds)
            le = str(BOUNDS_S[bound]) if bound < len(BOUNDS_S) else "+Inf"
            self._add("noeira_request_seconds_bucket", 1, {**place, "le": le})
            self._add("noeira_request_seconds_sum", seconds, place)
        self._publish_now_and_then()

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """A value that is read whenever somebody asks."""
        self._gauges[name] = read

    def text(self) -> str:
        """All series, those of the other workers included."""
        total = self._mine()
        for path in sorted(self._folder.glob("worker-*.json")) if self._folder is not None else ():
            if path.name != self._file:
                for key, value in _read(path).items():
                    total[key] = total.get(key, 0) + value
        return _rendered(total)

    def _mine(self) -> Series:
        with self._lock:
            mine = dict(self._values)
        for name, read in self._gauges.items():
            mine[(name, ())] = read()
        return mine

    def _add(self, name: str, by: float, labels: Mapping[str, str]) -> None:
        key = (name, tuple(sorted(labels.items())))
        self._values[key] = self._values.get(key, 0) + by

    def _publish_now_and_then(self) -> None:
        moment = time.monotonic()
        if self._folder is None or moment - self._published < _PUBLISH_EVERY_S:
            return
        self._published = moment
        beside = self._folder / f".{self._file}"
        data = [[name, labels, value] for (name, labels), value in self._mine().items()]
        # Not made durable: the numbers are of this run only.
        beside.write_text(json.dumps(data))
        beside.replace(self._folder / self._file)


def _read(path: Path) -> Series:
    try:
        data = json.loads(path.read_bytes())
        return {
            (name, tuple((key, text) for key, text in labels)): float(value)
            for name, labels, value in data
            if _family(name) in _HELP
        }
    except FileNotFoundError:
        return {}
    except ValueError:
        # Another version's: counting from nothing is better than not counting.
        return {}


def _family(name: str) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def _rendered(series: Series) -> str:
    lines: list[str] = []
    for family, (kind, words) in _HELP.items():
        lines += [f"# HELP {family} {words}", f"# TYPE {family} {kind}"]
        if kind == "histogram":
            lines += _histogram(family, series)
        else:
            lines += [_line(name, labels, value) for (name, labels), value in sorted(series.items()) if name == family]
    return "\n".join(lines) + "\n"


def _histogram(family: str, series: Series) -> Iterable[str]:
    sums = {labels: value for (name, labels), value in series.items() if name == f"{family}_sum"}
    for labels in sorted(sums):
        running = 0.0
        for bound in (*(str(one) for one in BOUNDS_S), "+Inf"):
            key = tuple(sorted((*labels, ("le", bound))))
            running += series.get((f"{family}_bucket", key), 0)
            yield _line(f"{family}_bucket", (*labels, ("le", bound)), running)
        yield _line(f"{family}_sum", labels, sums[labels])
        yield _line(f"{family}_count", labels, running)


def _line(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{shown}}} {value:g}" if shown else f"{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
