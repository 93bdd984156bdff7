"""The web page: who gets in, what it shows, and that it gives an attacker nothing."""

from __future__ import annotations

import hashlib
import html
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.service_browser import Browser, chromium, running_browser
from tests.support.service_client import Caller
from tests.support.service_fixture import RunningService

ODD = "<script>alert(1)</script> & {{ 7 * 7 }} \"' é→"


@pytest.fixture
def visitor(catalog: RunningService) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=catalog.url, verify=False, timeout=30) as client:
        yield client


def log_in(visitor: httpx.Client, key: str, **more: str) -> httpx.Response:
    form = visitor.get("/ui/login").text
    (token,) = re.findall(r'name="token" value="([^"]+)"', form)
    return visitor.post("/ui/login", data={"key": key, "token": token}, headers=more)


def test_without_a_key_there_is_only_the_form(visitor: httpx.Client) -> None:
    for path in ("/ui", "/ui/datasets/a-v1", "/ui/projects/a", "/ui/projects/a/b"):
        answer = visitor.get(path)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/ui/login")
    visitor.cookies.set("noeira_key", "nk_made_up")
    assert visitor.get("/ui").status_code == 303


def test_logging_in_and_out(catalog: RunningService, visitor: httpx.Client) -> None:
    refused = log_in(visitor, "nk_made_up")
    assert refused.status_code == 401 and "not a valid API key" in refused.text
    key = catalog.new_key("read")
    entered = log_in(visitor, key)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/ui")
    cookie = next(one for one in entered.headers.get_list("Set-Cookie") if one.startswith("noeira_key="))
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/ui" in cookie and "Secure" not in cookie
    page = visitor.get("/ui")
    assert page.status_code == 200 and key not in page.text
    (token,) = re.findall(r'name="token" value="([^"]+)"', page.text)
    assert visitor.post("/ui/logout", data={"token": token}).headers["Location"] == "/ui/login"
    assert visitor.get("/ui").status_code == 303


def test_a_revoked_key_is_out_at_once(catalog: RunningService, visitor: httpx.Client) -> None:
    facts, key = catalog.keys.create("visitor", "read")
    log_in(visitor, key)
    assert visitor.get("/ui").status_code == 200
    catalog.keys.revoke(facts.id)
    assert visitor.get("/ui").status_code == 303


def test_behind_a_proxy_with_tls_the_cookie_is_secure(catalog: RunningService, visitor: httpx.Client) -> None:
    entered = log_in(visitor, catalog.new_key("read"), **{"X-Forwarded-Proto": "https"})
    assert "Secure" in next(one for one in entered.headers.get_list("Set-Cookie") if one.startswith("noeira_key="))


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}]
)
def test_a_form_of_another_site_is_refused(
    catalog: RunningService, visitor: httpx.Client, headers: dict[str, str]
) -> None:
    assert log_in(visitor, catalog.new_key("read"), **headers).status_code == 403
    assert visitor.get("/ui").status_code == 303


def test_a_form_without_the_cookies_token_is_refused(catalog: RunningService, visitor: httpx.Client) -> None:
    key = catalog.new_key("read")
    assert visitor.post("/ui/login", data={"key": key}).status_code == 403
    visitor.get("/ui/login")
    for token in ("", "x" * 43, "é"):
        assert visitor.post("/ui/login", data={"key": key, "token": token}).status_code == 403
    assert visitor.post("/ui/login", content=b"x" * 10_000).status_code == 413
    assert visitor.post("/ui/logout").status_code == 403


def test_every_page_forbids_what_it_does_not_need(catalog: RunningService, visitor: httpx.Client) -> None:
    log_in(visitor, catalog.key)
    for path in ("/ui", "/ui/login", "/ui/datasets/nothing", "/docs"):
        answer = visitor.get(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src" not in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "same-origin"
        assert "<script" not in answer.text and "style=" not in answer.text


def test_the_pages_change_nothing(catalog: RunningService, visitor: httpx.Client) -> None:
    log_in(visitor, catalog.key)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/ui", "/ui/datasets/a-v1", "/ui/projects/a", "/ui/projects/a/b"):
            assert visitor.request(method, path).status_code == 405
    # The cookie opens the pages only.
    assert visitor.get("/datasets").status_code == 401


def test_names_are_shown_literally(catalog: RunningService, call: Caller, visitor: httpx.Client, name: str) -> None:
    call.push(name, b"data", env_id=ODD, source_commit=ODD, seed=7)
    call.put(f"/projects/{name}", json={"description": ODD})
    log_in(visitor, catalog.key)
    for path in (f"/ui/datasets/{name}-v1", f"/ui/projects/{name}", "/ui"):
        text = visitor.get(path).text
        assert "<script" not in text and "alert(1)" in html.unescape(text) and "{{ 7 * 7 }}" in html.unescape(text)


def test_a_key_of_one_project_sees_only_that(
    catalog: RunningService, call: Caller, visitor: httpx.Client, name: str
) -> None:
    call.push(name, b"data")
    for slug in (name, f"{name}x"):
        call.put(f"/projects/{slug}")
        call.put(f"/projects/{slug}/datasets/cubes", json={})
    log_in(visitor, catalog.new_key("read", project=name))
    overview = visitor.get("/ui").text
    assert name in overview and f"{name}x" not in overview and f"{name}-v1" not in overview
    for path in (f"/ui/projects/{name}x", f"/ui/projects/{name}x/cubes", f"/ui/datasets/{name}-v1"):
        answer = visitor.get(path)
        assert answer.status_code == 404 and "There is no" in answer.text
    assert visitor.get(f"/ui/projects/{name}/cubes").status_code == 200


def test_nothing_of_another_account_is_shown(
    catalog: RunningService, call: Caller, visitor: httpx.Client, name: str
) -> None:
    from noeira_tui.service.accounts import AccountStore

    accounts = AccountStore(catalog.config.resolved_database_url)
    accounts.create(name)
    accounts.close()
    call.push(name, b"data")
    call.put(f"/projects/{name}")
    log_in(visitor, catalog.keys.create("other", "admin", account=name)[1])
    assert name not in visitor.get("/ui").text
    for path in (f"/ui/datasets/{name}-v1", f"/ui/projects/{name}"):
        assert visitor.get(path).status_code == 404


def test_the_curl_line_fetches_the_bytes(
    catalog: RunningService, call: Caller, visitor: httpx.Client, name: str, tmp_path: Path
) -> None:
    data = os.urandom(100_000)
    call.push(name, data, filename="walker.tar.zst")
    log_in(visitor, catalog.key)
    page = visitor.get(f"/ui/datasets/{name}-v1").text
    (line,) = re.findall(r'<pre id="curl">(.*?)</pre>', page, re.DOTALL)
    subprocess.run(
        ["sh", "-c", html.unescape(line)],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        env={**os.environ, "NOEIRA_CLOUD_API_KEY": catalog.key},
    )
    assert (tmp_path / f"{name}-v1.tar.zst").read_bytes() == data


def test_the_documentation_names_every_route(catalog: RunningService, nobody: httpx.Client) -> None:
    page = nobody.get("/docs")
    assert page.status_code == 200
    for path, operations in nobody.get("/openapi.json").json()["paths"].items():
        for method in operations:
            assert f"<code>{method.upper()} {html.escape(path)}</code>" in page.text


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("there is no Chromium here")
    with running_browser() as browser:
        yield browser


def test_in_a_real_browser(catalog: RunningService, call: Caller, browser: Browser, name: str, tmp_path: Path) -> None:
    """From the form to a dataset, a project, a recording and out again, with mouse and keyboard."""
    data = b"walker" * 1000
    call.push(name, data, seed=7, source_commit="081b53c0", env_id="<b>Walker</b>")
    call.register(f"{name}-never")
    call.put(f"/projects/{name}", json={"description": "towers"})
    recording = f"/projects/{name}/datasets/cubes"
    call.put(recording, json={"n_episodes": 3, "n_frames": 1234, "fps": 30})
    call.send_file(recording, "data/a.parquet", data)
    call.send_file(recording, "meta/info.json", b"{}")

    browser.open(f"{catalog.url}/ui")
    assert browser.address == "/ui/login"
    browser.type("#key", "nk_wrong")
    browser.click("main button")
    assert "not a valid API key" in browser.text()
    browser.type("#key", catalog.new_key("read"))
    browser.click("main button")
    assert browser.address == "/ui" and name in browser.text()
    assert browser.value("document.cookie") == "", "no script may read the key"
    assert browser.value("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"

    browser.click(f"a[href='/ui/datasets/{name}-v1']")
    seen = browser.text()
    assert hashlib.sha256(data).hexdigest() in seen and "seed 7 @ 081b53c0" in seen and "<b>Walker</b>" in seen
    assert "✓ ready" in seen and "curl -fL" in seen
    browser.open(f"{catalog.url}/ui/datasets/{name}-never-v1")
    assert "‼ pending" in browser.text() and "curl" not in browser.text()

    browser.open(f"{catalog.url}/ui")
    browser.click(f"a[href='/ui/projects/{name}']")
    assert "towers" in browser.text() and "1,234" in browser.text()
    browser.click(f"a[href='/ui/projects/{name}/cubes']")
    seen = browser.text()
    assert "data/a.parquet" in seen and "revision 1" in seen
    browser.picture(tmp_path / "recording.png")
    assert (tmp_path / "recording.png").read_bytes().startswith(b"\x89PNG")

    browser.click("header button")
    assert browser.address == "/ui/login"
    browser.open(f"{catalog.url}/ui")
    assert browser.address == "/ui/login"
    assert [words for words in browser.complaints if "401" not in words and "favicon" not in words] == []
    assert all(url.startswith(catalog.url) for url in browser.requested), "nothing is loaded from elsewhere"


def test_another_site_cannot_use_the_cookie(catalog: RunningService, browser: Browser, tmp_path: Path) -> None:
    """A page elsewhere that frames the catalog or sends its form gets the login page, or nothing."""
    browser.open(f"{catalog.url}/ui/login")
    browser.type("#key", catalog.key)
    browser.click("main button")
    assert browser.address == "/ui"
    elsewhere = tmp_path / "evil.html"
    elsewhere.write_text(
        f'<form method="post" action="{catalog.url}/ui/logout"><input name="token"><button>Win</button></form>'
        f'<iframe src="{catalog.url}/ui"></iframe>'
    )
    browser.open(elsewhere.as_uri())
    browser.click("button")
    assert "came from another site" in browser.text()
    browser.open(f"{catalog.url}/ui")
    assert browser.address == "/ui", "still logged in"
