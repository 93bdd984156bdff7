"""Drawing lines of `(text, look)` pieces: no markup, no layout, only the cells that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from noeira_tui.tui.text import Line, changed_cells, width_of

_COLOURED = ("good", "quiet", "attention", "trouble", "live", "accent", "faint")
_BOLD = Style(bold=True)
_palettes: dict[tuple[str, ...], dict[str, Style]] = {}


def looks_of(app: App[object]) -> Mapping[str, Style]:
    """The style of every look, and of cursors, in the app's present theme.

    Made once a theme. Component classes would say the same in the style sheets, but cost a styled node for every
    look of every widget: a third of the time to the first paint.
    """
    variables = app.theme_variables
    names = (*(f"tone-{name}" for name in _COLOURED), "cursor", "cursor-blurred", "frame-focus", "background")
    values = tuple(variables[name] for name in names)
    key = (*values, str(app.no_color))
    if key not in _palettes:
        _palettes[key] = _palette(
            dict(zip(names, (Color.parse(value.split(" ")[0]) for value in values), strict=True)), app.no_color
        )
    return _palettes[key]


def _palette(colours: Mapping[str, Color], no_color: bool) -> dict[str, Style]:
    def style(colour: str, behind: str | None = None, *, bold: bool = False) -> Style:
        return Style(
            color=colours[colour].rich_color,
            bgcolor=None if behind is None else colours[behind].rich_color,
            bold=True if bold else None,
        )

    def cursor(name: str, fallback: Style) -> Style:
        # Of a terminal's own colours nobody knows which can be read on which.
        is_plain = no_color or colours[name].ansi is not None
        return fallback if is_plain else Style(bgcolor=colours[name].rich_color)

    plain = {"faint": Style(dim=True), "accent": _BOLD, "trouble": _BOLD} if no_color else {}
    if colours["tone-faint"].ansi is not None:
        plain = {"faint": Style(dim=True)}
    return {
        **{name: style(f"tone-{name}") for name in _COLOURED},
        **plain,
        "strong": _BOLD,
        "heading": style("tone-accent", bold=True),
        "bar": style("tone-live"),
        "track": style("tone-faint"),
        "key": style("background", "frame-focus", bold=True) + Style(reverse=True if no_color else None),
        "danger": style("background", "tone-trouble", bold=True) + Style(reverse=True if no_color else None),
        "cursor": cursor("cursor", Style(reverse=True)) + _BOLD,
        "cursor-blurred": cursor("cursor-blurred", Style(underline=True)),
        "marked": style("tone-accent", bold=True),
    }


def strip_of(widget: Widget, line: Line, width: int, over: Style | None = None) -> Strip:
    """A line as a strip of `width` cells in the widget's colours; `over` is laid over all of it (a cursor)."""
    looks = looks_of(widget.app)
    base = widget.rich_style
    if over is not None:
        base += over
        # On a cursor's ground the faintest grey could not be read.
        looks = {**looks, "faint": looks["quiet"]}
    segments = [Segment(text, base + looks[look] if look else base) for text, look in line]
    return Strip(segments, width_of(line)).adjust_cell_length(width, base)


def title_content(line: Line) -> Content | None:
    """A line as a border title: literal text in the looks' colours; None for an empty line."""
    if not any(text for text, _ in line):
        return None
    return Content.assemble(*((text, _STYLES.get(look, "")) for text, look in line))


_STYLES = {
    "strong": "bold $foreground",
    "heading": "bold $foreground",
    "accent": "bold $tone-accent",
    "good": "$tone-good",
    "attention": "$tone-attention",
    "trouble": "$tone-trouble",
    "live": "$tone-live",
    "quiet": "$tone-quiet",
    "faint": "$tone-faint",
}


class Painted(Widget):
    """Shows lines it is given. Equal lines cause no repaint."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()
        self._title: Line = ()

    @property
    def text(self) -> str:
        """What is shown, as plain text."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines; the layout is only asked again when their number changed."""
        new = tuple(lines)
        if new == self._lines:
            return
        old, self._lines = self._lines, new
        if len(old) != len(new):
            self.refresh(layout=True)
            return
        for y, (before, after) in enumerate(zip(old, new, strict=True)):
            # Counted from the content: the library adds border and padding itself.
            regions = [Region(start, y, end - start, 1) for start, end in changed_cells(before, after)]
            if regions:
                self.refresh(*regions)

    def show_title(self, title: Line) -> None:
        """Show a title in the border; an equal one causes no repaint."""
        if title != self._title:
            self._title = title
            self.border_title = title_content(title)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return max((width_of(line) for line in self._lines), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else ()
        return strip_of(self, line, self.size.width)
