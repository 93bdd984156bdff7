"""Values of zarr arrays, by ranges: a chunk that is not there and a request that failed never look alike."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

import zarr
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

from noeira_tui.core.errors import DatasetFileError
from noeira_tui.datasets.registry import ZARR2_ARRAY, ZARR3
from noeira_tui.datasets.source import Source, cut_short
from noeira_tui.datasets.zarr.nodes import ZarrArray

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from zarr.core.buffer import Buffer, BufferPrototype

_MAX_CHUNK_BYTES = 1 << 30
# SystemError is what a codec raises for a size that makes no sense.
_BROKEN = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    RuntimeError,
    OSError,
    OverflowError,
    NotImplementedError,
    SystemError,
)


class SourceStore(Store):
    """Lets zarr read through a `Source`. `absent` are the chunks it asked for that are not there."""

    supports_writes = False
    supports_deletes = False
    supports_listing = False

    def __init__(self, source: Source, known: dict[str, bytes]) -> None:
        super().__init__(read_only=True)
        self._is_open = True
        self._source = source
        self._known = known
        self.absent: list[str] = []

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        make = (default_buffer_prototype() if prototype is None else prototype).buffer.from_bytes
        if key in self._known:
            return make(self._known[key])
        if key.rpartition("/")[2] in {ZARR3, ZARR2_ARRAY, ".zgroup", ".zattrs", ".zmetadata"}:
            return None
        data = await asyncio.to_thread(self._read, key, byte_range)
        return None if data is None else make(data)

    def _read(self, key: str, byte_range: ByteRequest | None) -> bytes | None:
        try:
            match byte_range:
                case None:
                    return self._source.whole(key, _MAX_CHUNK_BYTES)
                case RangeByteRequest(start, end):
                    return self._source.part(key, start, end)
                case OffsetByteRequest(offset):
                    return self._source.from_on(key, offset, _MAX_CHUNK_BYTES).data
                case SuffixByteRequest(suffix):
                    return self._source.tail(key, suffix).data
        except DatasetFileError as err:
            if err.code != "missing_file":
                raise
            self.absent.append(key)
        return None

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        return key in self._known

    async def set(self, key: str, value: Buffer) -> None:
        raise NotImplementedError

    async def delete(self, key: str) -> None:
        raise NotImplementedError

    async def _nothing(self) -> AsyncIterator[str]:
        nothing: tuple[str, ...] = ()
        for name in nothing:
            yield name

    def list(self) -> AsyncIterator[str]:
        return self._nothing()

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        return self._nothing()

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        return self._nothing()


def read_rows(
    source: Source, generation: int, array: ZarrArray, start: int, stop: int
) -> tuple[NDArray[np.generic], tuple[str, ...]]:
    """Rows `start` to `stop` of an array, and the chunks of them that are not there (their rows hold the fill value).

    Raises DatasetFileError (`damaged_file`) for chunks that cannot be decoded; what a request raises, it raises.
    """
    import numpy as np

    marker = ZARR3 if generation == 3 else ZARR2_ARRAY
    key = f"{array.path}/{marker}" if array.path else marker
    store = SourceStore(source, {key: json.dumps(array.metadata).encode()})
    try:
        # What is odd about metadata is a problem of the dataset; zarr would print it among our words.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = zarr.open_array(store=store, path=array.path, mode="r", zarr_format=3 if generation == 3 else 2)
        values = np.asarray(opened[start:stop])
    except _BROKEN as err:
        lines = str(err).splitlines()
        raise cut_short(
            array.path, f"its chunks cannot be read ({(lines[0] if lines else type(err).__name__)[:160]})"
        ) from err
    return values, tuple(sorted(store.absent))
