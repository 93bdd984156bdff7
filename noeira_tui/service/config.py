"""What one service process is started with, and what it announces when it is ready.

Imports nothing heavy: the command line reads it before it knows whether the service's libraries are installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from noeira_tui.core.errors import ConfigError, MissingSettingError

DEFAULT_PORT = 8787
DEFAULT_BUCKET = "noeira"
MAX_EXPIRY_S = 7 * 24 * 3600
"""The longest a presigned URL may live (the S3 limit)."""

ENVIRONMENT_PREFIX = "NOEIRA_SERVICE_"
"""Every field of ServiceConfig can be set by a variable: this and the field's name in capitals."""

STYLES = ("path", "host")
LOG_FORMATS = ("text", "json")
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True)
class StoreKeys:
    """The key pair of an object store; the secret does not show in `repr()`."""

    access_key: str
    secret_key: str = field(repr=False)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> StoreKeys:
        """The pair of an outside store. Raises MissingSettingError naming the variable that is absent or empty."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            if not environ.get(name, "").strip():
                raise MissingSettingError(
                    name,
                    f"{name} is not set, or empty, and presigning for an outside object store needs it. "
                    "Looked in the environment.",
                    hint="Export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY before `noeira-tui serve`.",
                )
        return cls(environ["AWS_ACCESS_KEY_ID"].strip(), environ["AWS_SECRET_ACCESS_KEY"].strip())


@dataclass(frozen=True)
class ServiceConfig:
    """How to run the service. Without `s3_endpoint` it runs an object store of its own below `data_dir`.

    `port` 0 takes a free one; so does `store_port`, that of the embedded store, which keeps it. `public_endpoint` is
    the object store's address as clients must see it, which is what a signature binds to. `s3_style` says where the
    bucket's name goes: into the path, or before the host. Expiries are in seconds, at most 7 days; sizes are in
    bytes. `rate_limit` is requests a second of one API key, `rate_burst` how many may come at once; 0 is no limit.
    `proxies` are addresses whose `X-Forwarded-*` headers are believed.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    store_port: int = 0
    workers: int = 1
    database_url: str | None = field(default=None, repr=False)
    s3_endpoint: str | None = None
    s3_bucket: str | None = None
    s3_region: str | None = None
    s3_style: str = "path"
    public_endpoint: str | None = None
    proxies: str = "127.0.0.1"
    log_format: str = "text"
    download_expiry_s: int = 24 * 3600
    upload_expiry_s: int = 6 * 3600
    rate_limit: int = 1000
    rate_burst: int = 5000
    wrong_keys_per_minute: int = 1200
    max_body_bytes: int = 8 * 1024**2
    max_definition_bytes: int = 1024**2
    max_object_bytes: int = 5 * 1024**4
    max_account_bytes: int = 0
    max_datasets: int = 100_000
    max_projects: int = 10_000
    max_recordings: int = 10_000
    max_files: int = 200_000
    max_revisions: int = 10_000
    max_definitions: int = 1000
    hash_up_to_bytes: int = 5 * 1024**4
    audit_days: int = 365

    @classmethod
    def load(cls, environ: Mapping[str, str], **flags: Any) -> ServiceConfig:
        """The configuration from flags (None is absent), else the environment, else the defaults.

        Raises ConfigError naming a variable that is no setting, or whose value is none.
        """
        known = {f"{ENVIRONMENT_PREFIX}{one.name.upper()}": one for one in fields(cls)}
        told: dict[str, Any] = {}
        for name in sorted(environ):
            if not name.startswith(ENVIRONMENT_PREFIX):
                continue
            if name not in known:
                raise ConfigError(f"{name} is no setting of the service.", hint="docs/service-settings.md lists them.")
            if environ[name].strip():
                told[known[name].name] = _parsed(name, environ[name].strip(), str(known[name].type))
        return cls(**told | {name: value for name, value in flags.items() if value is not None})

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(
                f"The port {self.port} is not between 0 and 65535.", hint="Check --port; 0 takes a free one."
            )
        if not 0 <= self.store_port <= 65535 or self.store_port == self.port != 0:
            raise ConfigError(
                f"The embedded store cannot have the port {self.store_port}.",
                hint=f"{ENVIRONMENT_PREFIX}STORE_PORT is another one than the service's; 0 takes a free one.",
            )
        if not 1 <= self.workers <= 64:
            raise ConfigError(f"The service runs with 1 to 64 workers, not {self.workers}.", hint="Check --workers.")
        for name, seconds in (("download", self.download_expiry_s), ("upload", self.upload_expiry_s)):
            if not 1 <= seconds <= MAX_EXPIRY_S:
                raise ConfigError(f"A {name} URL lives from 1 second to 7 days, not {seconds} seconds.")
        for flag, address in (("--s3-endpoint", self.s3_endpoint), ("--public-endpoint", self.public_endpoint)):
            if address is not None and not address.startswith(("http://", "https://")):
                raise ConfigError(f"{flag} is {address!r}, which is no http(s) address.")
        for flag, value, allowed in (
            ("--s3-style", self.s3_style, STYLES),
            ("--log-format", self.log_format, LOG_FORMATS),
        ):
            if value not in allowed:
                raise ConfigError(f"{flag} is {value!r}; it is one of {', '.join(allowed)}.")
        if self.s3_endpoint is not None and not self.s3_bucket:
            raise ConfigError("An outside object store needs a bucket.", hint="Name it with --s3-bucket.")
        if self.embedded and self.s3_style != "path":
            raise ConfigError("The embedded object store has path-style addresses only.", hint="Leave out --s3-style.")
        for one in fields(self):
            if isinstance(value := getattr(self, one.name), int) and value < 0:
                raise ConfigError(f"{one.name} is {value}; it cannot be less than 0.")

    @property
    def embedded(self) -> bool:
        """Whether the service runs its own object store."""
        return self.s3_endpoint is None

    @property
    def bucket(self) -> str:
        return self.s3_bucket or DEFAULT_BUCKET

    @property
    def region(self) -> str:
        """The region a signature names: `auto` for R2, which refuses every other one, else `us-east-1`."""
        if self.s3_region:
            return self.s3_region
        return "auto" if ".r2.cloudflarestorage.com" in (self.s3_endpoint or "") else "us-east-1"

    @property
    def resolved_database_url(self) -> str:
        return self.database_url or database_url_of(self.data_dir)

    @property
    def listens_everywhere(self) -> bool:
        """Whether it listens on all addresses, so that only a request tells which one its client can reach."""
        return self.host in _WILDCARDS


def _parsed(name: str, text: str, kind: str) -> Any:
    if kind == "int":
        if not text.isascii() or not text.lstrip("-").isdigit() or len(text) > 18:
            raise ConfigError(f"{name} is {text!r}; it is a whole number.")
        return int(text)
    return Path(text) if kind == "Path" else text


def database_url_of(data_dir: Path) -> str:
    """The address of the service's own SQLite database below a data folder."""
    return f"sqlite:///{data_dir.absolute() / 'service.db'}"


@dataclass(frozen=True)
class ServiceReady:
    """A running service: its address, the file and the two lines a client pastes, and where the bytes are kept.

    `store_secret` is the file that holds the embedded store's secret key (field `secret_key`), None for an outside
    store, whose key pair comes from the environment.
    """

    url: str
    client_env: Path
    lines: tuple[str, str] = field(repr=False)
    store_endpoint: str
    bucket: str
    store_access_key: str
    store_secret: Path | None
