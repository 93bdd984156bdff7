"""What the command line prints: stdout is data, stderr is narration. Formats and exit codes live here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from noeira_tui.cli.literal import literal
from noeira_tui.core.errors import NoeiraError
from noeira_tui.core.redact import redact
from noeira_tui.core.states import LOOKS, State, Tone

Json = Mapping[str, Any] | Sequence[Any]
"""A document for stdout; it is built in `cli.shapes` and goes no further."""

CHECK_FAILED = 3

_TONES = {Tone.GOOD: "32", Tone.QUIET: "2", Tone.ATTENTION: "33", Tone.TROUBLE: "31;1", Tone.LIVE: "35;1"}


@dataclass(frozen=True)
class Output:
    """Where a command's words go. With `json` stdout holds one JSON document and nothing else."""

    json: bool = False
    quiet: bool = False

    def data(self, document: Json) -> None:
        """Print the JSON document."""
        print_line(json.dumps(document))

    def line(self, text: str = "") -> None:
        """Print a line of data for a person."""
        print_line(text)

    def say(self, text: str) -> None:
        """Narrate on stderr, unless quiet."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Say something on stderr even when quiet."""
        sys.stderr.write(encodable(redact(text), sys.stderr) + "\n")
        sys.stderr.flush()

    def error(self, err: NoeiraError) -> None:
        """Tell an error: as JSON on stdout with `json`, else in words on stderr."""
        if self.json:
            self.data(
                {
                    "error": {
                        "title": err.title,
                        "message": redact(err.message),
                        "hint": err.hint,
                        "retryable": err.retryable,
                    }
                }
            )
            return
        self.warn(paint(f"{err.title}:", "31;1", sys.stderr) + " " + literal(redact(err.message)))
        if err.hint:
            self.warn("  " + literal(err.hint))


def print_line(text: str) -> None:
    sys.stdout.write(encodable(text, sys.stdout) + "\n")
    sys.stdout.flush()


def encodable(text: str, stream: TextIO) -> str:
    """Text as the stream's encoding can carry it: a C locale gets escapes instead of a crash."""
    encoding = stream.encoding or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def has_colour(stream: TextIO) -> bool:
    """Whether colour is wanted and possible on a stream."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, code: str, stream: TextIO) -> str:
    """`text` in an SGR colour where the stream shows colours."""
    return f"\x1b[{code}m{text}\x1b[0m" if has_colour(stream) else text


def state_text(state: State) -> str:
    """A state by symbol and word, in its tone's colour: `✗ missing`."""
    look = LOOKS[state]
    encoding = sys.stdout.encoding or "ascii"
    try:
        look.symbol.encode(encoding)
        symbol = look.symbol
    except UnicodeEncodeError:
        symbol = look.ascii
    return paint(f"{symbol} {state}", _TONES[look.tone], sys.stdout)
