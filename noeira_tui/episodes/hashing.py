"""The content hash that names an episode, wherever it is and however it was read."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from noeira_tui.episodes.frames import EpisodeFrames

_BLOCK = 8192
"""Frames that are laid out at once, so that an hour needs no second copy of itself."""


def content_hash(frames: EpisodeFrames) -> str:
    """xxh3-64 of an episode's numbers: 16 hex digits, the same as Forge's catalog gives.

    Over: three little-endian int32 (the number of frames, 0, 0), then for each frame its state and its action as
    float32, its timestamp as float64 (each where the dataset has it), and one zero byte. Needs the extra `episodes`.
    """
    from xxhash import xxh3_64

    total = frames.num_frames
    digest = xxh3_64(struct.pack("<iii", total, 0, 0))
    with np.errstate(over="ignore"):
        for start in range(0, total, _BLOCK):
            digest.update(_rows(frames, start, min(start + _BLOCK, total)).data)
    return str(digest.hexdigest())


def _rows(frames: EpisodeFrames, start: int, stop: int) -> NDArray[np.uint8]:
    """The bytes of the frames from `start` to before `stop`, a row a frame; the last byte of each stays zero."""
    parts = [(frames.state, "<f4"), (frames.action, "<f4"), (frames.timestamps, "<f8")]
    pieces = [
        np.ascontiguousarray(values[start:stop], kind).view(np.uint8).reshape(stop - start, -1)
        for values, kind in parts
        if values is not None and values.size
    ]
    rows = np.zeros((stop - start, sum(piece.shape[1] for piece in pieces) + 1), np.uint8)
    column = 0
    for piece in pieces:
        rows[:, column : column + piece.shape[1]] = piece
        column += piece.shape[1]
    return rows
