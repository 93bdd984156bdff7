"""`catalog verify`: the copies here, hashed from end to end, against the digests of the catalog."""

from __future__ import annotations

from pathlib import Path

from noeira_tui.catalog.memory import CatalogMemory
from noeira_tui.cli import livebar
from noeira_tui.cli.command import Cli, stoppable
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import state_text
from noeira_tui.cli.table import table
from noeira_tui.core.errors import RefusedError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.settings import Settings
from noeira_tui.core.statedb import StateDb, or_without
from noeira_tui.core.states import State
from noeira_tui.overview.picture import DatasetView, Overview


def verify_copies(cli: Cli, view: Overview, ids: list[str]) -> int:
    """Verify the named datasets, or every one with a copy here; prints a row each. 1 when one differs or is gone."""
    by_id = {item.id: item for item in view.datasets}
    unknown = [dataset_id for dataset_id in ids if dataset_id not in by_id]
    if unknown:
        raise RefusedError(
            f"There is no dataset {unknown[0]!r}.", status=404, title="No such dataset", hint="See `catalog list`."
        )
    chosen = [by_id[i] for i in dict.fromkeys(ids)] if ids else [v for v in view.datasets if v.path is not None]
    chosen = [item for item in chosen if ids or item.sha256 is not None]
    results = [_verify(cli, item) for item in chosen]
    if cli.output.json:
        cli.output.data(
            [
                {
                    "id": item.id,
                    "path": None if item.path is None else str(item.path),
                    "state": state.value,
                    "sha256": digest,
                    "expected": item.sha256,
                }
                for item, state, digest in results
            ]
        )
    elif not results:
        cli.output.line("There is no copy of a catalog dataset here.")
    else:
        rows = [
            (literal(item.id), state_text(state), (digest or "—")[:16], (item.sha256 or "—")[:16])
            for item, state, digest in results
        ]
        for line in table(("id", "state", "sha256 here", "expected"), rows):
            cli.output.line(line)
    return 0 if all(state is State.CURRENT for _, state, _ in results) else 1


def _verify(cli: Cli, item: DatasetView) -> tuple[DatasetView, State, str | None]:
    if item.path is None or item.local_bytes is None or item.sha256 is None:
        return item, item.state, None
    digest = hash_whole(cli, item.path, f"verify {item.id}")
    if digest == item.sha256:
        return item, State.CURRENT, digest
    doubt(cli.settings, item.path)
    changed = {State.STALE, State.MODIFIED, State.DIVERGED}
    return item, item.state if item.state in changed else State.MODIFIED, digest


def doubt(settings: Settings, path: Path) -> None:
    """Have every later look read a file that was found to differ: its size and time may say that it did not change."""
    memory = CatalogMemory(StateDb(settings.state_dir), settings.service_url)
    or_without(lambda: memory.doubt(path), None)


def hash_whole(cli: Cli, path: Path, title: str) -> str:
    """The digest of a file read from end to end now, whatever is remembered of it; shown as it goes."""
    from noeira_tui.transfer.hashing import hash_file

    progress, cancel = Progress(), CancelToken()
    with stoppable(cancel), livebar.shown(cli.output, title, progress):
        progress.expect(size_bytes=path.stat().st_size)
        return hash_file(path, progress=progress, cancel=cancel)[0]
