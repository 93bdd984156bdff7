"""`noeira-tui`: the app without a command, else the command line. Only what the call needs is imported."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one call and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        from noeira_tui import __version__

        sys.stdout.write(f"noeira-tui {__version__}\n")
        return 0
    if all(argument == "--read-only" for argument in arguments):
        # No command library on the way to the app: it must be on the screen at once.
        from noeira_tui.cli.openapp import open_app

        return open_app(read_only=bool(arguments))
    from noeira_tui.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
