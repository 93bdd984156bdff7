"""What an object store's refusal means, told by what is wrong: keys, region, endpoint, bucket, or the file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from noeira_tui.core.errors import DatasetError, DatasetFileError, NoeiraError
from noeira_tui.core.redact import plain_body, redact
from noeira_tui.datasets.localstore import missing
from noeira_tui.datasets.s3settings import S3Settings
from noeira_tui.datasets.webclient import Refusal, refuse_page

_BAD_KEYS = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired"}
_REGION = {
    "AuthorizationHeaderMalformed",
    "InvalidRegionName",
    "PermanentRedirect",
    "IllegalLocationConstraintException",
}


@dataclass(frozen=True)
class Fault:
    """The words of an S3 error document; empty where it was none."""

    code: str = ""
    message: str = ""
    region: str = ""


@dataclass(frozen=True)
class S3Fault:
    """Where a request went and with what."""

    bucket: str
    settings: S3Settings
    region: str
    used_keys: bool

    @property
    def place(self) -> str:
        return redact(self.settings.endpoint) if self.settings.endpoint else "Amazon S3"


def fault_of(answer: Refusal) -> Fault:
    """The error document of an answer."""
    text = answer.body.decode("utf-8", "replace")

    def field(name: str) -> str:
        found = re.search(rf"<{name}>([^<]{{0,400}})</{name}>", text)
        return found[1].strip() if found else ""

    return Fault(field("Code"), field("Message"), field("Region") or answer.headers.get("x-amz-bucket-region", ""))


def explain(answer: Refusal, fault: Fault, where: S3Fault, path: str) -> NoeiraError:
    """The error for a refusal."""
    if fault.code == "NoSuchBucket":
        return DatasetError(
            f"There is no bucket {where.bucket!r} on {where.place}.",
            title="No such bucket",
            hint=_endpoint_hint(where),
        )
    about_region = fault.code in _REGION or "region" in fault.message.lower()
    if about_region and answer.status in {301, 307, 400, 403}:
        return _wrong_region(fault, where, path)
    if answer.status == 404:
        return missing(path, f"s3://{where.bucket}")
    if answer.status in {401, 403}:
        return _denied(fault, where, path)
    page = _as_page(answer, path, where)
    if page is not None:
        return page
    said = fault.message or plain_body(answer.body.decode("utf-8", "replace"))
    words = f"{where.place} answers HTTP {answer.status}" + (f" {fault.code}" if fault.code else "")
    return DatasetFileError(
        f"{path or 'the object'}: {words}{f' ({redact(said)[:200]})' if said else ''}.",
        code="unreadable",
        file=path,
        hint=_endpoint_hint(where),
    )


def _wrong_region(fault: Fault, where: S3Fault, path: str) -> NoeiraError:
    told = f" It is in {fault.region!r}." if fault.region and fault.region != where.region else ""
    right = fault.region or ("auto" if ".r2." in (where.settings.endpoint or "") else "the bucket's region")
    return DatasetFileError(
        f"The bucket {where.bucket!r} on {where.place} refuses the region {where.region!r} "
        f"(from {where.settings.region_from}).{told} It said: {redact(fault.message)[:200] or fault.code}",
        code="denied",
        file=path,
        title="Wrong region",
        hint=f"Set AWS_REGION={right}." + (" For Cloudflare R2 it is `auto`." if right != "auto" else ""),
    )


def _denied(fault: Fault, where: S3Fault, path: str) -> NoeiraError:
    said = f"{fault.code}: {redact(fault.message)[:200]}" if fault.code else "no reason given"
    if not where.used_keys:
        message = (
            f"The bucket {where.bucket!r} on {where.place} is not public, and there are no credentials here ({said})."
        )
        hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE. " + _endpoint_hint(where)
    elif fault.code in _BAD_KEYS:
        message = (
            f"{where.place} does not accept the credentials from {where.settings.keys_from} ({said}); "
            f"without them the bucket {where.bucket!r} is not public."
        )
        hint = "Are they the keys of this store, and the secret right? " + _endpoint_hint(where)
    else:
        message = (
            f"The credentials from {where.settings.keys_from} may not read {path or 'it'} in the bucket "
            f"{where.bucket!r} on {where.place} ({said}); without them it is not public either."
        )
        hint = "Stores also answer so for a file that does not exist when the keys may not list the bucket."
    return DatasetFileError(message, code="denied", file=path, title="No access", hint=hint)


def _as_page(answer: Refusal, path: str, where: S3Fault) -> DatasetFileError | None:
    try:
        refuse_page(answer.body, answer.headers.get("content-type", ""), path)
    except DatasetFileError as err:
        return DatasetFileError(
            f"{where.place} answers with a web page: it is no S3 endpoint.",
            code=err.code,
            file=path,
            title=err.title,
            hint="AWS_ENDPOINT_URL wants the address of the store's API, not of its console.",
        )
    return None


def _endpoint_hint(where: S3Fault) -> str:
    if where.settings.endpoint is None:
        return "For another store than Amazon's (R2, MinIO), set AWS_ENDPOINT_URL."
    return f"Asked at AWS_ENDPOINT_URL={where.place}."
