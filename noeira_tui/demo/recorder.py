"""A small background recorder: `python -m noeira_tui.demo.recorder FOLDER` records an episode every few seconds.

It stands in for a robot: videos grow on disk while an episode lasts, and all is whole in between. SIGTERM, Ctrl-C
or the end of the process that started it finish the recording cleanly.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from noeira_tui.demo.lerobot import LeRobotWriter
from noeira_tui.demo.motion import SO101

FRAMES = 45
FPS = 15
_PARENT_CHECK_S = 0.5


def record(
    folder: Path, *, episodes: int | None, every_s: float, stop: threading.Event, is_over: Callable[[], bool]
) -> None:
    """Record into `folder` until it holds `episodes` episodes, `stop` is set or `is_over` says so.

    An episode begins every `every_s` seconds and lasts at most half of that, in the time a robot would take where
    there is enough of it.
    """
    writer = LeRobotWriter(folder, SO101, FPS)
    frame_s = min(1 / FPS, every_s / 2 / FRAMES)
    try:
        while (episodes is None or writer.episodes < episodes) and not is_over():
            began = time.monotonic()

            def pace(frame: int, began: float = began) -> bool:
                stop.wait(max(0.0, began + frame * frame_s - time.monotonic()))
                return not is_over()

            writer.record(FRAMES, seed=1000 + writer.episodes, pace=pace)
            while not is_over() and (left := began + every_s - time.monotonic()) > 0:
                stop.wait(min(left, _PARENT_CHECK_S))
    finally:
        writer.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the recorder from the command line."""
    parser = argparse.ArgumentParser(prog="python -m noeira_tui.demo.recorder", description=__doc__)
    parser.add_argument("folder", type=Path, help="the recording's folder")
    parser.add_argument("--episodes", type=int, default=None, help="stop when the recording holds so many")
    parser.add_argument("--every", type=float, default=12.0, metavar="S", help="seconds from episode to episode")
    parser.add_argument("--parent", type=int, default=os.getppid(), help="finish when this is no longer the parent")
    chosen = parser.parse_args(arguments)
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    record(
        chosen.folder,
        episodes=chosen.episodes,
        every_s=chosen.every,
        stop=stop,
        is_over=lambda: stop.is_set() or os.getppid() != chosen.parent,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
