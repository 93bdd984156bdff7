"""A process of its own that pulls one file, to be killed: `python -m tests.support.faulty_puller URL DEST SHA SIZE`."""

from __future__ import annotations

import sys
from pathlib import Path

from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.transfer.download import download
from noeira_tui.transfer.facts import Wanted
from tests.support.faulty_server import FAST_CONTEXT


def main() -> None:
    url, dest, sha256, size = sys.argv[1:5]
    print("ready", flush=True)
    sys.stdin.readline()
    done = download(FixedUrl(PresignedUrl(url)), Path(dest), Wanted(sha256, int(size)), context=FAST_CONTEXT)
    print(f"{done.bytes_transferred} {done.resumed_from}", flush=True)


if __name__ == "__main__":
    main()
