"""`catalog rm`: nothing is removed before it is proven, and nothing without a yes."""

from __future__ import annotations

import sys

from noeira_tui.catalog.remote import RemoteCatalog
from noeira_tui.cli import livebar
from noeira_tui.cli.command import Cli, stoppable
from noeira_tui.cli.literal import literal
from noeira_tui.core.errors import CancelledError, ConfigError
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import show_size
from noeira_tui.overview.freeing import free, prove_file


def remove_local(cli: Cli, dataset_id: str, *, yes: bool) -> int:
    """Free the copy here, after hashing it from end to end, hearing the same digest from the service, and the same size
    from the store that has to hold the bytes."""
    progress, cancel = Progress(), CancelToken()
    with stoppable(cancel), livebar.shown(cli.output, f"comparing {dataset_id}", progress):
        proven = prove_file(cli.settings, dataset_id, progress, cancel)
    confirm(cli, f"Free {proven.path}, {show_size(proven.size_bytes)}? The service has the same bytes.", yes=yes)
    free(cli.settings, proven)
    _tell(cli, dataset_id, str(proven.path), proven.size_bytes)
    return 0


def remove_remote(cli: Cli, dataset_id: str, *, yes: bool) -> int:
    """Remove the service's copy; copies on boxes stay."""
    with RemoteCatalog(cli.settings) as catalog:
        row = next((row for row in catalog.list() if row.id == dataset_id), None)
        size = show_size(row.size_bytes) if row is not None else "unknown size"
        confirm(cli, f"Remove {dataset_id} ({size}) from {catalog.client.url}? It cannot be undone.", yes=yes)
        catalog.client.delete_dataset(dataset_id)
    _tell(cli, dataset_id, None, row.size_bytes if row is not None else None)
    return 0


def confirm(cli: Cli, question: str, *, yes: bool) -> None:
    """Ask, unless `yes`. Raises ConfigError where nobody can be asked, CancelledError without a yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("Nobody can be asked: there is no terminal.", title="Needs a yes", hint="Add --yes.")
    cli.output.warn(literal(question) + " Type yes: ")
    if sys.stdin.readline().strip() != "yes":
        raise CancelledError("Nothing was removed.", title="Not confirmed")


def _tell(cli: Cli, dataset_id: str, path: str | None, size_bytes: int | None) -> None:
    if cli.output.json:
        cli.output.data({"id": dataset_id, "path": path, "size_bytes": size_bytes, "removed": True})
    else:
        cli.output.line(f"{literal(dataset_id)} removed" + (f": {literal(path)}" if path else " from the service"))
