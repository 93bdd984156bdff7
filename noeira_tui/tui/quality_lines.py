"""What the quality screen says of a catalog's episodes, as lines. Pure: facts and a width in, lines out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from noeira_tui.episodes.flags import FLAGS, METRICS, Metrics
from noeira_tui.tui import figures
from noeira_tui.tui.glyphs import Glyphs
from noeira_tui.tui.quality_table import BINS, TOP_SCORE, Sort
from noeira_tui.tui.text import Line, Piece, clean, cut, cut_line, cut_middle, fit, short_path, width_of, wrap

if TYPE_CHECKING:
    from noeira_tui.episodes.facts import EpisodeInfo

GOOD_FROM, FAIR_FROM = 7.0, 5.0
"""Scores from which an episode is shown as good, and as fair; only colours depend on them."""

_PERCENT = frozenset({"dead_fraction", "overall_saturation", "static_fraction", "psd_high_fraction"})
_DIGITS = {"state_action_consistency": 4, "jitter_ratio": 3}
MEANINGS = {
    "dead_fraction": "frames with a dead action",
    "ldlj": "smoothness, log dimensionless jerk",
    "sparc": "smoothness, spectral arc length",
    "gripper_chatter_rate": "gripper flips a second",
    "joint_path_length": "way of the joints",
    "overall_saturation": "frames at an end of the range",
    "static_fraction": "frames without a command",
    "mean_entropy": "diversity of the actions",
    "psd_high_fraction": "action power above 8 Hz",
    "state_action_consistency": "spread of actions at like states",
    "jitter_ratio": "unevenness of the timestamps",
}
_EIGHTHS = " ▁▂▃▄▅▆▇█"
LABEL = 11


def score_look(score: float | None) -> str:
    """The look of a score."""
    if score is None:
        return "faint"
    return "good" if score >= GOOD_FROM else "attention" if score >= FAIR_FROM else "trouble"


def score_text(score: float | None, glyphs: Glyphs) -> str:
    return glyphs.none if score is None else f"{score:.2f}"


def number_text(name: str, value: float | None, glyphs: Glyphs) -> str:
    """A metric, or another number of an episode, as people read it."""
    if value is None:
        return glyphs.none
    if name in _PERCENT:
        return f"{value:.1%}"
    if name in {"frames", "episode"}:
        return f"{value:,.0f}"
    shown = f"{value:,.{_DIGITS.get(name, 2)}f}"
    return shown if glyphs.is_ascii else shown.replace("-", "−")


def histogram(counts: Sequence[int], width: int, height: int, glyphs: Glyphs) -> list[Line]:
    """How many episodes score how much: a column a step, the scores below."""
    bin_width = max(1, width // BINS)
    gap = 1 if bin_width >= 3 else 0
    most, rows = max(counts, default=0), max(1, height - 1)
    lines: list[Line] = []
    for row in reversed(range(rows)):
        line: list[Piece] = []
        for number, count in enumerate(counts):
            # Whoever is there at all is seen.
            eighths = max(1, round(count / most * rows * 8)) - row * 8 if count else 0
            cell = _EIGHTHS[max(0, min(8, eighths))]
            if glyphs.is_ascii:
                cell = glyphs.bar if eighths >= 4 or (eighths > 0 and row == 0) else " "
            look = score_look(number * TOP_SCORE / BINS)
            line.append((cell * (bin_width - gap) + " " * gap, look))
        lines.append(tuple(line))
    axis = ""
    for score in range(0, 11, 2):
        axis = axis.ljust(round(score / TOP_SCORE * BINS * bin_width) - (len(str(score)) if score == 10 else 0))
        axis += str(score)
    return [*lines, ((axis, "faint"),)]


def flag_line(flag: str, count: int, most: int, width: int, glyphs: Glyphs, *, active: bool) -> Line:
    """A flag in the list of flags."""
    look = "accent" if active else "faint" if flag == "rejected" else ""
    sign = glyphs.bullet if active else " "
    name_width, count_width = 22, max(5, len(f"{most:,}"))
    room = width - name_width - count_width - 4
    lead: list[Piece] = [(f"{sign} ", "accent"), (fit(clean(flag, glyphs), min(name_width, width - 9), glyphs), look)]
    lead.append((f"{count:>{count_width},}", "strong"))
    if room >= 4:
        cells = max(1, round(count / max(1, most) * room))
        lead.append((f"  {glyphs.bar * cells}", "faint" if flag == "rejected" else "attention"))
    return cut_line(lead, width, glyphs)


def meaning(flag: str, glyphs: Glyphs) -> str:
    """What a flag says of an episode, in words."""
    from noeira_tui.episodes.checks import CHECKS

    if flag == "rejected":
        return "rejected: kept on disk, and not trained on"
    known = FLAGS.get(flag)
    if known is None:
        return CHECKS.get(flag, "a flag of another version")
    side = "above" if known.above else "below"
    limit = (
        ""
        if known.threshold is None
        else f" ({known.metric} {side} {number_text(known.metric or '', known.threshold, glyphs)})"
    )
    return f"{known.meaning}{limit}"


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What the list shows of an episode; texts are clean already. `sorted_by` is the metric they are sorted by."""

    score: float | None
    index: int | None
    dataset: str
    frames: int
    duration_s: float
    flags: tuple[str, ...]
    sorted_by: float | None


def row_head(sort: Sort, widths: tuple[int, int], glyphs: Glyphs) -> Line:
    """The heads of the columns; that which they are sorted by has an arrow."""
    digits, name_width = widths
    arrow = glyphs.down if sort.descending else glyphs.up

    def head(key: str, word: str, width: int) -> Piece:
        here = key == sort.key
        return (f"{arrow + word if here else word:>{width}}", "accent" if here else "faint")

    extra = [head(sort.key, cut(sort.key, 13, glyphs), 15)] if sort.key in METRICS else []
    return (
        (" ", ""),
        head("score", "score", 6),
        *extra,
        (f"  {'dataset':<{name_width}}", "faint"),
        head("episode", "ep", digits + 2),
        head("frames", "frames", 9),
        head("time", "time", 9),
        ("  flags", "faint"),
    )


def row_line(row: RowFacts, sort: Sort, widths: tuple[int, int], width: int, glyphs: Glyphs, *, rejected: bool) -> Line:
    """One episode in the list."""
    digits, name_width = widths
    quiet = "faint" if rejected else "quiet"
    pieces: list[Piece] = [
        (glyphs.bad if rejected else " ", "trouble"),
        (f"{score_text(row.score, glyphs):>6}", score_look(row.score)),
    ]
    if sort.key in METRICS:
        pieces.append((f"{number_text(sort.key, row.sorted_by, glyphs):>15}", "strong"))
    index = glyphs.none if row.index is None else str(row.index)
    pieces += [
        (f"  {fit(cut_middle(row.dataset, name_width, glyphs), name_width, glyphs)}", "faint" if rejected else ""),
        (f"{index:>{digits + 2}}", "faint" if rejected else "strong"),
        (f"{row.frames:>9,}", quiet),
        (f"{row.duration_s:>7,.1f} s", quiet),
    ]
    told = "rejected" if rejected else ""
    told = "  ".join(part for part in (told, " ".join(clean(flag, glyphs) for flag in row.flags)) if part)
    pieces.append((f"  {told}", "faint" if rejected else "attention"))
    return cut_line(pieces, width, glyphs)


def reason_text(info: EpisodeInfo, flag: str, glyphs: Glyphs) -> str:
    """Why a flag is up, in words and in the signs of the terminal."""
    told = info.reason(flag)
    return clean(told.replace("−", "-") if glyphs.is_ascii else told, glyphs)


def reasons(info: EpisodeInfo, width: int, glyphs: Glyphs) -> list[Line]:
    """Why each flag is up, in words."""
    lines: list[Line] = []
    for flag in info.flags:
        head = f"{glyphs.warn} {clean(flag, glyphs)}"
        told = reason_text(info, flag, glyphs)
        if cell_len(head) + cell_len(told) + 2 <= width:
            lines.append(((head, "attention"), (f"  {told}", "")))
            continue
        lines.append(((cut(head, width, glyphs), "attention"),))
        lines += [((f"  {part}", ""),) for part in wrap(told, max(8, width - 2))]
    return lines


def details(
    info: EpisodeInfo, medians: Mapping[str, float | None], width: int, glyphs: Glyphs, *, rejected: bool
) -> list[Line]:
    """Everything the catalog knows of an episode: score, reasons, every metric beside the catalog's median, facts."""
    lines = [_score_line(info, width, glyphs)]
    if rejected:
        lines.append(((f"{glyphs.bad} rejected: kept on disk, and not trained on", "trouble"),))
    lines.append(())
    lines += reasons(info, width, glyphs) or [((f"{glyphs.good} no flags", "good"),)]
    lines += [(), *metric_lines(info.metrics, info.flags, medians, width, glyphs), ()]
    return lines + _facts(info, width, glyphs)


def _score_line(info: EpisodeInfo, width: int, glyphs: Glyphs) -> Line:
    score = info.overall_score
    if score is None:
        return (("not scored yet", "quiet"),)
    room = max(4, min(24, width - 16))
    done = round(score / TOP_SCORE * room)
    return (
        (score_text(score, glyphs), score_look(score)),
        (" of 10  ", "quiet"),
        (glyphs.bar * done, score_look(score)),
        (glyphs.track * (room - done), "track"),
    )


def metric_lines(
    metrics: Metrics, flags: Sequence[str], medians: Mapping[str, float | None], width: int, glyphs: Glyphs
) -> list[Line]:
    """Every metric with its value, a sign where it raised a flag, the median of all episodes, and what it means."""
    blamed = {FLAGS[flag].metric for flag in flags if flag in FLAGS}
    lines: list[Line] = [((f"{'metric':<26}{'value':>9}{'median':>10}", "faint"),)]
    for name in METRICS:
        value = getattr(metrics, name)
        is_bad = name in blamed
        line: list[Piece] = [
            (f"{name:<24}", "" if value is not None else "faint"),
            (f" {glyphs.warn if is_bad else ' '}", "attention"),
            (f"{number_text(name, value, glyphs):>9}", "attention" if is_bad else "strong"),
            (f"{number_text(name, medians.get(name), glyphs):>10}", "faint"),
        ]
        if width - width_of(line) >= 26:
            line.append((f"  {cut(MEANINGS[name], width - width_of(line) - 2, glyphs)}", "faint"))
        lines.append(cut_line(line, width, glyphs))
    return lines


def _facts(info: EpisodeInfo, width: int, glyphs: Glyphs) -> list[Line]:
    room = max(8, width - LABEL)
    number = glyphs.none if info.episode_index is None else str(info.episode_index)
    length = f"{info.num_frames:,} frames {glyphs.dot} {info.duration_s:,.2f} s at {info.fps:g} fps"
    told = [
        ("dataset", cut_middle(clean(short_path(info.source_uri), glyphs), room, glyphs)),
        ("episode", f"{number} {glyphs.dot} {clean(info.source_format, glyphs)}"),
        ("length", length),
        ("task", clean(info.task or glyphs.none, glyphs)),
        ("robot", clean(info.robot or glyphs.none, glyphs)),
        ("cameras", ", ".join(clean(name, glyphs) for name in info.cameras) or "none"),
        ("dimensions", f"state {info.state_dim or glyphs.none} {glyphs.dot} action {info.action_dim or glyphs.none}"),
        ("hash", clean(info.content_hash, glyphs)),
        ("ingested", clean(info.ingested_at, glyphs)),
        ("scorer", clean(info.scorer_version or glyphs.none, glyphs)),
    ]
    lines: list[Line] = []
    for label, value in told:
        for part_number, part in enumerate(wrap(value, room)):
            lines.append((((label if not part_number else "").ljust(LABEL), "faint"), (part, "quiet")))
    return lines


def brief(info: EpisodeInfo, glyphs: Glyphs, *, rejected: bool = False) -> tuple[Line, ...]:
    """The quality of an episode beside its plot: score, why each flag is up, all metrics one after the other."""
    score = info.overall_score
    flags = f" {glyphs.dot} {figures.count(len(info.flags), 'flag')}" if info.flags else f" {glyphs.dot} no flags"
    head: list[Piece] = [("quality  ", "faint"), (score_text(score, glyphs), score_look(score)), (" of 10", "quiet")]
    head.append((flags, "attention" if info.flags else "good"))
    if rejected:
        head.append((f"  {glyphs.bad} rejected", "trouble"))
    blamed = {FLAGS[flag].metric for flag in info.flags if flag in FLAGS}
    metrics: list[Piece] = []
    for name in METRICS:
        value = getattr(info.metrics, name)
        if value is not None:
            metrics.append((f"{name} ", "faint"))
            metrics.append((f"{number_text(name, value, glyphs)}   ", "attention" if name in blamed else ""))
    lines: list[Line] = [tuple(head), *reasons(info, 10_000, glyphs), tuple(metrics)]
    return tuple(line for line in lines if line)
