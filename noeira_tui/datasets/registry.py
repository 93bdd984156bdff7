"""Which format a dataset has, told by its markers with as few requests as will do."""

from __future__ import annotations

from dataclasses import replace

from noeira_tui.core.errors import DatasetError, DatasetFileError
from noeira_tui.datasets.lerobot.layout import INFO
from noeira_tui.datasets.reader import Reader
from noeira_tui.datasets.source import Source, parse_json, refuse_pointer

ZARR3, ZARR2_ALL, ZARR2_GROUP, ZARR2_ARRAY = "zarr.json", ".zmetadata", ".zgroup", ".zarray"
_HDF5 = (".h5", ".hdf5", ".hdf")
_TARS = (".tar", ".tgz", ".tar.gz", ".tar.zst")


def open_dataset(source: Source) -> tuple[Source, Reader]:
    """The reader of a dataset, and the source it reads from (inside the archive, for an archive).

    Raises DatasetFileError, or DatasetError saying what was looked for when it is no dataset.
    """
    name = source.name.lower()
    if name.endswith(_HDF5):
        from noeira_tui.datasets.hdf5 import Hdf5Reader

        return replace(source, is_file=True), Hdf5Reader(source)
    if name.endswith((".zip", *_TARS)):
        return _in_folder(open_files(source), zarr_first=".zarr" in name)
    if name.endswith(".parquet"):
        from noeira_tui.datasets.table import TableReader

        return replace(source, is_file=True), TableReader()
    if source.is_file:
        raise DatasetError(
            f"{source.shown} is one file of a kind that is not known here.",
            hint="Known are folders of LeRobot and zarr datasets, .zarr.zip, HDF5 files (.h5, .hdf5) and parquet.",
        )
    return _in_folder(source, zarr_first="zarr" in name)


def open_files(source: Source) -> Source:
    """The source that a dataset's files are read from: inside the archive, for an archive. Its format is not asked."""
    name = source.name.lower()
    if name.endswith(".zip"):
        from noeira_tui.datasets.zipstore import inside_zip

        return inside_zip(source)
    if name.endswith(_TARS):
        from noeira_tui.datasets.tarstore import inside_tar

        return inside_tar(source)
    return source


def _in_folder(source: Source, *, zarr_first: bool) -> tuple[Source, Reader]:
    denied: list[DatasetFileError] = []
    looks = (_zarr, _lerobot) if zarr_first else (_lerobot, _zarr)
    for look in looks:
        try:
            reader = look(source)
        except DatasetFileError as err:
            # Where keys may not be listed, a file that is not there looks like one that may not be read.
            if err.code != "denied":
                raise
            denied.append(err)
            continue
        if reader is not None:
            return source, reader
    if denied:
        raise denied[0]
    raise _nothing(source)


def _lerobot(source: Source) -> Reader | None:
    data = _marker(source, INFO)
    if data is None:
        return None
    from noeira_tui.datasets.lerobot.reader import LeRobotReader

    return LeRobotReader(parse_json(data, INFO))


def _zarr(source: Source) -> Reader | None:
    for marker in (ZARR3, ZARR2_ALL, ZARR2_GROUP, ZARR2_ARRAY):
        data = _marker(source, marker)
        if data is not None:
            from noeira_tui.datasets.zarr.reader import ZarrReader

            return ZarrReader(marker, parse_json(data, marker))
    return None


def _marker(source: Source, path: str) -> bytes | None:
    try:
        data = source.whole(path)
    except DatasetFileError as err:
        if err.code != "missing_file":
            raise
        return None
    refuse_pointer(data, path)
    return data


def _nothing(source: Source) -> DatasetError:
    seen = ""
    exists = True
    if source.can_list:
        listing = source.listing()
        names = [*(f"{name}/" for name in listing.folders), *listing.files]
        exists = bool(names)
        seen = f" In it: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}." if names else ""
    if not exists:
        return DatasetError(
            f"There is nothing at {source.shown}.", title="No dataset", hint="Check the spelling of the address."
        )
    return DatasetError(
        f"{source.shown} is no dataset that is known here: it has no {INFO} (LeRobot) and no {ZARR3}, {ZARR2_ALL} or "
        f"{ZARR2_GROUP} (zarr).{seen}",
        title="No dataset",
        hint="Name the dataset's own folder. HDF5 files are told by .h5 or .hdf5.",
    )
