"""Pictures of a comparison, as SVG for light and for dark pages.

Bars are labelled with the driver and the figure; this driver's are solid, all others hatched, so that no picture needs
colours. Those in the folder ``narrow`` have one column of panels, for telephones. Needs matplotlib (dependency group
``plots``).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.compare.figures import Comparison, drivers, figure, shown
from benchmarks.compare.pictures import LATENCY, PERCENTILES, PICTURES, Panel, Picture, describe
from benchmarks.compare.workloads import MORE_IS_BETTER
from benchmarks.measure import FASTCQL


class Theme(NamedTuple):
    name: str
    background: str
    text: str
    ours: str
    theirs: str
    lines: str


THEMES = (
    Theme("light", "#ffffff", "#1f2328", "#1b66b3", "#c3ccd6", "#5b6670"),
    Theme("dark", "#131416", "#d5d7da", "#6cb2ff", "#3f4954", "#98a2ad"),
)


FONT = "DejaVu Sans"  # comes with matplotlib
MARKERS = dict(zip(PERCENTILES, "o^s", strict=True))
WIDTH, NARROW = 9.0, 4.4  # inches of 72 points
BAR, HEAD = 0.27, 0.85  # inches: a bar, and the title of a panel with its axis


def write(found: Comparison, folder: Path) -> None:
    """All pictures of which there are figures."""
    narrow = folder / "narrow"
    narrow.mkdir(exist_ok=True)
    for picture in PICTURES:
        for theme in THEMES:
            name = f"{picture.name}-{theme.name}.svg"
            if any(drivers(found, panel.workload) for panel in picture.panels):
                (folder / name).write_text(svg(found, picture, theme))
                (narrow / name).write_text(svg(found, picture._replace(columns=1), theme, NARROW))
            else:
                (folder / name).unlink(missing_ok=True)
                (narrow / name).unlink(missing_ok=True)


def svg(found: Comparison, picture: Picture, theme: Theme, width: float = WIDTH) -> str:
    panels = [panel for panel in picture.panels if drivers(found, panel.workload)]
    options: Any = {
        "svg.fonttype": "none",  # text stays text: for search, and for readers that speak
        "svg.hashsalt": picture.name,
        "font.family": FONT,
        "font.size": 9,
        "hatch.linewidth": 0.6,
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), theme.text),
    }
    with matplotlib.rc_context(options):
        rows = [panels[first : first + picture.columns] for first in range(0, len(panels), picture.columns)]
        bars = [max(len(drivers(found, panel.workload)) for panel in row) for row in rows]
        heights = [HEAD + BAR * number for number in bars]
        size = width, 0.4 + sum(heights)
        drawn = Figure(figsize=size, facecolor=theme.background)
        drawn.set_layout_engine("constrained", h_pad=0.09)
        drawn.suptitle(picture.title, fontweight="bold", fontsize=11)
        axes = drawn.subplots(len(rows), picture.columns, squeeze=False, height_ratios=heights)
        for row, number, places in zip(rows, bars, axes, strict=True):
            for place in places[len(row) :]:
                place.set_visible(False)
            for place, panel in zip(places, row, strict=False):
                (_latencies if panel.measure == LATENCY else _bars)(place, found, panel, theme)
                place.set_ylim(number - 0.5, -0.5)  # bars of one height, the first one on top
        text = io.StringIO()
        drawn.savefig(text, format="svg", facecolor=theme.background, metadata={"Date": None})
    shown_with = text.getvalue().replace(f"'{FONT}'", f"'{FONT}', Verdana, sans-serif")
    return _described(shown_with, picture.title, describe(found, picture))


def _bars(place: Any, found: Comparison, panel: Panel, theme: Theme) -> None:
    names = drivers(found, panel.workload)
    most = 0.0
    for number, driver in enumerate(names):
        one = figure(found, panel.workload, driver, panel.measure)
        assert one is not None
        ours = driver == FASTCQL
        place.barh(
            number,
            one.median,
            color=theme.ours if ours else theme.theirs,
            edgecolor=theme.lines,
            linewidth=0.6,
            hatch=None if ours else "////",
            xerr=[[one.median - one.low], [one.high - one.median]] if one.low < one.high else None,
            error_kw={"ecolor": theme.text, "elinewidth": 1, "capsize": 2},
        )
        place.annotate(
            shown(panel.measure, one.median),
            (one.high, number),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold" if ours else "normal",
        )
        most = max(most, one.high)
    place.set_xlim(0, most * 1.28)  # the labels beside the bars
    _axes(place, names, panel, theme)
    better = "more is better" if panel.measure in MORE_IS_BETTER else "less is better"
    place.set_xlabel(better, fontsize=8)
    place.set_xticks([])  # bars have their figures


def _latencies(place: Any, found: Comparison, panel: Panel, theme: Theme) -> None:
    names = drivers(found, panel.workload)
    for number, driver in enumerate(names):
        figures = [figure(found, panel.workload, driver, measure) for measure in MARKERS]
        values = [one.median for one in figures if one]
        color = theme.ours if driver == FASTCQL else theme.lines
        place.plot(values, [number] * len(values), color=color, linewidth=1.2, zorder=1)
        for (measure, marker), value in zip(MARKERS.items(), values, strict=True):
            face = color if measure == "p50" else theme.background
            style = {"marker": marker, "markersize": 6, "markerfacecolor": face, "markeredgecolor": color}
            place.plot([value], [number], linestyle="none", label=measure if number == 0 else None, **style)
    place.set_xscale("log")
    place.xaxis.set_major_locator(LogLocator(10, subs=(1, 3)))
    _axes(place, names, panel, theme)
    place.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 1e3:g} ms"))
    place.xaxis.set_minor_formatter(NullFormatter())
    place.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),  # beside the title
        borderaxespad=0,
        ncols=3,
        fontsize=7,
        frameon=False,
        handletextpad=0.2,
        columnspacing=0.6,
        handlelength=1.2,
    )
    place.set_xlabel("logarithmic, less is better", fontsize=8)


def _axes(place: Any, names: Sequence[str], panel: Panel, theme: Theme) -> None:
    place.set_title(panel.title, fontsize=9, loc="left")
    place.set_yticks(range(len(names)), names)
    place.tick_params(axis="y", length=0)
    place.tick_params(axis="x", labelsize=7)
    place.set_facecolor(theme.background)
    for side in ("top", "right", "left"):
        place.spines[side].set_visible(False)
    place.spines["bottom"].set_color(theme.lines)


def _described(text: str, title: str, description: str) -> str:
    """The SVG *text* with a title and a description that browsers and readers of screens know."""
    start = text.index("<svg")
    end = text.index(">", start)
    head = text[start:end] + ' role="img" aria-labelledby="title description">'
    body = f'\n <title id="title">{escape(title)}</title>\n <desc id="description">{escape(description)}</desc>'
    return text[:start] + head + body + text[end + 1 :]
