"""Where the style sheets are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path


def style_sheet(name: str) -> Path:
    """The path of a style sheet, such as `main.tcss`."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "styles" / name
    return installed if installed.is_file() else package.parent / "styles" / name
