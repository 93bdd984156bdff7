"""Commands that need an extra say which one, instead of failing on an import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from noeira_tui.core.errors import ConfigError


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Turn the absence of a library into an error that names the extra which brings it. Raises ConfigError."""
    try:
        yield
    except ModuleNotFoundError as err:
        if err.name is None or err.name.split(".")[0] == "noeira_tui":
            raise
        raise ConfigError(
            f"{what} needs the package {err.name.split('.')[0]}, which is not installed.",
            title="Not installed",
            hint=f"pip install 'noeira-tui[{extra}]'",
        ) from err


def require(extra: str, what: str, *packages: str) -> None:
    """The same for packages that are not imported yet. Raises ConfigError."""
    with needs_extra(extra, what):
        for package in packages:
            if find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
