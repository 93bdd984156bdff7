"""Where in an object store an upload belongs, and the commands of other tools that reach the same place."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

_AMAZON = ".amazonaws.com"


@dataclass(frozen=True)
class ObjectPlace:
    """One object: `endpoint` is None for Amazon itself, or where it cannot be told from the URL; so is `region`."""

    bucket: str
    key: str
    endpoint: str | None = None
    region: str | None = None

    @classmethod
    def behind(cls, url: str, bucket: str, key: str) -> ObjectPlace:
        """The place that a presigned URL leads to: what its signature was made for says endpoint and region."""
        parts = urlsplit(url)
        scope = parse_qs(parts.query).get("X-Amz-Credential", [""])[0].split("/")
        region = scope[2] if len(scope) == 5 else None
        host, path = parts.netloc.rpartition("@")[2], unquote(parts.path)
        endpoint: str | None = None
        if path.endswith(f"/{bucket}/{key}"):
            endpoint = f"{parts.scheme}://{host}{path.removesuffix(f'/{bucket}/{key}')}"
        elif host.startswith(f"{bucket}."):
            endpoint = f"{parts.scheme}://{host.removeprefix(f'{bucket}.')}"
        amazon = (parts.hostname or "").endswith(_AMAZON)
        return cls(bucket, key, None if amazon else endpoint, region)

    def commands(self, path: Path) -> tuple[str, str]:
        """The `aws` and `rclone` commands that put a file there, given credentials; for a shell."""
        file, target = shlex.quote(str(path)), shlex.quote(f"s3://{self.bucket}/{self.key}")
        aws = f"aws s3 cp {file} {target}"
        remote = f":s3,provider={'Other' if self.endpoint else 'AWS'},env_auth"
        if self.region is not None:
            aws += f" --region {shlex.quote(self.region)}"
            remote += f",region={self.region}"
        if self.endpoint is not None:
            aws += f" --endpoint-url {shlex.quote(self.endpoint)}"
            remote += f',endpoint="{self.endpoint}"'
        # Without a check of the bucket: keys that may only write objects may not look at it, let alone make it.
        rclone = f"rclone copyto --s3-no-check-bucket {file} {shlex.quote(f'{remote}:{self.bucket}/{self.key}')}"
        return aws, rclone
