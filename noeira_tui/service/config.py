"""What one service process is started with, and what it announces when it is ready.

Imports nothing heavy: the command line reads it before it knows whether the service's libraries are installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from noeira_tui.core.errors import ConfigError, MissingSettingError

DEFAULT_PORT = 8787
DEFAULT_BUCKET = "noeira"
MAX_EXPIRY_S = 7 * 24 * 3600
"""The longest a presigned URL may live (the S3 limit)."""

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

    `port` 0 takes a free one. `public_endpoint` is the object store's address as clients must see it, which is what a
    signature binds to. Expiries are in seconds, at most 7 days; sizes are in bytes.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    database_url: str | None = None
    s3_endpoint: str | None = None
    s3_bucket: str | None = None
    s3_region: str | None = None
    public_endpoint: str | None = None
    download_expiry_s: int = 24 * 3600
    upload_expiry_s: int = 6 * 3600
    max_body_bytes: int = 8 * 1024**2
    max_definition_bytes: int = 1024**2
    hash_up_to_bytes: int = 64 * 1024**2

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(
                f"The port {self.port} is not between 0 and 65535.", hint="Check --port; 0 takes a free one."
            )
        for name, seconds in (("download", self.download_expiry_s), ("upload", self.upload_expiry_s)):
            if not 1 <= seconds <= MAX_EXPIRY_S:
                raise ConfigError(f"A {name} URL lives from 1 second to 7 days, not {seconds} seconds.")
        for flag, address in (("--s3-endpoint", self.s3_endpoint), ("--public-endpoint", self.public_endpoint)):
            if address is not None and not address.startswith(("http://", "https://")):
                raise ConfigError(f"{flag} is {address!r}, which is no http(s) address.")
        if self.s3_endpoint is not None and not self.s3_bucket:
            raise ConfigError("An outside object store needs a bucket.", hint="Name it with --s3-bucket.")

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
