"""What the details of one asset pack tell beyond its state: where from, with which credential, who shares its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from noeira_tui.core.errors import ConfigError
from noeira_tui.core.settings import Settings

if TYPE_CHECKING:
    from noeira_tui.assets.packs import Packs
    from noeira_tui.assets.records import Install
    from noeira_tui.assets.status import PackStatus
    from noeira_tui.assets.where import PackWhere


@dataclass(frozen=True)
class PackFacts:
    """`credential` names what a pull would use, None where nothing is needed; `credential_source` is where its value
    was found, None while it is not set; the token itself is nowhere. `note` says why it is not sent, or what is wrong.

    `linked` counts installed files that share their bytes with others on this disk, `copied` those that do not.
    `shared_with` are other places that have the same archive installed, `cached_in` the caches that hold it.
    """

    credential: str | None = None
    credential_source: str | None = None
    token_sent: bool = False
    note: str = ""
    linked: int = 0
    copied: int = 0
    shared_with: tuple[Path, ...] = ()
    cached_in: tuple[Path, ...] = ()


def pack_facts(status: PackStatus, settings: Settings) -> PackFacts:
    """The facts of a pack; no installed file is opened. An unusable `.env` or token is told in `note`."""
    from noeira_tui.assets.packs import Packs
    from noeira_tui.assets.records import real_dest

    packs = Packs(settings)
    noted = packs.installs.all()
    install = noted.get(real_dest(status.dest))
    linked, copied = _counts(install)
    caches = [cache for cache in (packs.cache, packs.shared) if cache is not None]
    where, trouble = _where(status, packs)
    return PackFacts(
        credential=where.credential if where else None,
        credential_source=where.credential_source if where else None,
        token_sent=where.token_sent if where else False,
        note=where.note if where else trouble,
        linked=linked,
        copied=copied,
        shared_with=tuple(
            sorted(one.dest for one in noted.values() if one.sha256 == status.sha256 and one is not install)
        ),
        cached_in=tuple(
            cache.packs / status.sha256
            for cache in caches
            if status.sha256 and (cache.packs / status.sha256 / "index.json").is_file()
        ),
    )


def _where(status: PackStatus, packs: Packs) -> tuple[PackWhere | None, str]:
    """Where a sound pack is fetched from; None, with a reason where there is one, for what cannot be."""
    from noeira_tui.assets.facts import Pack
    from noeira_tui.assets.where import pack_where

    for pack in packs.declared():
        if isinstance(pack, Pack) and (pack.manifest, pack.title, pack.dest) == (
            status.manifest,
            status.title,
            status.dest,
        ):
            try:
                return pack_where(pack, packs.settings), ""
            except ConfigError as err:
                return None, f"{err.title}: {err.message}"
    return None, ""


def _counts(install: Install | None) -> tuple[int, int]:
    """How many installed files have other names on this disk, and how many have not."""
    linked = copied = 0
    if install is None:
        return linked, copied
    for path in install.paths:
        try:
            found = os.lstat(f"{install.dest}/{path}")
        except OSError:
            continue
        linked, copied = (linked + 1, copied) if found.st_nlink > 1 else (linked, copied + 1)
    return linked, copied
