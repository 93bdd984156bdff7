"""`python -m noeira_tui.jobs STATE_DIR JOB_ID`: a job's own process."""

from __future__ import annotations

import os
import sys


def main() -> int:
    if os.fork():
        # Nothing is imported before this point, so whoever started the job waits for a few milliseconds only.
        os._exit(0)

    from contextlib import suppress
    from datetime import datetime
    from pathlib import Path

    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.core.statedb import StateDb
    from noeira_tui.core.unwanted import refuse_unwanted
    from noeira_tui.jobs.runner import run_detached

    def say(line: str) -> None:
        # A full disk must not end the job, nor its heart, for a line of its log.
        with suppress(OSError):
            sys.stderr.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {line}\n")
            sys.stderr.flush()

    refuse_unwanted()
    try:
        return run_detached(StateDb(Path(sys.argv[1])), int(sys.argv[2]), say)
    except NoeiraError as err:
        say(str(err))
        return 1


if __name__ == "__main__":
    sys.exit(main())
