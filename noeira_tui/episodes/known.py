"""Which ids a table of the catalog has, as numbers, and appending to it what it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from noeira_tui.episodes.rows import hash_numbers

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.dataset as ds
    from deltalake import DeltaTable
    from numpy.typing import NDArray


class KnownIds:
    """The ids of a table's rows, or of one scorer's rows: sorted uint64, eight bytes an episode. An id is a hash of 64
    bits, so that its number is all of it.

    Only files that came since the last look are read. Rows are neither changed nor removed: what was read stays true,
    also where somebody put files together, which are then read once more. Raises what the table library raises.
    """

    def __init__(self, table: DeltaTable, scorer_version: str | None = None) -> None:
        import numpy as np

        self.table = table
        self.numbers: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._scorer_version = scorer_version
        self._version = 0
        self._files: frozenset[str] = frozenset()

    @property
    def files(self) -> int:
        """How many files the table has."""
        return len(self._files)

    def refresh(self) -> None:
        """Take in what others committed until now."""
        self.table.update_incremental()
        self.catch_up()

    def catch_up(self) -> None:
        """Take in what the table has as it is open, asking nobody for more."""
        if self.table.version() == self._version:
            # A table that nobody wrote to has version 0, and no library is imported for it.
            return
        files = frozenset(self.table.file_uris())
        if files - self._files:
            self._take(_numbers(self.table.to_pyarrow_dataset(), files - self._files, self._scorer_version))
        self._version, self._files = self.table.version(), files

    def lacking(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Those of some ids that are not in the table."""
        import numpy as np

        names = tuple(ids)
        _, is_new = self._placed(np.fromiter((int(one, 16) for one in names), np.uint64, len(names)))
        return tuple(name for name, lacks in zip(names, is_new.tolist(), strict=True) if lacks)

    def append(self, rows: pa.Table) -> bool:
        """Append rows, provided that nobody committed since the last look; False when somebody did. (It may have been
        this commit, where the store's answer to it was lost.)

        The commit asserts the version that was compared with, so that comparing and committing are one transaction.
        Raises CommitFailedError when it fails for another reason.
        """
        from deltalake import CommitProperties, write_deltalake
        from deltalake.exceptions import CommitFailedError

        before = self.table.version()
        if before != self._version:
            return False
        # Without retries: each would take in what others committed, without comparing with it.
        asserted = CommitProperties(max_commit_retries=0)
        try:
            write_deltalake(self.table, rows, mode="append", commit_properties=asserted)
        except CommitFailedError:
            self.table.update_incremental()
            if self.table.version() == before:
                raise
            return False
        if self.table.version() == before + 1:
            self._take(hash_numbers(rows["episode_id"].combine_chunks()))
            self._version, self._files = before + 1, frozenset(self.table.file_uris())
        return True

    def _take(self, more: NDArray[np.uint64]) -> None:
        import numpy as np

        more = np.unique(more)
        places, is_new = self._placed(more)
        self.numbers = np.insert(self.numbers, places[is_new], more[is_new])

    def _placed(self, values: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where each of some numbers belongs, and whether it is not there."""
        import numpy as np

        places = np.searchsorted(self.numbers, values)
        inside = places < len(self.numbers)
        is_new = ~inside
        is_new[inside] = self.numbers[places[inside]] != values[inside]
        return places, is_new


def _numbers(dataset: ds.Dataset, files: frozenset[str], scorer_version: str | None) -> NDArray[np.uint64]:
    """The ids in some of a dataset's files, batch by batch."""
    import numpy as np
    import pyarrow.dataset as ds

    names = {file.rpartition("/")[2] for file in files}
    every = list(dataset.get_fragments())
    fragments = [fragment for fragment in every if fragment.path.rpartition("/")[2] in names]
    if len(fragments) != len(files):
        # Names that another program gave and that the dataset tells in another way: nothing may be missed.
        fragments = every
    some = ds.FileSystemDataset(fragments, dataset.schema, dataset.format, dataset.filesystem)
    where = None if scorer_version is None else ds.field("scorer_version") == scorer_version
    batches = some.to_batches(columns=["episode_id"], filter=where)
    parts = [hash_numbers(batch.column(0)) for batch in batches if batch.num_rows]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)
