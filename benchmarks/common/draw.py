# SPDX-License-Identifier: Apache-2.0
"""Draws figures and prints tables of measured times."""

import math
import textwrap

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402

COLOURS = ["#7a7a7a", "#d95f02", "#1b6ca8", "#3a923a", "#8e5ea2"]
MANY_COLOURS = [*COLOURS, "#b8860b", "#111111", "#c2185b", "#00838f", "#795548"]


def milliseconds(curve, measured, metric):
    return [measured[setting.name()][metric] for setting in curve]


def scale_by_logarithm(axes, values):
    """Labels powers of ten, and intermediate values if there are fewer than two powers."""
    plain = ticker.FuncFormatter(lambda y, _: f"{y:g}")
    powers = math.floor(math.log10(max(values))) - math.ceil(math.log10(min(values))) + 1
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain if powers < 2 else ticker.NullFormatter())


def draw_curves(panel, axes, measured, metric):
    """Draws times as lines. With two curves, draws their ratio as bars behind them."""
    places = range(len(panel.at))
    curves = {label: milliseconds(curve, measured, metric) for label, curve in panel.curves.items()}
    if panel.per_place:
        curves = {label: [n * v for n, v in zip(panel.at, values)] for label, values in curves.items()}
    (_, reference), *others = curves.items()
    if len(others) == 1:
        bars = axes.twinx()
        ratio = [a / b for a, b in zip(reference, others[0][1])]
        bars.bar(places, ratio, width=0.6, color=COLOURS[1], alpha=0.18)
        for x, value in zip(places, ratio):
            bars.annotate(f"{value:.2f}", (x, 0.02 * max(ratio)), ha="center", fontsize=7)
        bars.axhline(1, color="#999999", linewidth=0.6, linestyle=":")
        bars.set_ylim(0, 2 * max(ratio))
        bars.set_ylabel("speed-up", fontsize=8)
        bars.tick_params(labelsize=7)
        axes.set_zorder(bars.get_zorder() + 1)
        axes.patch.set_visible(False)
    for colour, (label, values) in zip(MANY_COLOURS, curves.items()):
        axes.plot(places, values, marker="o", markersize=4, color=colour, label=label,
                  linestyle="--" if label in panel.dashed else "-")
    if panel.per_place:
        axes.set_ylabel(f"{axes.get_ylabel()} × {panel.across}")
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    else:
        scale_by_logarithm(axes, [v for values in curves.values() for v in values])
    axes.set_xticks(list(places), [str(x) for x in panel.at])
    axes.set_xlabel(panel.across)
    if len(curves) <= len(COLOURS):
        axes.legend(fontsize=8, loc="best")
    elif axes.get_subplotspec().is_last_col():  # one legend for all panels
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def draw_speedups(panel, axes, measured, metric):
    """Draws the speed-up of each further curve over the first one, as bars side by side."""
    (first, reference), *others = ((label, milliseconds(curve, measured, metric))
                                   for label, curve in panel.curves.items())
    width = 0.8 / len(others)
    for i, (colour, (label, values)) in enumerate(zip(COLOURS[1:], others)):
        places = [x + (i - (len(others) - 1) / 2) * width for x in range(len(panel.at))]
        ratios = [a / b for a, b in zip(reference, values)]
        bars = axes.bar(places, ratios, width=width, color=colour, label=label)
        axes.bar_label(bars, [f"{r:.2f}" for r in ratios], fontsize=7)
    axes.axhline(1, color="#333333", linewidth=1)
    axes.set_ylim(0, 1.15 * axes.get_ylim()[1])
    axes.set_xticks(range(len(panel.at)), [str(x) for x in panel.at])
    axes.set_xlabel(panel.across)
    axes.set_ylabel(f"times as fast as {first}")
    axes.legend(fontsize=8, loc="upper left", ncols=len(others))


def draw_bars(panel, axes, measured, metric):
    (curve,) = panel.curves.values()
    values = milliseconds(curve, measured, metric)
    bars = axes.bar(range(len(values)), values, color=COLOURS[2])
    axes.bar_label(bars, [f"{v:.4g}" for v in values], fontsize=8)
    axes.set_xticks(range(len(values)), panel.at, fontsize=8)
    if max(values) > 4 * min(values):
        scale_by_logarithm(axes, values)


def draw(figure, measured, subtitle, file):
    """Draws one picture with all panels of a figure."""
    wide = 4.6 * len(figure.panels) + (2 if len(figure.panels) == 1 else 0)
    wide = max(wide, *(len(panel.at) for panel in figure.panels if not panel.logarithmic), 0)
    picture, all_axes = pyplot.subplots(1, len(figure.panels), figsize=(wide, 3.9), squeeze=False,
                                        layout="constrained")
    for panel, axes in zip(figure.panels, all_axes[0]):
        axes.set_ylabel(f"ms per {figure.unit}")
        draw_panel = (draw_speedups if panel.speedups else
                      draw_curves if panel.logarithmic else draw_bars)
        draw_panel(panel, axes, measured, figure.metric)
        axes.set_title(panel.title, fontsize=10)
        axes.grid(axis="y", which="both", linewidth=0.3)
        axes.set_axisbelow(True)
    told = textwrap.fill(f"{subtitle}; {figure.published}", width=int(14 * wide))
    picture.suptitle(f"{figure.title}\n{told}", fontsize=9)
    picture.savefig(file, dpi=130)
    pyplot.close(picture)


def table(figure, measured):
    """Returns the same numbers as text."""
    metric = figure.metric
    lines = [figure.title + (f" ({figure.published})" if figure.published else "")]
    for panel in figure.panels:
        if panel.per_place:  # contains numbers that are in the table already
            continue
        across = [str(x).replace("\n", " ") for x in panel.at]
        if not panel.logarithmic:
            (curve,) = panel.curves.values()
            lines += [f"  {x:34} {v:10.4g} ms" for x, v in
                      zip(across, milliseconds(curve, measured, metric))]
            continue
        curves = {label: milliseconds(curve, measured, metric) for label, curve in panel.curves.items()}
        (first, reference), *others = curves.items()
        rows = {panel.across: across,
                **{label: [f"{v:.4g}" for v in values] for label, values in curves.items()}}
        if len(others) == 1:
            rows[f"{first} / {others[0][0]}"] = [f"{a / b:.2f}" for a, b in
                                                  zip(reference, others[0][1])]
        lines.append(f"  {panel.title}, ms per {figure.unit}")
        lines += [f"    {label:34}" + "".join(f"{v:>9}" for v in row)
                  for label, row in rows.items()]
    return "\n".join(lines)
