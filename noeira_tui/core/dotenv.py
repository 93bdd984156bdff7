"""Reading a `.env` file: python-dotenv's rules without interpolation, where a line it cannot parse is an error.

Values such as `p@ss#w` and `a$b` survive as they are; a byte order mark and CRLF line ends are accepted.
"""

from __future__ import annotations

import io
from pathlib import Path

from noeira_tui.core.errors import ConfigError


def read_dotenv(path: Path) -> dict[str, str]:
    """The settings of a dotenv file, name → value; names without `=` are left out.

    Raises ConfigError, naming file and line, for a file that cannot be read or a line that cannot be parsed.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as err:
        raise ConfigError(f"{path} cannot be read: {err.strerror or err}.") from err
    except UnicodeDecodeError as err:
        raise ConfigError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from err
    return parse_dotenv(text, str(path))


def parse_dotenv(text: str, place: str) -> dict[str, str]:
    """Parse dotenv text; `place` names it in errors."""
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"))):
        if binding.error:
            # The line's own text may be a key: only its number is shown. The binding
            # begins with the blank lines before it.
            text = binding.original.string
            line = binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")
            raise ConfigError(
                f"{place}, line {line}: not a `NAME=value` line.",
                hint="Put quotes round a value with spaces or quotes in it, or begin the line with # to skip it.",
            )
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values
