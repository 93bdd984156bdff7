"""The service's pages and the files to deploy it say what is true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from noeira_tui.cli.main import build
from noeira_tui.service.config import ENVIRONMENT_PREFIX, ServiceConfig
from noeira_tui.service.database import Database
from tests.support.commandline import CommandLine
from tests.support.service_fixture import RunningService
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
    assert config.embedded and config.public_endpoint
    assert (DEPLOY / catalog["build"]["context"] / catalog["build"]["dockerfile"]).is_file()
    assert (DEPLOY / "Caddyfile").is_file()
    named = {volume.split(":")[0] for one in compose["services"].values() for volume in one.get("volumes", [])}
    assert {name for name in named if not name.startswith(".")} == set(compose["volumes"])
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    told = dict(re.findall(rf"({ENVIRONMENT_PREFIX}[A-Z_]+)=(\S+)", dockerfile))
    image = ServiceConfig.load(told)
    assert image.listens_everywhere
    ports = re.findall(r"reverse_proxy catalog:(\d+)", (DEPLOY / "Caddyfile").read_text())
    assert [int(port) for port in ports] == [image.port, image.store_port]
    assert re.findall(r"EXPOSE (.*)", dockerfile) == [" ".join(ports)]


def test_the_composed_database_has_a_connection_for_every_process() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    allowed = int(re.findall(r"max_connections=(\d+)", services["postgres"]["command"])[0])
    options = Database("postgresql://nobody@localhost/none")._options()
    each = options["pool_size"] + options["max_overflow"]
    assert (int(services["catalog"]["environment"]["NOEIRA_SERVICE_WORKERS"]) + 1) * each < allowed
    assert f"up to {each} connections" in (CHECKOUT / "docs" / "service-postgres.md").read_text("utf-8")


def test_the_compose_file_asks_for_every_secret_and_starts_nothing_without() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    variables = set(re.findall(r"\$\{(\w+)", text))
    assert variables == set(re.findall(r"\$\{(\w+):\?set \1\}", text)), "a variable that is not set stops it"
    assert not re.search(r"PASSWORD: +[^$]", text)
    caddy = (DEPLOY / "Caddyfile").read_text()
    assert set(re.findall(r"\{\$(\w+)\}", caddy)) <= set(yaml.safe_load(text)["services"]["proxy"]["environment"])
    targets = re.findall(r"reverse_proxy (\w+):", caddy)
    assert set(targets) <= set(yaml.safe_load(text)["services"])
    assert caddy.count("{") == caddy.count("}")


def test_the_image_is_built_from_files_that_are_there_and_starts_a_command_that_is() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    told = {line.split(" ", 1)[0]: line.split(" ", 1)[1].strip() for line in lines if line.strip()}
    assert set(told) == {
        "FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENV", "HEALTHCHECK", "ENTRYPOINT", "CMD",
    }  # fmt: skip
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    extras = re.findall(r"\[([\w,]+)\]", told["RUN"])[0].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])
    assert json.loads(told["ENTRYPOINT"])[0] in project["project"]["scripts"]
    assert "serve" in json.loads(told["CMD"]) and options("serve")
    kept = [line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((CHECKOUT / name).exists() for name in kept)
    needed = {"noeira_tui", "styles", "pyproject.toml", "constraints.txt", project["project"]["readme"]}
    assert needed | set(project["project"]["license-files"]) == set(kept)
    python = told["FROM"].partition(":")[2].partition("-")[0]
    assert f"Programming Language :: Python :: {python}" in project["project"]["classifiers"]


def test_the_health_check_of_the_image_tells_ready_from_not(catalog: RunningService) -> None:
    line = re.findall(r"CMD (\[\"python\".*\])", (DEPLOY / "Dockerfile").read_text())[0]
    program, *arguments = json.loads(line)
    assert program == "python"
    environ = {**os.environ, "no_proxy": "127.0.0.1"}
    for port, code in ((catalog.url.rpartition(":")[2], 0), ("1", 1)):
        words = [argument.replace("8787", port) for argument in arguments]
        assert subprocess.run([sys.executable, *words], capture_output=True, env=environ).returncode == code


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
