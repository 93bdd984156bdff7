"""`assets`: packs of meshes and textures that environments declare: what is here, where from, and put it there."""

from __future__ import annotations

import os.path
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noeira_tui.cli import livebar, shapes
from noeira_tui.cli.command import Cli, command, stoppable
from noeira_tui.cli.foreground import detached, foreground
from noeira_tui.cli.literal import literal
from noeira_tui.cli.output import CHECK_FAILED, state_text
from noeira_tui.cli.table import table
from noeira_tui.core.errors import CancelledError, ConfigError, PackError
from noeira_tui.core.paths import SEGMENT_RULE, absolute, is_segment
from noeira_tui.core.progress import CancelToken, Progress
from noeira_tui.core.quantity import show_duration, show_size
from noeira_tui.core.settings import API_KEY, URL
from noeira_tui.core.states import FAILS_CHECK, TO_FETCH, State, trouble_rank

if TYPE_CHECKING:
    from noeira_tui.assets.keep import CachedPack
    from noeira_tui.assets.packs import Packs
    from noeira_tui.assets.pull import PacksFailedError, PacksPulled
    from noeira_tui.assets.status import PackStatus

Filter = Annotated[
    str, typer.Argument(metavar="[FILTER]", help="Only assets.kv files whose path contains this.", show_default=False)
]


def app() -> typer.Typer:
    """The group."""
    group = typer.Typer(name="assets", help="Asset packs: meshes and textures declared in assets.kv files.")
    for name, function in (("status", status), ("pull", pull), ("where", where), ("cache", cache), ("pack", pack)):
        command(group, name)(function)
    return group


def status(
    cli: Cli,
    filter_text: Filter = "",
    verify: Annotated[bool, typer.Option("--verify", help="Hash every installed file.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit code 3 for anything missing, stale or broken.")] = False,
) -> int:
    """What every declared pack is on this box. 1 when a verification finds a changed file.

    Example: noeira-tui assets status --check || noeira-tui assets pull
    """
    packs = _packs(cli)
    states = packs.states(filter_text)
    if verify and states:
        states = _verified(cli, states)
    if cli.output.json:
        cli.output.data([shapes.pack(item) for item in states])
    else:
        _print_states(cli, states)
    found = {item.state for item in states}
    if check and FAILS_CHECK & found:
        return CHECK_FAILED
    return 1 if verify and State.MODIFIED in found else 0


def pull(
    cli: Cli,
    filter_text: Filter = "",
    force: Annotated[
        bool, typer.Option("--force", help="Fetch and install again, and replace files that were changed.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Go on as a job; prints its id.")] = False,
) -> int:
    """Fetch, verify and install what is declared and not here; one pack that fails does not stop the others.

    Example: noeira-tui assets pull envs/libero
    """
    from noeira_tui.assets.pull import PacksFailedError
    from noeira_tui.jobs.kinds import AssetsPull

    states = _packs(cli).states(filter_text)
    if not states:
        return _nothing_declared(cli, filter_text)
    work = AssetsPull.of(states, force=force)
    if detach:
        return detached(cli, work)
    try:
        _tell(cli, foreground(cli, work, f"pull {len(states)} packs" if len(states) > 1 else f"pull {states[0].title}"))
    except PacksFailedError as err:
        _tell(cli, err.outcome)
        if not cli.output.json:
            _tell_failed(cli, err)
        return 1
    return 0


def _tell_failed(cli: Cli, err: PacksFailedError) -> None:
    """Name what failed; why was told when it failed, but to those who wanted no narration."""
    failed = err.outcome.failed
    if not cli.output.quiet:
        cli.output.warn(f"{err.title}: {', '.join(literal(item.status.title) for item in failed)}")
        return
    for item in failed:
        cli.output.warn(f"{literal(item.status.title)} failed: {literal(item.error or '')}")
        if item.hint:
            cli.output.warn(f"  {literal(item.hint)}")


def where(cli: Cli, filter_text: Filter = "") -> int:
    """Where each pack comes from, which credential would be used, and whether a token is sent; never the token.

    Example: noeira-tui assets where
    """
    found = _packs(cli).where(filter_text)
    if cli.output.json:
        cli.output.data([shapes.pack_where(item) for item in found])
        return 0
    rows = [
        (
            literal(item.pack),
            item.provider,
            literal(item.locator),
            "none needed" if item.credential is None else literal(item.credential),
            literal(item.credential_source or ("" if item.credential is None else "not set")),
            "yes" if item.token_sent else "no",
            literal(item.note),
        )
        for item in found
    ]
    for line in table(("pack", "provider", "from", "credential", "found in", "token sent", ""), rows):
        cli.output.line(line)
    return 0


def cache(
    cli: Cli,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what nothing uses, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """What is cached, with size, last use and who links to it.

    Example: noeira-tui assets cache --prune --yes
    """
    packs = _packs(cli)
    held = packs.cached()
    if prune:
        return _prune(cli, packs, held, yes=yes)
    if cli.output.json:
        cli.output.data([shapes.cached_pack(item) for item in held])
        return 0
    _print_cache(cli, held)
    return 0


def pack(
    cli: Cli,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder whose files go into the pack.")],
    name: Annotated[str, typer.Option("--name", help="Name of the pack.")],
    version: Annotated[str, typer.Option("--version", help="Version of the pack.")] = "v1",
    push: Annotated[bool, typer.Option("--push", help="Put it into the catalog.")] = False,
) -> int:
    """Make NAME-VERSION.tar.zst of a folder, the same bytes for the same files, and print how to declare it.

    Example: noeira-tui assets pack meshes --name so101 --version v2 --push
    """
    from noeira_tui.assets.publish import make_pack
    from noeira_tui.jobs.kinds import CatalogPush

    for what, text in (("name", name), ("version", version)):
        if not is_segment(text):
            raise ConfigError(f"The {what} {text!r} cannot be used.", hint=f"A {what} is {SEGMENT_RULE}.")
    if push:
        # What a push lacks is told before a large folder is packed.
        cli.settings.require(URL)
        cli.settings.require(API_KEY)
    progress, cancel = Progress(), CancelToken()
    with stoppable(cancel), livebar.shown(cli.output, f"pack {name}@{version}", progress):
        made = make_pack(
            absolute(folder, cli.settings.cwd),
            cli.settings.cwd / f"{name}-{version}.tar.zst",
            name=name,
            version=version,
            progress=progress,
            cancel=cancel,
        )
    if push:
        foreground(cli, CatalogPush(str(made.path), name, version), f"push {made.id}")
    if cli.output.json:
        cli.output.data(shapes.made_pack(made, pushed=push))
        return 0
    cli.output.say(f"{literal(str(made.path))}  {made.files} files, {show_size(made.size_bytes)}")
    cli.output.line(made.stanza(pushed=push).rstrip("\n"))
    return 0


def _packs(cli: Cli) -> Packs:
    from noeira_tui.assets.packs import Packs

    return Packs(cli.settings, warn=lambda err: cli.output.say(f"warning: {literal(err.message)}"))


def _verified(cli: Cli, states: Sequence[PackStatus]) -> tuple[PackStatus, ...]:
    from noeira_tui.jobs.pack_kinds import AssetsVerify

    return foreground(cli, AssetsVerify.of(states), "verify packs").packs


def _nothing_declared(cli: Cli, filter_text: str) -> int:
    """Nothing to pull is fine; a filter that matches nothing is a slip that must not look like success."""
    if filter_text:
        raise PackError(
            f"No assets.kv below {cli.settings.root} has {filter_text!r} in its path.",
            title="Nothing matches",
            hint="`noeira-tui assets status` shows what is declared.",
        )
    if cli.output.json:
        cli.output.data([])
    cli.output.say(f"There is no assets.kv below {literal(str(cli.settings.root))}: nothing is declared.")
    return 0


def _print_states(cli: Cli, states: Sequence[PackStatus]) -> None:
    if not states:
        cli.output.line(f"No pack is declared below {literal(str(cli.settings.root))}.")
        return
    rows = [
        (
            literal(item.title),
            show_size(item.size_bytes),
            state_text(item.state),
            literal(os.path.relpath(item.dest, cli.settings.root)),
            literal(item.detail),
        )
        for item in sorted(states, key=lambda item: (trouble_rank(item.state), item.title))
    ]
    for line in table(("pack", "size", "state", "in", ""), rows, right=frozenset({1})):
        cli.output.line(line)
    cli.output.line()
    cli.output.line(totals(states))


def totals(states: Sequence[PackStatus]) -> str:
    """One line: `3 packs missing, 307 MB to fetch`."""
    counts = {state: sum(item.state is state for item in states) for state in (*TO_FETCH, *FAILS_CHECK, State.MODIFIED)}
    words = [
        f"{count} {'pack' if count == 1 else 'packs'} {state}"
        for state, count in sorted(counts.items(), key=lambda pair: trouble_rank(pair[0]))
        if count
    ]
    if not words:
        return "Every declared pack is here."
    fetch = sum(item.bytes_to_fetch for item in states)
    return ", ".join(words) + (f", {show_size(fetch)} to fetch" if fetch else "")


def _tell(cli: Cli, done: PacksPulled) -> None:
    if cli.output.json:
        cli.output.data([shapes.pulled_pack(item) for item in done.packs])
        return
    for item in done.packs:
        if item.error is not None:
            continue
        if item.linked or item.copied:
            moved = f"{show_size(item.bytes_transferred)} fetched, " if item.bytes_transferred else ""
            copied = f", {item.copied} copied" if item.copied else ""
            words = f"{moved}{item.linked} files linked{copied}"
        else:
            words = "nothing to do"
        cli.output.line(f"{literal(item.status.title)}  {state_text(item.status.state)}  {words}")


def _print_cache(cli: Cli, held: Sequence[CachedPack]) -> None:
    import time

    if not held:
        cli.output.line("Nothing is cached.")
        return
    rows = [
        (
            literal(", ".join(item.titles)) or ("unfinished" if item.is_leftover else item.sha256[:12]),
            show_size(item.size_bytes),
            str(item.files),
            f"{show_duration(time.time() - item.last_used_at)} ago",
            _users(item),
        )
        for item in held
    ]
    for line in table(("pack", "size", "files", "last used", "used by"), rows, right=frozenset({1, 2})):
        cli.output.line(line)


def _users(item: CachedPack) -> str:
    words = [literal(str(dest)) for dest in item.used_by]
    words += [f"{item.other_links} files linked from elsewhere"] if item.other_links else []
    words += ["a process at work"] if item.in_use else []
    words += ["the shared cache"] if item.is_shared else []
    return ", ".join(words) or "nothing"


def _prune(cli: Cli, packs: Packs, held: Sequence[CachedPack], *, yes: bool) -> int:
    going = [item for item in held if item.may_go]
    size = sum(item.size_bytes for item in going)
    if going and not yes:
        if not sys.stdin.isatty():
            raise ConfigError("Nobody can be asked: there is no terminal.", title="Needs a yes", hint="Add --yes.")
        things = "thing" if len(going) == 1 else "things"
        cli.output.warn(f"Remove {len(going)} {things} that nothing uses, {show_size(size)}? Type yes: ")
        if sys.stdin.readline().strip() != "yes":
            raise CancelledError("Nothing was removed.", title="Not confirmed")
    removed = packs.prune(going)
    freed = sum(item.size_bytes for item in removed)
    if cli.output.json:
        cli.output.data({"removed": [item.sha256 for item in removed], "bytes_freed": freed})
    else:
        kept = len(held) - len(removed)
        cli.output.line(f"{show_size(freed)} freed, {kept} kept." if going else "Nothing to remove.")
    return 0
