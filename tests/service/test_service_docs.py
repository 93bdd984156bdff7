"""The service's pages and the files to deploy it say what is true."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from noeira_tui.cli.main import build
from noeira_tui.service.config import ENVIRONMENT_PREFIX, ServiceConfig
from tests.support.commandline import CommandLine
from tests.support.service_process import start

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted((CHECKOUT / "docs").glob("service*.md"))
DEPLOY = CHECKOUT / "deploy"
SETTINGS = (CHECKOUT / "docs" / "service-settings.md").read_text("utf-8")
NAMES = {f"{ENVIRONMENT_PREFIX}{one.name.upper()}": one for one in fields(ServiceConfig)}


def rows() -> dict[str, list[str]]:
    """The table of settings by variable."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in SETTINGS.splitlines()
        if line.startswith("| `")
    ]
    return {cells[0].strip("`"): cells for cells in lines}


@pytest.mark.parametrize("field", fields(ServiceConfig), ids=lambda field: field.name)
def test_every_setting_is_explained_with_its_default(field: Field[Any]) -> None:
    name = f"{ENVIRONMENT_PREFIX}{field.name.upper()}"
    assert name in rows(), f"{name} is in no row of docs/service-settings.md"
    _, flag, default, words = rows()[name]
    assert len(words) > 10
    if isinstance(field.default, int):
        assert default == f"`{field.default}`"
    elif field.default is not MISSING and field.default:
        assert str(field.default) in default
    if flag:
        assert flag == f"`--{field.name.replace('_', '-')}`"


def test_no_setting_is_made_up_and_every_flag_is_there() -> None:
    assert set(rows()) == set(NAMES)
    flags = {cells[1].strip("`") for cells in rows().values()} - {""}
    assert flags == {
        flag for flag in options("serve") if flag in {f"--{one.name.replace('_', '-')}" for one in NAMES.values()}
    }


def options(*command: str) -> set[str]:
    """The options of a command of ours."""
    import typer.main

    found: Any = typer.main.get_command(build())
    for word in command:
        found = found.commands[word]
    return {name for parameter in found.params for name in parameter.opts if name.startswith("--")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere_and_variables_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(rf"{ENVIRONMENT_PREFIX}[A-Z0-9_]+", text):
        assert name in NAMES, name


def test_every_command_of_the_first_page_runs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli = CommandLine(capsys)
    text = (CHECKOUT / "docs" / "service.md").read_text("utf-8").replace("~/noeira-service", str(root / "service"))
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines() if line.startswith("noeira-tui ")]
    assert len(lines) >= 8 and lines[0][1] == "serve"
    service = start(root / "service")
    try:
        for arguments in lines[1:]:
            ran = cli(*arguments[1:])
            assert ran.code == 0, (arguments, ran.err)
    finally:
        service.kill()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_of_a_command_in_the_pages_exists(page: Path) -> None:
    for line in re.findall(r"^noeira-tui serve.*(?:\\\n.*)*", page.read_text("utf-8"), re.MULTILINE):
        for flag in re.findall(r"--[a-z0-9-]+", line):
            assert flag in options("serve"), flag


def test_the_compose_file_names_real_settings_and_ready_files() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    catalog = compose["services"]["catalog"]
    environ = {name: "1" if name.endswith("WORKERS") else str(text) for name, text in catalog["environment"].items()}
    config = ServiceConfig.load(environ, data_dir=Path("/data"))
    assert not config.embedded and config.public_endpoint
    assert (DEPLOY / catalog["build"]["context"] / catalog["build"]["dockerfile"]).is_file()
    assert (DEPLOY / "Caddyfile").is_file()
    named = {volume.split(":")[0] for one in compose["services"].values() for volume in one.get("volumes", [])}
    assert {name for name in named if not name.startswith(".")} == set(compose["volumes"])
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    told = dict(re.findall(rf"({ENVIRONMENT_PREFIX}[A-Z_]+)=(\S+)", dockerfile))
    assert ServiceConfig.load(told).listens_everywhere


def test_the_environment_file_is_one_that_serve_takes() -> None:
    lines = (DEPLOY / "noeira-catalog.env").read_text().splitlines()
    told = dict(line.lstrip("#").split("=", 1) for line in lines if re.match(r"#?[A-Z0-9_]+=", line))
    assert ServiceConfig.load(told, data_dir=Path("d")).log_format == "json"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (
        (DEPLOY / "noeira-catalog.service")
        .read_text()
        .replace("/opt/noeira/bin/noeira-tui", shutil.which("true") or "")
    )
    (tmp_path / "noeira-catalog.service").write_text(unit.replace("User=noeira", "User=root"))
    ran = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "noeira-catalog.service"], capture_output=True, text=True
    )
    complaints = [line for line in ran.stderr.splitlines() if "noeira-catalog.service" in line]
    assert complaints == []
