"""Following an archive's symbolic links by their text alone, inside its own tree, without touching the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from noeira_tui.assets.names import MAX_NAME_BYTES, refused

MAX_HOPS = 40


class LinkTree:
    """The files, folders and symbolic links of one archive, all as relative paths."""

    def __init__(self, files: frozenset[str], folders: frozenset[str], links: Mapping[str, str]) -> None:
        self._files = files
        self._folders = folders
        self._links = links
        self._below: dict[str, list[str]] = {}
        if links:
            for path in (*files, *folders, *links):
                self._below.setdefault(path.rpartition("/")[0], []).append(path)

    def names_for(self, link: str) -> Iterator[tuple[str, str | None]]:
        """The names that a link stands for, folders first: (name, file it means), None for a folder.

        Raises ArchiveError for one that leads out of the tree, nowhere, round in a circle, or into itself.
        """
        yield from self._names(link, self._resolve(link), (link.rpartition("/")[0],))

    def _names(self, name: str, target: str, around: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
        if len(name) > MAX_NAME_BYTES:
            raise refused(name, f"its name is longer than {MAX_NAME_BYTES} bytes")
        if target in self._files:
            yield name, target
            return
        yield name, None
        for child in self._below.get(target, ()):
            found = self._resolve(child) if child in self._links else child
            below = f"{name}/{child.rpartition('/')[2]}"
            yield from self._names(below, found, self._entered(child, found, (*around, target)))

    def _entered(self, path: str, target: str, around: tuple[str, ...]) -> tuple[str, ...]:
        if path in self._links:
            self._check_circle(path, target, around)
        return around

    def _check_circle(self, path: str, target: str, around: tuple[str, ...]) -> None:
        if target in self._files:
            return
        if any(not target or one == target or one.startswith(f"{target}/") for one in around):
            raise refused(path, "it links to a folder that it lies in")

    def _resolve(self, link: str) -> str:
        """The file or folder that a link leads to in the end."""
        ways = self._steps(self._links[link])
        here = link.split("/")[:-1]
        hops = 1
        while ways:
            step = ways.pop()
            if step == "..":
                if not here:
                    raise refused(link, f"it links to {self._links[link]!r}, out of the tree")
                here.pop()
                continue
            here.append(step)
            path = "/".join(here)
            if path in self._links:
                hops += 1
                if hops > MAX_HOPS:
                    raise refused(link, "it leads through too many other links")
                here.pop()
                ways.extend(self._steps(self._links[path]))
            elif path not in self._folders and (ways or path not in self._files):
                raise refused(link, f"it links to {self._links[link]!r}, which is not in the archive")
        found = "/".join(here)
        self._check_circle(link, found, (link.rpartition("/")[0],))
        return found

    def _steps(self, target: str) -> list[str]:
        """The segments of a target, last first."""
        return [step for step in reversed(target.split("/")) if step not in {"", "."}]
