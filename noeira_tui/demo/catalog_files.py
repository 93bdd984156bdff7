"""Sample catalog datasets: rollouts of simulated robots as parquet, the same bytes for the same seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROWS_IN_GROUP = 50_000
_EPISODE_ROWS = 1000


@dataclass(frozen=True)
class Rollouts:
    """A dataset to make: who it is in the catalog, its shape and its recipe.

    A row has `observations + actions` float32 values and a few numbers more; nothing is compressed, so the size follows
    from the shape.
    """

    name: str
    version: str
    env_id: str
    rows: int
    observations: int
    actions: int
    seed: int
    source_commit: str = "081b53c0"

    @property
    def id(self) -> str:
        """Its id in the catalog."""
        return f"{self.name}-{self.version}"

    @property
    def episodes(self) -> int:
        """Episodes of a thousand steps, the last one may be shorter."""
        return -(-self.rows // _EPISODE_ROWS)


def write_rollouts(path: Path, dataset: Rollouts) -> None:
    """Write the dataset as one parquet file, row group by row group: memory stays flat whatever its size."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(dataset.seed)
    widths = {"observation": dataset.observations, "action": dataset.actions}
    schema = pa.schema(
        [
            *(pa.field(name, pa.list_(pa.float32(), width)) for name, width in widths.items()),
            pa.field("reward", pa.float32()),
            pa.field("done", pa.bool_()),
            pa.field("episode_index", pa.int64()),
            pa.field("frame_index", pa.int64()),
        ]
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False, write_statistics=False) as writer:
        for first in range(0, dataset.rows, _ROWS_IN_GROUP):
            count = min(_ROWS_IN_GROUP, dataset.rows - first)
            index = np.arange(first, first + count)
            columns = [
                pa.FixedSizeListArray.from_arrays(rng.standard_normal(count * width, np.float32), width)
                for width in widths.values()
            ]
            columns += [
                pa.array(rng.standard_normal(count, np.float32)),
                pa.array(index % _EPISODE_ROWS == _EPISODE_ROWS - 1),
                pa.array(index // _EPISODE_ROWS),
                pa.array(index % _EPISODE_ROWS),
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=_ROWS_IN_GROUP)


WALKER_RANDOM = Rollouts("walker-random", "v1", "Walker2d-v5", 120_000, 17, 6, seed=7)
PUSHT_DEMOS_OLD = Rollouts("pusht-demos", "v3", "gym_pusht/PushT-v0", 60_000, 5, 2, seed=3)
PUSHT_DEMOS_NEW = Rollouts("pusht-demos", "v3", "gym_pusht/PushT-v0", 90_000, 5, 2, seed=4)
G1_WALK = Rollouts("g1-walk", "v2", "UnitreeG1-Walk-v2", 450_000, 48, 29, seed=11)
SO101_SIM = Rollouts("so101-sim", "v1", "SO101-PickPlace-v1", 40_000, 18, 6, seed=5)
SO101_GRASP = Rollouts("so101-grasp", "v1", "SO101-Grasp-v1", 250_000, 18, 6, seed=6)
