# SPDX-License-Identifier: Apache-2.0
"""Figures from what was measured."""

import math
import textwrap

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402

COLOURS = ["#7a7a7a", "#d95f02", "#1b6ca8", "#3a923a", "#8e5ea2"]


def milliseconds(curve, measured, metric):
    return [measured[setting.name()][metric] for setting in curve]


def scale_by_logarithm(axes, values):
    """Powers of ten are marked, and where there are fewer than two what lies between."""
    plain = ticker.FuncFormatter(lambda y, _: f"{y:g}")
    powers = math.floor(math.log10(max(values))) - math.ceil(math.log10(min(values))) + 1
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain if powers < 2 else ticker.NullFormatter())


def draw_curves(panel, axes, measured, metric):
    """Times as lines; the first curve's over each other one's as bars behind them."""
    places = range(len(panel.at))
    curves = {label: milliseconds(curve, measured, metric) for label, curve in panel.curves.items()}
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
    for colour, (label, values) in zip(COLOURS, curves.items()):
        axes.plot(places, values, marker="o", markersize=4, color=colour, label=label)
    scale_by_logarithm(axes, [v for values in curves.values() for v in values])
    axes.set_xticks(list(places), [str(x) for x in panel.at])
    axes.set_xlabel(panel.across)
    axes.legend(fontsize=8, loc="best")


def draw_bars(panel, axes, measured, metric):
    (curve,) = panel.curves.values()
    values = milliseconds(curve, measured, metric)
    bars = axes.bar(range(len(values)), values, color=COLOURS[2])
    axes.bar_label(bars, [f"{v:.4g}" for v in values], fontsize=8)
    axes.set_xticks(range(len(values)), panel.at, fontsize=8)
    scale_by_logarithm(axes, values)


def draw(figure, measured, subtitle, file):
    """One picture with all panels of a figure."""
    wide = 4.6 * len(figure.panels) + (2 if len(figure.panels) == 1 else 0)
    picture, all_axes = pyplot.subplots(1, len(figure.panels), figsize=(wide, 3.9), squeeze=False,
                                        layout="constrained")
    for panel, axes in zip(figure.panels, all_axes[0]):
        draw_panel = draw_curves if panel.logarithmic else draw_bars
        draw_panel(panel, axes, measured, figure.metric)
        axes.set_title(panel.title, fontsize=10)
        axes.set_ylabel(f"ms per {figure.unit}")
        axes.grid(axis="y", which="both", linewidth=0.3)
    told = textwrap.fill(f"{subtitle}; {figure.published}", width=int(14 * wide))
    picture.suptitle(f"{figure.title}\n{told}", fontsize=9)
    picture.savefig(file, dpi=130)
    pyplot.close(picture)


def table(figure, measured):
    """The same numbers as text."""
    metric = figure.metric
    lines = [figure.title + (f" ({figure.published})" if figure.published else "")]
    for panel in figure.panels:
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
