from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.core.presigned import FixedUrl, PresignedUrl
from noeira_tui.core.redact import MAX_BODY_CHARACTERS, plain_body, redact, without_query

SECRET = "5ecret0f5ecrets"
SIGNED = f"https://store.example.org/bucket/key.h5?X-Amz-Credential=AK&X-Amz-Signature={SECRET}"


@pytest.mark.parametrize(
    "text",
    [
        SIGNED,
        SIGNED.upper().replace(SECRET.upper(), SECRET),
        f"GET {SIGNED}: 403",
        f"Client error for url '{SIGNED}'",
        f'{{"upload_url": "{SIGNED}"}}',
        f"<a href={SIGNED}>",
        f"HTTPConnectionPool(host='h', port=80): Max retries exceeded with url: /b/k?X-Amz-Signature={SECRET}&x=1",
        f"https://h/it's a key?X-Amz-Date=1&X-Amz-Signature={SECRET}",
        f"X-Amz-Security-Token={SECRET}",
        f"https://h/k?x=%27'&Signature={SECRET}",
        f"http://user:{SECRET}@host/path",
        f"http://user:p@{SECRET}@host/path",
        f"http://{SECRET}@[::1]:80",
        f"Authorization: Bearer {SECRET}",
        f"{{'Authorization': 'bearer {SECRET}'}}",
        f'bearer "{SECRET}"',
        f"BEARER\t{SECRET}, and more",
        f"Illegal header value b'Bearer {SECRET}\\n'",
        f"NOEIRA_CLOUD_API_KEY={SECRET}",
        f"https://h/?api_key={SECRET}",
        f"two: {SIGNED} and http://a:{SECRET}@b",
        f"first line\n{SIGNED}\nlast line",
    ],
)
def test_a_secret_does_not_come_through(text: str) -> None:
    assert SECRET not in redact(text)
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://store.example.org/bucket/key.h5",
        "What is this? Nothing.",
        "a design=good token of thanks",
        "mail me@example.org about http://host/path",
        "the bearer",
        "path/with=equals and ? marks",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_host_path_and_the_rest_stay_readable() -> None:
    assert redact(f"PUT {SIGNED} failed: 403.") == "PUT https://store.example.org/bucket/key.h5?… failed: 403."
    assert redact("see https://u:p@h.org/x?y=a@b now") == "see https://h.org/x?… now"


_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
_TOKENS = st.text("ABCDEFabcdef0123456789%-_.~", min_size=12, max_size=40).map(lambda token: "SECRET" + token)


@given(_WORDS, _TOKENS, _WORDS)
def test_whatever_is_around_a_signature(before: str, token: str, after: str) -> None:
    assert token not in redact(f"{before}https://host/key?X-Amz-Signature={token} {after}")
    assert token not in redact(f"{before} /key?X-Amz-Signature={token}&{after}")


@given(_WORDS, _TOKENS, _WORDS)
def test_whatever_is_around_a_bearer_token(before: str, token: str, after: str) -> None:
    assert token not in redact(f"{before} Bearer {token} {after}")


@given(_WORDS, _TOKENS, st.text("abc:@!$", max_size=10))
def test_whatever_is_around_a_password(before: str, token: str, more: str) -> None:
    assert token not in redact(f"{before} http://user:{token}{more}@host/x")


@given(_WORDS)
def test_to_redact_twice_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def test_without_query() -> None:
    assert without_query(SIGNED) == "https://store.example.org/bucket/key.h5"
    assert without_query(f"https://u:{SECRET}@h/x?y") == "https://h/x"


def test_a_page_becomes_its_first_words() -> None:
    page = "<html><head><title>x</title></head><body><h1>502 &amp; Bad</h1>\n<script>var a;</script> Gateway</body>"
    assert plain_body(page) == "502 & Bad Gateway"
    assert len(plain_body("word " * 1000)) == MAX_BODY_CHARACTERS


def test_a_secret_at_the_cut_does_not_come_through() -> None:
    text = "x" * (MAX_BODY_CHARACTERS - 30) + f" http://user:{SECRET}@host.example.org/path"
    assert SECRET[:8] not in plain_body(text)


@pytest.mark.parametrize("piece", ["<script>", "<", "http://", "bearer ", "<a ", "http://a@"])
def test_a_hostile_body_costs_no_more_than_a_moment(piece: str) -> None:
    began = time.process_time()
    plain_body((piece * 20_000)[:20_000])
    assert time.process_time() - began < 2.0


def test_a_presigned_url_hides_itself() -> None:
    presigned = PresignedUrl(SIGNED)
    assert SECRET not in f"{presigned!r} {presigned} {FixedUrl(presigned)!r}"
