"""Reading and changing a `.env` file: python-dotenv's rules without interpolation; a line it cannot parse is an error.

Values such as `p@ss#w` and `a$b` survive as they are; a byte order mark and CRLF line ends are accepted.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.files import unwritable_hint, write_owner_only


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


def dotenv_line(name: str, value: str) -> str:
    """A line that a dotenv reader takes for exactly this value."""
    if re.fullmatch(r"[\w@%+=:,./~-]+", value, re.ASCII):
        return f"{name}={value}"
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name}='{quoted}'"


def changed_dotenv(text: str, values: Mapping[str, str], place: str) -> str:
    """Dotenv text with these values: lines that name them are replaced where they stand, others are added at the end.

    Comments and all other lines stay as they are. Raises ConfigError for text that cannot be parsed.
    """
    from dotenv.parser import parse_stream

    parse_dotenv(text, place)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    left = dict(values)
    kept: list[str] = []
    for binding in parse_stream(io.StringIO(text)):
        line = binding.original.string
        if binding.key in values:
            # The binding begins with the blank lines and comments before it.
            before = line[: len(line) - len(line.lstrip("\n"))]
            # A second line of the same name would win over the first: it goes.
            line = before + (f"{dotenv_line(binding.key, left.pop(binding.key))}\n" if binding.key in left else "")
        kept.append(line)
    changed = "".join(kept)
    if changed and not changed.endswith("\n"):
        changed += "\n"
    return changed + "".join(f"{dotenv_line(name, value)}\n" for name, value in left.items())


def write_dotenv(path: Path, values: Mapping[str, str]) -> None:
    """Put settings into a dotenv file, which is then readable by its owner only; a symbolic link stays one.

    Raises ConfigError when it cannot be read, parsed or written.
    """
    target = Path(os.path.realpath(path))
    try:
        text = target.read_bytes().decode("utf-8-sig") if target.exists() else ""
        write_owner_only(target, changed_dotenv(text, values, str(path)))
    except UnicodeDecodeError as err:
        raise ConfigError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from err
    except OSError as err:
        told = f"{path} cannot be written: {err.strerror or err}."
        raise ConfigError(told, hint=unwritable_hint(target, err)) from err
