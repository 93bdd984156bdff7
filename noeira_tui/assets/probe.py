"""Is anybody there? Each host is asked once, all at the same time, before packs are fetched from them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from noeira_tui.core.errors import NetworkError, NoeiraError
from noeira_tui.core.outages import in_words
from noeira_tui.core.redact import without_query

LIMIT_S = 0.8
"""A box without a network says so within a second."""


def unreachable(urls: Iterable[str], limit_s: float = LIMIT_S) -> dict[str, NoeiraError]:
    """The URLs whose host gives no connection, with the reason.

    A host that is only slow counts as one that does not answer while no other host answers either: with a network that
    works it gets its time later.
    """
    places: dict[str, tuple[str, int]] = {}
    for url in urls:
        place = _place(url)
        if place is not None:
            places[url] = place
    answers: dict[tuple[str, int], str] = {}
    threads = [
        threading.Thread(target=_knock, args=(place, answers, limit_s), name=f"probe-{place[0]}", daemon=True)
        for place in dict.fromkeys(places.values())
    ]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    told = dict(answers)
    is_online = "" in told.values()
    silent = f"no answer within {limit_s:.1f} s"
    failed: dict[str, NoeiraError] = {}
    for url, place in places.items():
        why = told.get(place, silent)
        if why and not (why == silent and is_online):
            failed[url] = NetworkError(
                f"{without_query(url)} cannot be fetched: {place[0]} gives {why}."
                if why == silent
                else f"{without_query(url)} cannot be fetched: {place[0]}: {why}.",
                title="No connection",
                hint="Check the network, then pull again; what is cached is installed without it.",
            )
    return failed


def _place(url: str) -> tuple[str, int] | None:
    """Host and port that a connection for a URL goes to: its own, or the proxy's."""
    from noeira_tui.transfer.dial import proxy_for

    try:
        parts = urlsplit(url)
        proxy = proxy_for(parts)
        if proxy is not None:
            parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        return (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    except ValueError:
        # No URL that could be asked; the fetch itself says what is wrong with it.
        return None


def _knock(place: tuple[str, int], answers: dict[tuple[str, int], str], limit_s: float) -> None:
    """Write down what a host answers: nothing is wrong, or why not. Silence is written down by nobody."""
    try:
        with socket.create_connection(place, timeout=limit_s):
            answers[place] = ""
    except TimeoutError:
        return
    except (OSError, UnicodeError) as err:
        answers[place] = in_words(err)
