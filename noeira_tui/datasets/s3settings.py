"""What the box says about S3: the environment first, then whatever the provider's own chain of credentials finds."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.sigv4 import S3Keys

# What makes it worth starting the SDK, which knows profiles, single sign-on, roles and instance metadata.
_CHAIN = (
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


@dataclass(frozen=True)
class S3Settings:
    """`endpoint` is None for Amazon itself, `keys` None for anonymous reading."""

    endpoint: str | None = None
    region: str = "us-east-1"
    region_from: str = "the default"
    keys: S3Keys | None = field(default=None, repr=False)
    keys_from: str = ""
    host_style: bool = False


def read_s3_settings(environ: Mapping[str, str] | None = None) -> S3Settings:
    """What to read with, by the names every S3 tool knows. Raises ConfigError for an endpoint that is no URL."""
    environ = os.environ if environ is None else environ
    profile = _profile(environ)
    endpoint = _first(environ, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")[0] or profile.get("endpoint_url")
    if endpoint is not None and not endpoint.startswith(("http://", "https://")):
        raise ConfigError(f"AWS_ENDPOINT_URL is {endpoint!r}, which is no http(s) address.")
    region, region_from = _first(environ, "AWS_REGION", "AWS_DEFAULT_REGION")
    if region is None and profile.get("region"):
        region, region_from = profile["region"], "the AWS configuration"
    if region is None:
        region = "auto" if endpoint is not None and ".r2.cloudflarestorage.com" in endpoint else "us-east-1"
        region_from = "the default"
    keys, keys_from = _keys(environ)
    return S3Settings(
        endpoint, region, region_from, keys, keys_from, environ.get("AWS_S3_ADDRESSING_STYLE") == "virtual"
    )


def _first(environ: Mapping[str, str], *names: str) -> tuple[str | None, str]:
    for name in names:
        if value := environ.get(name, "").strip():
            return value, name
    return None, ""


def _keys(environ: Mapping[str, str]) -> tuple[S3Keys | None, str]:
    access, secret = environ.get("AWS_ACCESS_KEY_ID", "").strip(), environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
    if access and secret:
        return S3Keys(access, secret, environ.get("AWS_SESSION_TOKEN", "").strip() or None), "AWS_ACCESS_KEY_ID"
    told = any(environ.get(name) for name in _CHAIN) or any(path.is_file() for path in _files(environ))
    return _from_chain() if told or _on_amazon() else (None, "")


def _from_chain() -> tuple[S3Keys | None, str]:
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        found = Session().get_credentials()
        frozen = None if found is None else found.get_frozen_credentials()
    except BotoCoreError as err:
        raise ConfigError(
            f"The AWS credentials of this box cannot be used: {err}.",
            hint="Check AWS_PROFILE and the files in ~/.aws, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        ) from err
    if found is None or frozen is None or not frozen.access_key or not frozen.secret_key:
        return None, ""
    return S3Keys(frozen.access_key, frozen.secret_key, frozen.token), f"the AWS chain ({found.method})"


def _on_amazon() -> bool:
    """Whether this box says that it is one of Amazon's, where a role may have been given to it."""
    for path in ("/sys/devices/virtual/dmi/id/sys_vendor", "/sys/devices/virtual/dmi/id/board_vendor"):
        try:
            if "amazon" in Path(path).read_text("utf-8", "replace").lower():
                return True
        except OSError:
            continue
    return False


def _files(environ: Mapping[str, str]) -> tuple[Path, Path]:
    home = Path(environ.get("HOME") or "~").expanduser() / ".aws"
    return (
        Path(environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / "credentials").expanduser(),
        Path(environ.get("AWS_CONFIG_FILE") or home / "config").expanduser(),
    )


def _profile(environ: Mapping[str, str]) -> dict[str, str]:
    """The chosen profile's section of the configuration file; empty where there is none that can be read."""
    name = environ.get("AWS_PROFILE") or environ.get("AWS_DEFAULT_PROFILE") or "default"
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(_files(environ)[1].read_text("utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return {}
    section = name if name == "default" else f"profile {name}"
    return dict(parser.items(section)) if parser.has_section(section) else {}
