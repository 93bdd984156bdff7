"""What a store's refusals are told as: what the store said, and what somebody has to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from noeira_tui.service.storehttp import Answer
from noeira_tui.service.storerefusal import refusal


def error(code: str, more: str = "") -> bytes:
    return f"<?xml version='1.0'?><Error><Code>{code}</Code>{more}</Error>".encode()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(301, {"x-amz-bucket-region": "eu-central-1"}, b""), "--s3-region eu-central-1"),
        (Answer(400, {}, error("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")), "--s3-region eu-west-1"),
        (Answer(403, {"x-amz-bucket-region": "us-east-1"}, b""), "a rule of the bucket forbids it"),
        (Answer(403, {}, error("SignatureDoesNotMatch")), "AWS_SECRET_ACCESS_KEY"),
        (Answer(404, {}, error("NoSuchBucket")), "The bucket is not there any more"),
        (Answer(501, {}, error("NotImplemented")), "does not know such a request"),
        (Answer(200, {}, error("AccessDenied")), "a rule of the bucket forbids it"),
    ],
)
def test_what_stays_is_told_with_what_to_do(answer: Answer, told: str) -> None:
    err = refusal("copy", "bucket 'lab'", answer, "us-east-1")
    assert told in str(err) and not err.retryable


@pytest.mark.parametrize(
    "answer",
    [
        Answer(503, {}, error("SlowDown")),
        Answer(500, {"x-amz-bucket-region": "eu-central-1"}, b"<html>"),
        Answer(429, {}, b""),
        Answer(200, {}, error("InternalError")),
        Answer(400, {}, error("RequestTimeout")),
    ],
)
def test_what_may_pass_may_be_tried_again(answer: Answer) -> None:
    assert refusal("copy", "bucket 'lab'", answer, "us-east-1").retryable


@pytest.mark.parametrize(("minutes", "which"), [(90, "90 min behind"), (-20, "20 min ahead of")])
def test_a_clock_that_is_wrong_is_named(minutes: int, which: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
    err = refusal("HEAD bucket", "bucket 'lab'", Answer(403, {"date": date}, b""), "us-east-1")
    assert which in err.hint and not err.retryable


def test_a_date_that_is_none_tells_nothing_of_clocks() -> None:
    assert "clock" not in refusal("HEAD", "bucket", Answer(403, {"date": "tomorrow"}, b""), "us-east-1").hint


def test_what_the_store_said_is_kept_to_one_line() -> None:
    body = error("AccessDenied", "<Message>No,\n really \x1b[31mnot</Message>")
    assert "(AccessDenied: No, really [31mnot)" in str(refusal("GET", "bucket", Answer(403, {}, body), "auto"))
