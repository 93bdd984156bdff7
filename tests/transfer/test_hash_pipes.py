"""What is no regular file is told, not waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noeira_tui.core.errors import TransferError
from noeira_tui.transfer.hashing import hash_file


def test_a_pipe_is_told_instead_of_read_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TransferError, match="regular file"):
        hash_file(tmp_path / "pipe")
