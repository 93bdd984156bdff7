"""What every command has in common: its common options, its settings, its errors and exit codes."""

from __future__ import annotations

import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from noeira_tui.cli.output import Output
from noeira_tui.core.errors import CancelledError, NoeiraError
from noeira_tui.core.progress import CancelToken
from noeira_tui.core.settings import Settings

P = ParamSpec("P")

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
RootOption = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="Folder of .env, projects/, data/.", show_default=False),
]
EnvFileOption = Annotated[
    Path | None, typer.Option("--env-file", metavar="FILE", help="Read this file instead of .env.", show_default=False)
]
QuietFlag = Annotated[bool, typer.Option("--quiet", "-q", help="No narration on stderr.")]

_COMMON = {"json_": JsonFlag, "root": RootOption, "env_file": EnvFileOption, "quiet": QuietFlag}


class Cli:
    """One call of the command line: where its words go, and its settings, read when first needed."""

    def __init__(self, output: Output, root: Path | None, env_file: Path | None) -> None:
        self.output = output
        self.root = root
        self.env_file = env_file

    @cached_property
    def settings(self) -> Settings:
        """The settings of this call. Raises ConfigError."""
        return Settings.load(root=self.root, env_file=self.env_file)


def command(app: typer.Typer, name: str) -> Callable[[Callable[Concatenate[Cli, P], int | None]], None]:
    """Register a function as a command: it gets a `Cli` and its own options; the common options are added.

    What it returns is the exit code (None is 0). An error of ours is told and becomes its exit code.
    """

    def register(function: Callable[Concatenate[Cli, P], int | None]) -> None:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        common = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=_default(key), annotation=annotation)
            for key, annotation in _COMMON.items()
            if key not in {parameter.name for parameter in own}
        ]

        def call(**arguments: Any) -> None:
            cli = Cli(
                Output(arguments.pop("json_"), arguments.pop("quiet")), arguments.pop("root"), arguments.pop("env_file")
            )
            raise typer.Exit(_guarded(cli.output, lambda: function(cli, **arguments)))  # type: ignore[call-arg]

        keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        call.__signature__ = inspect.Signature([*keyword, *common])  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in [*keyword, *common]}
        call.__name__ = name
        call.__doc__ = function.__doc__
        call.__module__ = function.__module__
        app.command(name, no_args_is_help=False)(call)

    return register


def _default(key: str) -> bool | None:
    return False if key in {"json_", "quiet"} else None


def _guarded(output: Output, call: Callable[[], int | None]) -> int:
    try:
        return call() or 0
    except CancelledError as err:
        output.error(err)
        return err.exit_code
    except NoeiraError as err:
        output.error(err)
        return err.exit_code
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as err:
        # The last net: a fault of the file system that no package foresaw is still a sentence, not a traceback.
        where = f"{err.filename}: " if err.filename else ""
        output.error(NoeiraError(f"{where}{err.strerror or err}.", title="The system refused"))
        return 1
    except KeyboardInterrupt:
        output.error(CancelledError("Interrupted."))
        return 130


@contextmanager
def stoppable(cancel: CancelToken) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the work at its next chunk, so that what was transferred is kept; a second Ctrl-C stops
    at once. The exit codes are 130 and 143."""

    signals: list[int] = []

    def stop(signum: int, frame: FrameType | None) -> None:
        if cancel.is_cancelled and signum == signal.SIGINT:
            raise KeyboardInterrupt
        signals.append(signum)
        cancel.cancel()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except CancelledError as err:
        if signals:
            err.exit_code = 128 + signals[-1]
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
