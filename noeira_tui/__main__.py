"""`noeira-tui`: the app without a command, else the command line. Only what the call needs is imported."""

from __future__ import annotations

import os
import sys

from noeira_tui.core.unwanted import refuse_unwanted


def main(arguments: list[str] | None = None) -> int:
    """Run one call and return its exit code. Whoever reads its output may be gone: that is 1, never a traceback."""
    if arguments is None:
        # A process of our own, and no call from another program.
        refuse_unwanted()
        arguments = sys.argv[1:]
    _fill_closed_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        # While the command was still being imported.
        return 130
    except OSError as err:
        # Neither the result nor even an error could be told, as on a full disk.
        _silence_stdout()
        if not isinstance(err, BrokenPipeError):
            sys.stderr.write(f"The system refused: {err.strerror or err}.\n")
        return 1
    return code


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from noeira_tui import __version__

        sys.stdout.write(f"noeira-tui {__version__}\n")
        return 0
    # A shell that asks for completions gives its words in the environment, and no arguments.
    if "_NOEIRA_TUI_COMPLETE" not in os.environ and all(argument == "--read-only" for argument in arguments):
        # No command library on the way to the app: it must be on the screen at once.
        from noeira_tui.cli.openapp import open_app

        return open_app(read_only=bool(arguments))
    from noeira_tui.cli.main import run

    return run(arguments)


def _fill_closed_streams() -> None:
    """Give a call that was started with `>&-` or `2>&-` somewhere to write to."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123  for the rest of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123


def _silence_stdout() -> None:
    """Keep the interpreter from complaining about unwritten output at exit."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123


if __name__ == "__main__":
    sys.exit(main())
