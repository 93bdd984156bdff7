"""The demo from start to end: embedded service, sample data, background recorder; all of it inside one folder."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from noeira_tui.core.dotenv import dotenv_line
from noeira_tui.core.errors import ConfigError
from noeira_tui.core.files import write_atomically
from noeira_tui.core.settings import API_KEY, CACHE, MAX_RATE, PROJECTS, ROOT, STATE, URL, Settings
from noeira_tui.demo import children
from noeira_tui.demo.scene import LIVE, CatalogUploads, build

RECORD_EVERY_S = 12.0
DEMO_RATE = "20MB"
"""Loopback is too fast to watch: pulls of the demo move this much a second."""

_NEEDED = ("av", "numpy", "pyarrow", "fastapi", "uvicorn", "sqlalchemy", "nanio")
_LOOK_EVERY_S = 0.5


@dataclass(frozen=True)
class DemoReady:
    """The running demo: the four lines to paste into a `.env`, and the environment for a child that uses it.

    `end_recording` ends the background recorder before the demo itself ends.
    """

    root: Path
    lines: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    end_recording: Callable[[], None] = field(repr=False)


def run_demo(
    data_dir: Path | None,
    announce: Callable[[DemoReady], None],
    stop: threading.Event,
    *,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Run until `stop` is set; `announce` is called once, when everything is there.

    `data_dir` keeps all that the demo makes and is used again next time; None takes a temporary folder that is removed
    at the end. Raises ConfigError without the extra `demo`, StateError when the service does not run, ServiceError or
    TransferError when the sample data cannot be placed.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"The demo needs packages that are not installed: {', '.join(missing)}.",
            hint="Install them with `pip install 'noeira-tui[demo]'`.",
        )
    tell = tell or _tell
    with _folder(data_dir) as folder:
        log = folder / "service.log"
        tell("starting the embedded service")
        with children.service(folder / "service", log, stop) as started:
            if started is None:
                return
            service, process = started
            settings = _write_settings(folder, service)
            if not _build(folder, service, tell, stop):
                return
            live = folder / "root" / "projects" / LIVE[0] / "datasets" / LIVE[1]
            with children.recorder(live, folder / "recorder.log", RECORD_EVERY_S) as recording:
                announce(_ready(folder, settings, partial(children.end, recording)))
                while not stop.wait(_LOOK_EVERY_S):
                    if process.poll() is not None:
                        raise children.died("The embedded service", process, log)


@contextmanager
def _folder(data_dir: Path | None) -> Iterator[Path]:
    if data_dir is None:
        temporary = Path(tempfile.mkdtemp(prefix="noeira-demo-"))
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return
    folder = Path.cwd() / data_dir.expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise ConfigError(f"{folder} cannot be made: {err.strerror or err}.", hint="Check --data-dir.") from err
    yield folder


def _write_settings(folder: Path, service: Mapping[str, str]) -> dict[str, str]:
    """Keep the demo's settings in `root/.env`, readable by the owner only, and return them."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    settings = {
        URL: service[URL],
        API_KEY: service[API_KEY],
        PROJECTS: str(root / "projects"),
        ROOT: str(root),
        STATE: str(folder / "state"),
        CACHE: str(folder / "cache"),
        MAX_RATE: DEMO_RATE,
    }
    text = "# Written by `noeira-tui demo`; transfers are slowed down so that they can be watched.\n"
    text += "".join(f"{dotenv_line(name, value)}\n" for name, value in settings.items())
    write_atomically(root / ".env", text.encode(), mode=0o600)
    return settings


def _build(folder: Path, service: Mapping[str, str], tell: Callable[[str], None], stop: threading.Event) -> bool:
    from noeira_tui.catalog.remote import RemoteCatalog

    root, staging = folder / "root", folder / "staging"

    def box(state: Path) -> RemoteCatalog:
        place = {URL: service[URL], API_KEY: service[API_KEY], ROOT: str(root), STATE: str(state)}
        # The settings file of this box's user says nothing about the demo.
        return RemoteCatalog(Settings.load(root=root, cwd=root, environ={**place, "XDG_CONFIG_HOME": str(staging)}))

    try:
        with box(folder / "state") as ours, box(staging / "state") as theirs:
            return build(root, CatalogUploads(ours, theirs), staging=staging, tell=tell, stop=stop)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _ready(folder: Path, settings: Mapping[str, str], end_recording: Callable[[], None]) -> DemoReady:
    shown = (URL, API_KEY, PROJECTS, ROOT)
    return DemoReady(
        root=folder / "root",
        lines=tuple(dotenv_line(name, settings[name]) for name in shown),
        environment={**os.environ, **settings},
        end_recording=end_recording,
    )


def _tell(text: str) -> None:
    sys.stderr.write(f"demo: {text}\n")
    sys.stderr.flush()
