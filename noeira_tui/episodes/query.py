"""Questions to a catalog: the list of its episodes, its numbers at a glance, and SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from noeira_tui.core.errors import ConfigError
from noeira_tui.episodes.facts import CatalogStats, EpisodeInfo, QueryAnswer, ScoreStep, StreamedAnswer
from noeira_tui.episodes.flags import METRICS, Metrics
from noeira_tui.episodes.place import plain_address
from noeira_tui.episodes.tables import EPISODES, SCORES, open_catalog

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

VIEWS = ("episodes", "quality_scores", "latest_scores", "scored_episodes")
"""What a query can ask: both tables (scores only of episodes that are there), each episode's latest score, and
episodes beside it."""

_CLOSED = (
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "python_enable_replacements = false",
    # Where Python runs without a script, as in a notebook, it would be drawn into stdout.
    "enable_progress_bar = false",
    "enable_external_access = false",
    "lock_configuration = true",
)
"""A query may come from anywhere: it sees the catalog, and can neither read nor write nor fetch anything else, nor draw
on the terminal."""

_READING = frozenset({"SELECT", "EXPLAIN", "MULTI"})
_STEPS = 20
_LOAD_ROWS = 2_000
_SETUP = f"""
CREATE VIEW episodes AS SELECT * REPLACE (regexp_replace(source_uri, '^file:///+', '/') AS source_uri)
    FROM {EPISODES}_table;
CREATE VIEW quality_scores AS SELECT * FROM {SCORES}_table SEMI JOIN {EPISODES}_table USING (episode_id);
CREATE VIEW latest_scores AS SELECT * FROM quality_scores QUALIFY row_number()
    OVER (PARTITION BY episode_id ORDER BY computed_at DESC, scorer_version DESC) = 1;
CREATE VIEW scored_episodes AS SELECT * FROM episodes LEFT JOIN latest_scores USING (episode_id);
"""


class CatalogReader:
    """One look at a catalog: every question gets its answer from the same state of the tables.

    Not for two threads at once. Methods raise ConfigError when there is no catalog, DatasetError, NetworkError.
    """

    def __init__(self, uri: str) -> None:
        import duckdb

        catalog = open_catalog(uri)
        self._connection: DuckDBPyConnection = duckdb.connect(":memory:")
        self._connection.register(f"{EPISODES}_table", catalog.episodes.to_pyarrow_dataset())
        self._connection.register(f"{SCORES}_table", catalog.scores.to_pyarrow_dataset())
        self._connection.execute(_SETUP)
        for setting in _CLOSED:
            self._connection.execute(f"SET {setting}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def query(self, sql: str) -> QueryAnswer:
        """The whole answer to a statement of SQL, as `ask` gives it piece by piece. Raises QueryError."""
        asked = self.ask(sql)
        return QueryAnswer(asked.columns, tuple(asked.rows))

    def ask(self, sql: str) -> StreamedAnswer:
        """The answer to a statement of SQL (DuckDB's) over VIEWS, which can only read these; its rows are worked out
        while they are taken, until the next question. This and taking them raise QueryError."""
        with _told_in_words():
            kinds = [statement.type.name for statement in self._connection.extract_statements(sql)]
            other = next((kind for kind in kinds if kind not in _READING), None)
            if other is not None or not kinds:
                told = f"A query only reads the catalog; {other} is no question." if other else "The query is empty."
                raise QueryError(told, hint="Begin with SELECT; --json gives the rows to other programs.")
            asked = self._connection.execute(sql)
            columns = _unique([str(told[0]) for told in asked.description or ()])
        return StreamedAnswer(columns, (tuple(map(_plain, row)) for row in _rows(asked if columns else None)))

    def batches(self, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
        """The answer to a statement of our own as Arrow batches of about so many rows, after one without any."""
        import pyarrow as pa

        reader = self._connection.sql(sql).to_arrow_reader(rows)
        # First of all its columns, of which there may be no row.
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)
        yield from reader

    def episodes(
        self,
        *,
        flag: str | None = None,
        min_score: float | None = None,
        source_uri: str | None = None,
        limit: int | None = None,
    ) -> tuple[EpisodeInfo, ...]:
        """What `each_episode` gives one by one."""
        return tuple(self.each_episode(flag=flag, min_score=min_score, source_uri=source_uri, limit=limit))

    def each_episode(
        self,
        *,
        flag: str | None = None,
        min_score: float | None = None,
        source_uri: str | None = None,
        limit: int | None = None,
    ) -> Iterator[EpisodeInfo]:
        """Episodes with their latest score, the worst first, those without a score last; taken until the next question.

        Only those with a `flag`, with a score of at least `min_score`, first ingested from the dataset at `source_uri`,
        and at most `limit` of them, where asked.
        """
        where: list[str] = []
        values: dict[str, object] = {}
        if flag is not None:
            where.append("list_contains(flags, $flag)")
            values["flag"] = flag
        if min_score is not None:
            where.append("overall_score >= $least")
            values["least"] = min_score
        if source_uri is not None:
            where.append("source_uri = $source")
            values["source"] = plain_address(source_uri)
        sql = (
            "SELECT * FROM scored_episodes"
            + (f" WHERE {' AND '.join(where)}" if where else "")
            + " ORDER BY overall_score NULLS LAST, source_uri,"
            + " try_cast(extra->>'$.episode_index' AS BIGINT), episode_id"
            + ("" if limit is None else f" LIMIT {int(limit)}")
        )
        asked = self._connection.execute(sql, values)
        names = [str(told[0]) for told in asked.description or ()]
        return (_episode(dict(zip(names, row, strict=True))) for row in _rows(asked))

    def stats(self) -> CatalogStats:
        """The catalog at a glance."""
        means = ", ".join(f"avg({name})" for name in METRICS)
        row = self._one(
            "SELECT count(*), coalesce(sum(num_frames), 0), coalesce(sum(duration_s), 0), count(DISTINCT source_uri),"
            " list(DISTINCT robot ORDER BY robot) FILTER (robot IS NOT NULL), count(DISTINCT task),"
            f" avg(overall_score), min(overall_score), max(overall_score), count(*) - count(overall_score), {means}"
            " FROM scored_episodes"
        )
        steps = dict(
            self._connection.execute(
                f"SELECT least({_STEPS - 1}, CAST(floor(overall_score * {_STEPS} / 10) AS INTEGER)), count(*)"
                " FROM latest_scores WHERE overall_score IS NOT NULL GROUP BY 1"
            ).fetchall()
        )
        flags = self._connection.execute(
            "SELECT flag, count(*) FROM (SELECT unnest(flags) AS flag FROM latest_scores)"
            " GROUP BY flag ORDER BY count(*) DESC, flag"
        ).fetchall()
        wide = 10 / _STEPS
        return CatalogStats(
            episodes=int(row[0]),
            frames=int(row[1]),
            duration_s=float(row[2]),
            sources=int(row[3]),
            robots=tuple(row[4] or ()),
            tasks=int(row[5]),
            mean_score=row[6],
            min_score=row[7],
            max_score=row[8],
            scores=tuple(ScoreStep(at * wide, (at + 1) * wide, int(steps.get(at, 0))) for at in range(_STEPS)),
            flags={str(name): int(count) for name, count in flags},
            metrics=dict(zip(METRICS, row[10:], strict=True)),
            unscored=int(row[9]),
        )

    def _one(self, sql: str) -> tuple[Any, ...]:
        row = self._connection.execute(sql).fetchone()
        assert row is not None, "an aggregate has one row"
        return row


class QueryError(ConfigError):
    """A statement of SQL that cannot be answered."""

    title = "Query"


@contextmanager
def _told_in_words() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as err:
        raise QueryError(" ".join(str(err).split()), hint=f"The tables are {', '.join(VIEWS)}.") from err


def _rows(asked: DuckDBPyConnection | None) -> Iterator[tuple[Any, ...]]:
    """The rows of what was just asked, a load at a time."""
    load = None
    while asked is not None and load != []:
        with _told_in_words():
            load = asked.fetchmany(_LOAD_ROWS)
        yield from load


def _episode(row: Mapping[str, Any]) -> EpisodeInfo:
    extra = _extra(row["extra"])
    index, reasons = extra.get("episode_index"), extra.get("reasons")
    return EpisodeInfo(
        episode_id=row["episode_id"],
        episode_index=index if isinstance(index, int) else None,
        source_uri=row["source_uri"],
        source_format=row["source_format"],
        content_hash=row["content_hash"],
        robot=row["robot"],
        task=row["task"],
        language_instruction=row["language_instruction"],
        num_frames=row["num_frames"],
        duration_s=row["duration_s"],
        fps=row["fps"],
        cameras=tuple(row["cameras"] or ()),
        state_dim=row["state_dim"],
        action_dim=row["action_dim"],
        ingested_at=str(_plain(row["ingested_at"])),
        scorer_version=row["scorer_version"],
        overall_score=row["overall_score"],
        flags=tuple(row["flags"] or ()),
        reasons={str(name): str(text) for name, text in reasons.items()} if isinstance(reasons, dict) else {},
        metrics=Metrics(**{name: row[name] for name in METRICS}),
    )


def _extra(text: str | None) -> Mapping[str, object]:
    try:
        told = json.loads(text or "{}")
    except ValueError:
        # Written by another program: what it holds is not known here.
        return {}
    return told if isinstance(told, dict) else {}


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns with none twice: the second `a` is `a_2`."""
    seen: dict[str, int] = {}
    unique: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(unique)


def _plain(value: object) -> object:
    """A value as JSON has it: times in RFC 3339, what is no number in words."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value - value == 0 else None
        case datetime():
            at = value.astimezone(UTC) if value.tzinfo else value
            return re.sub(r"\+00:00$", "Z", at.isoformat())
        case date() | time_of_day():
            return value.isoformat()
        case Decimal():
            return float(value)
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case bytes():
            return value.hex()
    return str(value)
