"""The S3 credentials of this box, and the calls that make one object out of parts.

Keys, profiles, roles, endpoints and signatures are botocore's; the bytes themselves go our own way, by presigned URLs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from noeira_tui.core.errors import NetworkError, NoeiraError, StorageRefusedError, TransferError
from noeira_tui.transfer.objectplace import ObjectPlace

if TYPE_CHECKING:
    from botocore.session import Session

_T = TypeVar("_T")
_URL_LIVES_S = 3600
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")


@dataclass(frozen=True)
class PartStored:
    """One part as the store confirmed it."""

    number: int
    etag: str


class BoxS3:
    """What this box may write with. `found_by` names the link of the credential chain."""

    def __init__(self, session: Session, found_by: str) -> None:
        self._session = session
        self.found_by = found_by

    def at(self, place: ObjectPlace, environ: Mapping[str, str] | None = None) -> ObjectInParts:
        """The calls for one object. Endpoint and region are those of the environment or the AWS configuration, else
        those of the place itself."""
        from botocore.config import Config

        environ = os.environ if environ is None else environ
        configured: dict[str, Any] = self._session.get_scoped_config()
        endpoint = (
            environ.get("AWS_ENDPOINT_URL_S3")
            or environ.get("AWS_ENDPOINT_URL")
            or configured.get("endpoint_url")
            or place.endpoint
        )
        region = environ.get("AWS_REGION") or self._session.get_config_variable("region") or place.region
        # Left to itself, botocore signs URLs for Amazon's global address, whatever the region.
        style = environ.get("AWS_S3_ADDRESSING_STYLE") or ("path" if endpoint else "virtual")
        client = self._session.create_client(
            "s3",
            region_name=region or "us-east-1",
            endpoint_url=endpoint,
            verify=environ.get("AWS_CA_BUNDLE") or environ.get("SSL_CERT_FILE") or None,
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": style},
                connect_timeout=10,
                # A store puts thousands of parts together before it answers.
                read_timeout=300,
                retries={"mode": "standard", "total_max_attempts": 4},
                # R2 and older stores refuse the checksums that newer SDKs add by themselves.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )
        return ObjectInParts(client, place, self.found_by)


def may_have_s3() -> bool:
    """Whether there are signs of S3 credentials on this box: variables, or the AWS tools' files. Nothing is asked."""
    named = (*_KEYS, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if any(os.environ.get(name) for name in named):
        return True
    files = (("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config"))
    return any(Path(os.environ.get(name) or usual).expanduser().is_file() for name, usual in files)


def find_box_s3() -> BoxS3 | None:
    """The credentials of this box by the usual chain; None without any.

    Raises TransferError for credentials that cannot be used.
    """
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError:
        named = next((name for name in _KEYS if os.environ.get(name)), None)
        if named is None:
            return None
        raise TransferError(
            f"{named} is set, but the S3 library that would use it is not installed.",
            hint="Install botocore beside noeira-tui, and push again.",
        ) from None
    session = Session()
    try:
        found = session.get_credentials()
    except BotoCoreError as err:
        raise TransferError(
            f"The AWS credentials of this box cannot be used: {err}.", hint="Check AWS_PROFILE and the files in ~/.aws."
        ) from err
    return None if found is None else BoxS3(session, str(found.method))


class ObjectInParts:
    """Begin, address, finish or abort one object that is uploaded in parts. May be shared between threads."""

    def __init__(self, client: Any, place: ObjectPlace, found_by: str) -> None:
        self._client = client
        self._found_by = found_by
        self.place = place
        self._object = {"Bucket": place.bucket, "Key": place.key}

    def begin(self) -> str:
        """The id of a new upload. Raises StorageRefusedError, NetworkError, TransferError."""
        answer = self._call(lambda: self._client.create_multipart_upload(**self._object))
        return str(answer["UploadId"])

    def part_url(self, upload_id: str, number: int) -> str:
        """Where to PUT a part; signed anew each time, so that it never is too old."""
        wanted = {**self._object, "UploadId": upload_id, "PartNumber": number}
        return self._call(
            lambda: str(
                self._client.generate_presigned_url(
                    "upload_part", Params=wanted, ExpiresIn=_URL_LIVES_S, HttpMethod="PUT"
                )
            )
        )

    def finish(self, upload_id: str, parts: list[PartStored]) -> None:
        """Make one object of the parts. Raises StorageRefusedError, NetworkError, TransferError."""
        listed = [{"PartNumber": part.number, "ETag": part.etag} for part in parts]
        self._call(
            lambda: self._client.complete_multipart_upload(
                **self._object, UploadId=upload_id, MultipartUpload={"Parts": listed}
            )
        )

    def abort(self, upload_id: str) -> NoeiraError | None:
        """Have the store forget the parts; what it answered when it would not."""
        try:
            self._call(lambda: self._client.abort_multipart_upload(**self._object, UploadId=upload_id))
        except TransferError as err:
            return err
        return None

    def _call(self, action: Callable[[], _T]) -> _T:
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

        where = f"s3://{self.place.bucket}/{self.place.key}"
        try:
            return action()
        except ClientError as err:
            status = int(err.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            told = err.response.get("Error", {})
            raise StorageRefusedError(
                f"{where} was answered {status} {told.get('Code', '')}: {told.get('Message') or 'no reason given'}.",
                status=status,
                hint=f"Check what the S3 credentials of this box ({self._found_by}) may do, and AWS_ENDPOINT_URL and "
                "AWS_REGION.",
                retryable=status in {429, 500, 502, 503, 504},
            ) from None
        except HTTPClientError as err:
            raise NetworkError(f"{where}: {err}.") from None
        except BotoCoreError as err:
            raise TransferError(f"{where}: {err}.", hint="Check the AWS settings of this box.") from None
