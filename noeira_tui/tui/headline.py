"""The lines around the lists: the header, the titles with their counts, the answer to "safe to destroy?"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noeira_tui.core.errors import UnreachableError
from noeira_tui.core.states import LOOKS, TO_FETCH, State
from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.rows import Place
from noeira_tui.tui.text import Line, Piece, clean, cut, short_path, width_of

if TYPE_CHECKING:
    from noeira_tui.overview.picture import Overview, ServiceView

_COUNTED = (State.MISSING, State.INVALID, State.DIVERGED, State.STALE, State.PARTIAL, State.RECORDING, State.UNKNOWN)
"""States that a title counts, worst first; at most two are named."""

TITLES = {Place.PROJECTS: "Projects", Place.CATALOG: "Catalog", Place.PACKS: "Packs", Place.JOBS: "Jobs"}


def header(
    overview: Overview | None,
    rates: tuple[float, float],
    *,
    looking: bool,
    glyphs: Glyphs,
    width: int,
    replaced: bool = False,
) -> tuple[Line, Line]:
    """The left and the right part of the first line; less of it when it is narrow.

    `rates` are the bytes a second that come in and go out; `replaced` tells that the program is another one on disk.
    """
    sep: Piece = (f" {glyphs.dot} ", "faint")
    left: list[Piece] = [(" noeira ", "key"), (" ", "")]
    right: list[Piece] = []
    if overview is not None:
        left.append((cut(clean(overview.box, glyphs), 32, glyphs), "strong"))
        if width >= 100:
            left += [sep, (_place(overview, glyphs), "quiet")]
        told = service(overview.service, glyphs)
        # How fast the service answers gives way to how fast the jobs are.
        left += [sep, *(told if width >= 100 or not all(rates) else told[:2])]
        if overview.free_bytes is not None:
            right.append((f"{figures.size(overview.free_bytes, glyphs)} free", ""))
    else:
        left.append((f"looking at this box {glyphs.ellipsis}" if looking else "no look at this box yet", "quiet"))
    for sign, rate in zip((glyphs.down, glyphs.up), rates, strict=True):
        if rate > 0:
            right += [("  ", ""), (f"{sign} {figures.rate(rate, glyphs)}", "accent")]
    if looking and overview is not None and width >= 70:
        right = [("looking" + glyphs.ellipsis + "  ", "faint"), *right]
    if replaced:
        right = [("updated: restart it  ", "attention"), *right]
    return tuple(left), (*right, (" ", ""))


def _place(overview: Overview, glyphs: Glyphs) -> str:
    return cut(clean(short_path(overview.root), glyphs), 40, glyphs)


def service(view: ServiceView, glyphs: Glyphs) -> Line:
    """The service in a few words: its host, and whether and how fast it answers."""
    if view.url is None:
        return (("no service configured", "attention"),)
    # Not parsed: what is no URL is shown as well.
    host = cut(clean(view.url, glyphs).split("://", 1)[-1].rstrip("/"), 40, glyphs)
    if view.reachable is None:
        return ((host, ""), (f" {glyphs.bullet}", "faint"), (f" asking{glyphs.ellipsis}", "faint"))
    if view.reachable:
        latency = "" if view.latency_ms is None else f" {view.latency_ms:.0f} ms"
        return ((host, ""), (f" {glyphs.bullet}", "good"), (latency, "quiet"))
    return ((host, ""), (f" {glyphs.bullet} {_trouble(view, glyphs)}", "trouble"))


_OFFLINE = "offline"


def _trouble(view: ServiceView, glyphs: Glyphs) -> str:
    """What is wrong with the service in a word or two: no answer is `offline`, a refusal is named."""
    title = clean(view.error_title or "", glyphs)
    return _OFFLINE if title in {"", UnreachableError.title} else title[:1].lower() + title[1:]


@dataclass(frozen=True)
class TitleStyle:
    """How much a title says: `brief` counts with symbols, and at most `counts` states."""

    brief: bool = False
    counts: int = 2


def title(
    place: Place, census: Mapping[State, int], *, active: bool, glyphs: Glyphs, style: TitleStyle, extra: str = ""
) -> Line:
    """`2 Catalog · 5 · 1 missing`, the worst counts in their colours; briefly `2 Catalog 5 ✗1`.

    `census` says how many rows there are of each state; `extra` is said instead of their number.
    """
    pieces: list[Piece] = [
        (glyphs.key(place.value), "accent" if active else "faint"),
        (f" {TITLES[place]}", "strong" if active else "quiet"),
    ]
    sep: Piece = (" ", "") if style.brief else (f" {glyphs.dot} ", "faint")
    number_of = sum(census.values())
    total = extra or (f"{number_of:,}" if number_of else "")
    if total:
        pieces += [sep, (total, "quiet")]
    worst = [state for state in _COUNTED if census.get(state)][: style.counts]
    for state in worst:
        told = f"{glyphs.state(state)}{census[state]:,}" if style.brief else f"{census[state]:,} {state.value}"
        pieces += [sep, (told, LOOKS[state].tone.value)]
    return tuple(pieces)


def status(overview: Overview | None, *, glyphs: Glyphs, width: int, problem: str = "") -> tuple[Line, Line]:
    """Is it safe to destroy this box? In words on the left; on the right what there is to fetch.

    `problem` is why it could not be looked at.
    """
    if overview is None and problem:
        return ((f" {glyphs.warn} Whether it is safe to destroy is not known", "trouble"), (" ", "")), (
            (glyphs.key("refresh"), "accent"), (" looks again ", "quiet"),
        )  # fmt: skip
    if overview is None:
        return ((f" Looking{glyphs.ellipsis}", "quiet"),), ()
    right = _to_fetch(overview, glyphs)
    if overview.safe_to_destroy:
        safe: Piece = (f" {glyphs.good} Safe to destroy", "good")
        whys = (
            ("the service holds everything that is here", "the service holds it all")
            if overview.has_anything
            else ("nothing is here that could be lost", "nothing is here to lose")
        )
        room = width - width_of((safe,)) - width_of(right) - 4
        why = whys[0] if len(whys[0]) <= room else whys[1]
        return (safe, (f" {glyphs.dot} {why}", "quiet")), right
    unsent = overview.totals.bytes_unsent
    amount = f" {glyphs.dot} {figures.size(unsent, glyphs)} not sent" if unsent else ""
    left: list[Piece] = [(f" {glyphs.warn} Not safe to destroy", "trouble"), (amount, "attention")]
    room = width - width_of(left) - width_of(right) - 6
    reasons = overview.unsafe_because
    told = ""
    for index, reason in enumerate(reasons):
        # One after the other: there may be thousands, of which a few have room.
        reason = clean(reason, glyphs)
        rest = len(reasons) - index - 1
        more = f" {glyphs.dot} {rest:,} more" if rest else ""
        longer = f"{told} {glyphs.dot} {reason}" if told else reason
        if len(longer) + len(more) > room:
            told += f" {glyphs.dot} {rest + 1:,} more" if told else ""
            break
        told = longer
    if not told and reasons:
        told = (
            cut(clean(reasons[0], glyphs), room, glyphs)
            if room >= 30 and len(reasons) == 1
            else f"{figures.count(len(reasons), 'reason')}: {glyphs.key('unsent')}"
        )
    if told:
        left.append((f" {glyphs.dot} {told}", "quiet"))
    return tuple(left), right


def _to_fetch(overview: Overview, glyphs: Glyphs) -> Line:
    totals = overview.totals
    if not totals.bytes_to_fetch:
        return ()
    return ((f"{glyphs.down} {figures.size(totals.bytes_to_fetch, glyphs)} to fetch ", "attention"),)


def banner(view: ServiceView, now: float, glyphs: Glyphs, *, brief: bool = False) -> tuple[Line, ...]:
    """What the catalog says on top of its rows when they are not from now, and what to do; nothing when they are.

    Briefly, it is one line without the whole reason.
    """
    if view.url is None or view.reachable is not False:
        return ()
    if brief:
        trouble = _trouble(view, glyphs)
        age = "" if view.answer_at is None else f", as of {figures.ago(view.answer_at, now)}"
        key, does = (
            (glyphs.key("refresh"), " asks again")
            if trouble == _OFFLINE
            else (glyphs.key("service"), " gives another key")
        )
        return (
            (
                (f"{glyphs.warn} {trouble}{age}", "trouble"),
                (f" {glyphs.dot} ", "faint"),
                (key, "accent"),
                (does, "quiet"),
            ),
        )
    # Whose the trouble is stands in the header.
    error = clean((view.error or "no answer").rpartition(" cannot be reached: ")[2].rstrip("."), glyphs)
    trouble = _trouble(view, glyphs)
    service: Piece = (glyphs.key("service"), "accent")
    hint: list[Line] = [((clean(view.hint, glyphs), "faint"),)] if view.hint else []
    if trouble == _OFFLINE:
        if view.answer_at is not None:
            hint = []  # above the rows of an earlier answer there is no room for all of it
        again: Piece = (glyphs.key("refresh"), "accent")
        offers: Piece = (" gives another address or starts a service here", "quiet")
        hint.append((again, (" asks again, ", "quiet"), service, offers))
    else:
        # It answered, and will not answer otherwise to this address and key.
        hint.append((service, (" gives another key or address", "quiet")))
    if view.answer_at is None:
        return (((f"{glyphs.warn} {trouble}: ", "trouble"), (error, "quiet")), *hint)
    age = f", as of {figures.ago(view.answer_at, now)}"
    return (((f"{glyphs.warn} {trouble}{age}", "trouble"), (f" {glyphs.dot} {error}", "quiet")), *hint)


_NEEDED = (State.MISSING, State.PARTIAL, State.STALE, State.INVALID, State.MODIFIED)


def packs_banner(overview: Overview, glyphs: Glyphs) -> tuple[Line, ...]:
    """On top of the packs when any is not whole: `3 packs missing, 307 MB to fetch`, and the key."""
    census = Counter(pack.state for pack in overview.packs)
    words = [
        f"{figures.count(census[state], 'pack')} {state.value}" if not index else f"{census[state]} {state.value}"
        for index, state in enumerate(state for state in _NEEDED if census[state])
    ]
    if not words:
        return ()
    fetch = sum(pack.bytes_to_fetch for pack in overview.packs)
    if fetch:
        words.append(f"{figures.size(fetch, glyphs)} to fetch")
    mends = any(census[state] for state in TO_FETCH)
    how: Line = (
        ((f" {glyphs.dot} ", "faint"), (glyphs.key("pull_packs"), "accent"), (" pulls", "quiet")) if mends else ()
    )
    return (((f"{glyphs.warn} {', '.join(words)}", "trouble"), *how),)


def empty(
    place: Place, overview: Overview | None, needle: str, glyphs: Glyphs, *, problem: str = ""
) -> tuple[Line, ...]:
    """What a list without rows says, with what to do next; `problem` is why there is nothing to show: the jobs could
    not be read, or the box not be looked at.

    Lines are wrapped by the list.
    """
    if problem:
        what = "The jobs cannot be read: " if place is Place.JOBS else "This box cannot be looked at: "
        return (((what, "attention"), (clean(problem, glyphs), "quiet")),)
    if overview is None:
        return (((f"Looking{glyphs.ellipsis}", "quiet"),),)
    if needle:
        return (
            (("Nothing matches ", "quiet"), (clean(needle, glyphs), "strong")),
            ((f"{glyphs.key('back')} clears the filter", "faint"),),
        )
    if place is Place.PROJECTS:
        return (
            (("No projects yet.", "quiet"),),
            (
                (
                    clean(
                        f"A folder in {overview.projects_dir} with a project.kv, or with recordings, shows here.",
                        glyphs,
                    ),
                    "faint",
                ),
            ),
        )
    if place is Place.CATALOG:
        return _empty_catalog(overview, glyphs)
    if place is Place.PACKS:
        return (
            (("No asset packs declared.", "quiet"),),
            (("Packs named in an assets.kv below this folder show here.", "faint"),),
        )
    keys = f"{glyphs.key('pull')} pulls and {glyphs.key('push')} pushes what is highlighted."
    return ((("No jobs. ", "quiet"), (keys, "faint")),)


def _empty_catalog(overview: Overview, glyphs: Glyphs) -> tuple[Line, ...]:
    if overview.service.url is None:
        return (
            (("No service is configured.", "attention"),),
            ((glyphs.key("service"), "accent"), (" connects this box to one, or starts one here.", "quiet")),
            (("Or put these two lines into .env:", "quiet"),),
            ((f"NOEIRA_CLOUD_URL=https://{glyphs.ellipsis}", "accent"),),
            ((f"NOEIRA_CLOUD_API_KEY={glyphs.ellipsis}", "accent"),),
            (("as noeira-tui serve prints them.", "quiet"),),
        )
    if overview.service.reachable is False:
        told = "No dataset of an earlier answer is remembered."
        return (((told, "quiet"),), ((f"{glyphs.key('refresh')} asks again.", "faint"),))
    return (
        (("The catalog is empty.", "quiet"),),
        ((f"Put a file into data/ and press {glyphs.key('push')} to push it, or:", "faint"),),
        (("noeira-tui catalog push PATH --name N", "accent"),),
    )
