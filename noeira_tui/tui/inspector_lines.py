"""What the inspector's sections say, as lines. Pure: facts and a width in, lines out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from noeira_tui.core.quantity import show_duration, show_size
from noeira_tui.tui import canvas, figures
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.inspector_actions import Section
from noeira_tui.tui.keys import with_keys
from noeira_tui.tui.text import Line, Piece, clean, clean_lines, cut, cut_line, cut_middle, fit, width_of, wrap

if TYPE_CHECKING:
    from noeira_tui.core.errors import NoeiraError
    from noeira_tui.datasets.facts import DatasetInfo, Episode, Feature, FeatureStats, Histogram, Problem

_NAMED_TASKS = 5
_LABEL = 13
_SHORT_LABEL = 9
_MIN_TASK = 16
"""In fewer cells a task says nothing: all of them begin alike."""


def section_bar(counts: Mapping[Section, str], active: Section, width: int, glyphs: Glyphs) -> Line:
    """The names of all sections with their keys and counts, as far as they fit; the active one has always its name."""

    def pieces(*, names: bool, told: bool, gap: str) -> list[Piece]:
        line: list[Piece] = []
        for section in Section:
            number = glyphs.key(f"inspector_{section.value}")
            name, count = section.value.capitalize(), counts.get(section, "")
            wrong = section is Section.PROBLEMS and count not in {"", "0"}
            shown = f" {count}" if count and (told or wrong or (not names and section is active)) else ""
            if section is active:
                line.append((f" {number} {name}{shown} ", "key"))
            else:
                line += [(f" {number}", "accent"), (f" {name}" if names else "", "quiet")]
                line.append((shown, "trouble" if wrong else "faint"))
            line.append((gap, ""))
        return line

    roomy, tight = ("  ", " "), (" ", "")
    for names, told, gaps in ((True, True, roomy), (True, False, tight), (False, True, tight), (False, False, tight)):
        for gap in gaps:
            line = pieces(names=names, told=told, gap=gap)
            if width_of(line) <= width:
                return tuple(line)
    return cut_line(pieces(names=False, told=False, gap=""), width, glyphs)


def _fact(label: str, value: str, width: int, look: str = "", *, label_width: int = _LABEL) -> list[Line]:
    parts = wrap(value, max(8, width - label_width))
    first: Line = ((label.ljust(label_width), "faint"), (parts[0], look))
    return [first, *(((" " * label_width, ""), (part, look)) for part in parts[1:])]


def summary(
    info: DatasetInfo, found: Sequence[Problem], size_bytes: int | None, width: int, glyphs: Glyphs
) -> list[Line]:
    """Format, counts, cameras, state, action, tasks."""
    version = f" ({clean(info.format_version, glyphs)})" if info.format_version else ""
    lines = _fact("format", f"{clean(info.format, glyphs)}{version}", width, "strong")
    if info.robot_type:
        lines += _fact("robot", clean(info.robot_type, glyphs), width)
    lines += _fact("episodes", _told(info.num_episodes), width)
    lines += _fact("frames", _told(info.total_frames), width)
    if info.fps:
        length = "" if info.total_frames is None else f" {glyphs.dot} {show_duration(info.total_frames / info.fps)}"
        lines += _fact("fps", f"{info.fps:g}{length}", width)
    if size_bytes is not None:
        lines += _fact("size", show_size(size_bytes), width)
    lines.append(())
    for number, camera in enumerate(info.cameras):
        shape = f"{camera.width or '?'}{_times(glyphs)}{camera.height or '?'} {camera.storage}"
        lines += _fact("" if number else "cameras", f"{clean(camera.name, glyphs)}  {shape}", width)
    if not info.cameras:
        lines += _fact("cameras", "none", width, "quiet")
    for label, features in (("observation", info.observation), ("action", info.action)):
        for number, feature in enumerate(features):
            lines += _fact(
                "" if number else label, f"{clean(feature.name, glyphs)}  {_type_of(feature, glyphs)}", width
            )
    lines.append(())
    for number, task in enumerate(info.tasks[:_NAMED_TASKS]):
        lines += _fact("" if number else "tasks", clean(task, glyphs), width)
    if len(info.tasks) > _NAMED_TASKS:
        lines += _fact(
            "", f"and {len(info.tasks) - _NAMED_TASKS:,} more: press {glyphs.key('inspector_tasks')}", width, "quiet"
        )
    if not info.tasks:
        lines += _fact("tasks", "none told", width, "quiet")
    lines += _fact("timestamps", "yes" if info.has_timestamps else "no", width, "quiet")
    if not info.streamed:
        lines += _fact("read", "It had to be downloaded whole: its format cannot be read in parts.", width, "attention")
    return [*lines, (), *_problem_hint(found, width, glyphs)]


def _problem_hint(found: Sequence[Problem], width: int, glyphs: Glyphs) -> list[Line]:
    if found:
        return _fact("problems", f"{len(found):,}: press {glyphs.key('inspector_problems')}", width, "trouble")
    told = f"none in the metadata; {glyphs.key('inspector_check')} compares rows and videos"
    return _fact("problems", told, width, "quiet")


def _told(count: int | None) -> str:
    return "not told" if count is None else f"{count:,}"


def _times(glyphs: Glyphs) -> str:
    return "x" if glyphs.is_ascii else "×"


def _type_of(feature: Feature, glyphs: Glyphs) -> str:
    shape = _times(glyphs).join(str(size) for size in feature.shape)
    return f"{clean(feature.dtype, glyphs)} [{shape}]" if shape else f"{clean(feature.dtype, glyphs)} scalar"


def features(info: DatasetInfo, width: int, glyphs: Glyphs) -> list[Line]:
    """Every feature: name, type, shape, names of its dimensions."""
    if not info.features:
        return [(("The dataset tells no features.", "quiet"),)]
    name_width = min(max(cell_len(clean(one.name, glyphs)) for one in info.features), max(12, width // 2))
    type_width = max(cell_len(_type_of(one, glyphs)) for one in info.features)
    lines: list[Line] = []
    for one in info.features:
        names = ", ".join(clean(name, glyphs) for name in one.names)
        head: Line = (
            (fit(clean(one.name, glyphs), name_width, glyphs), "strong"),
            ("  ", ""),
            (_type_of(one, glyphs).ljust(type_width), "accent"),
        )
        room = width - width_of(head) - 2
        if names and cell_len(names) <= room:
            lines.append((*head, (f"  {names}", "quiet")))
            continue
        lines.append(cut_line(head, width, glyphs))
        lines += [(("    ", ""), (part, "quiet")) for part in wrap(names, max(8, width - 4))] if names else []
    return lines


def tasks(told: Sequence[str], width: int, glyphs: Glyphs) -> list[Line]:
    """Every task with its number."""
    if not told:
        return said("The dataset tells no tasks.", width)
    digits = len(str(len(told) - 1))
    lines: list[Line] = []
    for number, task in enumerate(told):
        parts = wrap(clean(task, glyphs), max(8, width - digits - 2))
        lines.append(((f"{number:>{digits}}  ", "faint"), (parts[0], "")))
        lines += [((" " * (digits + 2), ""), (part, "")) for part in parts[1:]]
    return lines


def problems(found: Sequence[Problem], looked: Mapping[str, bool], width: int, glyphs: Glyphs) -> list[Line]:
    """Every problem with its code, file and field; then what was looked at so far."""
    lines: list[Line] = []
    for problem in found:
        where = cut_middle(clean(problem.file, glyphs), max(10, width - cell_len(problem.code) - 6), glyphs)
        field = f" {glyphs.dot} {clean(problem.field, glyphs)}" if problem.field else ""
        head: Line = ((f"{glyphs.warn} {clean(problem.code, glyphs)}", "trouble"), (f"  {where}", "strong"))
        lines.append(cut_line((*head, (field, "quiet")), width, glyphs))
        lines += [((("  " + part), ""),) for part in wrap(clean(problem.message, glyphs), max(8, width - 2))]
        lines.append(())
    if not found:
        lines += [((f"{glyphs.good} No problem was found.", "good"),), ()]
    lines.append((("Looked at", "faint"),))
    for what, done in looked.items():
        name, _, key = what.partition(": ")
        sign, look = (glyphs.good, "good") if done else (glyphs.none, "faint")
        lines.append(((f"  {sign} ", look), (name, "" if done else "quiet"), ("" if done else f"  {key}", "faint")))
    return lines


def statistics(stats: Sequence[FeatureStats], info: DatasetInfo | None, width: int, glyphs: Glyphs) -> list[Line]:
    """What the dataset keeps of each feature's dimensions, in columns."""
    if not stats:
        return [(("The dataset keeps no statistics.", "quiet"),)]
    names = {} if info is None else {one.name: one.names for one in info.features}
    # A camera's statistics are those of its channels; what its names tell are the axes of a picture.
    names |= {} if info is None else {camera.name: ("red", "green", "blue") for camera in info.cameras}
    rows: list[tuple[str, str, FeatureStats | None, int]] = []
    for one in stats:
        size = max(len(one.minimum), len(one.maximum), len(one.mean), len(one.std))
        if size <= 1:
            rows.append((clean(one.name, glyphs), "strong", one, 0))
            continue
        rows.append((clean(one.name, glyphs), "strong", None, 0))
        told = [clean(name, glyphs) for name in names.get(one.name, ())]
        labels = told if len(told) == size else [f"[{number}]" for number in range(size)]
        rows += [(f"  {label}", "quiet", one, number) for number, label in enumerate(labels)]
    label_width = min(max(cell_len(label) for label, _, figures_of, _ in rows if figures_of), max(8, width - 41))
    heads = "".join(f"{word:>10}" for word in ("min", "mean", "std", "max"))
    lines: list[Line] = [((" " * label_width, ""), (heads, "faint"))]
    for label, look, found, number in rows:
        if found is None:
            lines.append(((label, look),))
            continue
        cells = [_number_at(values, number, glyphs) for values in (found.minimum, found.mean, found.std, found.maximum)]
        figure = "".join(f"{cell:>10}" for cell in cells)
        lines.append(((fit(label, label_width, glyphs), look), (figure, "")))
    return lines


def _number_at(values: Sequence[float], number: int, glyphs: Glyphs) -> str:
    return canvas.number_text(values[number], 9) if number < len(values) else glyphs.none


_EIGHTHS = " ▏▎▍▌▋▊▉█"


_LONGEST_BAR = 96
"""Cells: on a very wide terminal the counts would be far from what they count."""


def lengths(histogram: Histogram, fps: float | None, width: int, glyphs: Glyphs) -> list[Line]:
    """How many episodes are how long, a bar a bin."""
    if not histogram.counts:
        return [(("No episode tells how long it is.", "quiet"),)]
    edges = histogram.edges
    times = [f"{edge / fps:.1f}" if fps else "" for edge in edges]
    labels = [(f"{edges[number]:,.0f}", f"{edges[number + 1]:,.0f}") for number in range(len(histogram.counts))]
    edge_width = max(cell_len(edge) for pair in labels for edge in pair)
    time_width = max(cell_len(time) for time in times)
    most, count_width = max(histogram.counts), len(f"{max(histogram.counts):,}")
    lead = edge_width * 2 + 3 + 2 + (time_width + 4 if fps else 0)
    room = max(4, min(_LONGEST_BAR, width - lead - count_width - 2))
    lines: list[Line] = [
        (("frames".ljust(edge_width * 2 + 3), "faint"), ("from s".rjust(time_width + 4) if fps else "", "faint"))
    ]
    for number, count in enumerate(histogram.counts):
        low, high = labels[number]
        span = f"{low.rjust(edge_width)} {glyphs.dash} {high.rjust(edge_width)}"
        time = f"{times[number].rjust(time_width)} s  " if fps else ""
        bar = _bar(count / most * room, glyphs)
        lines.append(
            ((span, "quiet"), (f"  {time}", "faint"), (bar, "bar"), (f" {count:,}" if count else "", "strong"))
        )
    return lines


def _bar(cells: float, glyphs: Glyphs) -> str:
    if glyphs.is_ascii:
        return glyphs.bar * (max(1, round(cells)) if cells else 0)
    eighths = max(1, round(cells * 8)) if cells else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def episode_head(digits: int, fps: float | None) -> Line:
    """The heads of the episodes' columns."""
    time = "     time" if fps else ""
    return ((f"{'':>{digits}}   frames{time}", "faint"),)


def episode_line(
    episode: Episode, digits: int, fps: float | None, width: int, glyphs: Glyphs, *, rejected: bool = False
) -> Line:
    """An episode in a row: number, frames, time, signs of rejected ones and of problems, tasks."""
    frames = glyphs.none if episode.length is None else f"{episode.length:,}"
    time = "" if not fps else glyphs.none if episode.length is None else f"{episode.length / fps:,.1f} s"
    tasks = "; ".join(clean(task, glyphs) for task in episode.tasks)
    pieces: list[Piece] = [
        (f"{episode.index:>{digits}}", "faint" if rejected else "strong"),
        (f" {frames:>8}", "faint" if rejected else ""),
        (f" {time:>8}" if fps else "", "faint" if rejected else "quiet"),
        (f" {glyphs.bad if rejected else glyphs.warn if episode.problems else ' '}", "trouble"),
    ]
    room = width - width_of(pieces) - 1
    if room >= _MIN_TASK:
        pieces.append((f" {cut(tasks, room, glyphs)}", "quiet"))
    return cut_line(pieces, width, glyphs)


def about(episode: Episode, fps: float | None, width: int, glyphs: Glyphs) -> list[Line]:
    """Everything the dataset tells of an episode."""
    time = "" if not fps or episode.length is None else f" {glyphs.dot} {episode.length / fps:,.2f} s"
    lines = _fact("frames", f"{_told(episode.length)}{time}", width, label_width=_SHORT_LABEL)
    for problem in episode.problems:
        lines += _fact("problem", clean(problem.message, glyphs), width, "trouble", label_width=_SHORT_LABEL)
    for number, task in enumerate(episode.tasks):
        lines += _fact("" if number else "task", clean(task, glyphs), width, label_width=_SHORT_LABEL)
    room = max(8, width - _SHORT_LABEL)
    files = [("data", cut_middle(clean(episode.data_file or glyphs.none, glyphs), room, glyphs), "quiet")]
    for camera, span in episode.videos.items():
        at = "" if span.from_s is None or span.to_s is None else f"  {span.from_s:.2f} {glyphs.dash} {span.to_s:.2f} s"
        name = cut_middle(clean(camera, glyphs), max(8, room - cell_len(at)), glyphs)
        files.append(("video", f"{name}{at}", "quiet"))
        files.append(("", cut_middle(clean(span.file, glyphs), room, glyphs), "faint"))
    return [*lines, *(((label.ljust(_SHORT_LABEL), "faint"), (value, look)) for label, value, look in files)]


def brief_episode(episode: Episode, fps: float | None, width: int, glyphs: Glyphs, *, rejected: bool = False) -> Line:
    """The highlighted episode in one line: what is wrong with it, else its task."""
    length = "" if episode.length is None else f" {glyphs.dot} {figures.count(episode.length, 'frame')}"
    time = "" if not fps or episode.length is None else f" {glyphs.dot} {episode.length / fps:,.1f} s"
    pieces: list[Piece] = [(f" episode {episode.index}", "strong"), (f"{length}{time}", "quiet")]
    if rejected:
        pieces.append((f"  {glyphs.bad} rejected", "trouble"))
    if episode.problems:
        pieces.append((f"  {glyphs.warn} {clean(episode.problems[0].message, glyphs)}", "trouble"))
    elif episode.tasks:
        pieces.append((f"  {'; '.join(clean(task, glyphs) for task in episode.tasks)}", ""))
    return cut_line(pieces, width, glyphs)


def error(
    failure: NoeiraError,
    width: int,
    glyphs: Glyphs,
    *,
    keys: str = "{inspector_again} reads again, {inspector_copy} copies this",
) -> list[Line]:
    """What could not be read, why, and what to do; `keys` names actions by their ids in braces."""
    lines: list[Line] = [((f"{glyphs.bad} {clean(failure.title, glyphs)}", "trouble"),), ()]
    for text in clean_lines(failure.message, glyphs):
        lines += [((part, ""),) for part in wrap(text, max(8, width))]
    if failure.hint:
        lines.append(())
        lines += [
            ((part, "quiet"),) for text in clean_lines(failure.hint, glyphs) for part in wrap(text, max(8, width))
        ]
    return [*lines, (), ((with_keys(keys, glyphs.own_keys), "faint"),)]


def error_text(failure: NoeiraError) -> str:
    """An error as text to copy."""
    parts = (clean(failure.title), *clean_lines(failure.message), *clean_lines(failure.hint))
    return "\n".join(part for part in parts if part)


def said(text: str, width: int, look: str = "quiet") -> list[Line]:
    """Words in lines."""
    return [((part, look),) for part in wrap(text, max(8, width))]


def fitted(lines: Iterable[Line], width: int, glyphs: Glyphs) -> list[Line]:
    """Lines in at most `width` cells."""
    return [cut_line(line, width, glyphs) for line in lines]


Paint = Callable[[int, int], Line]
