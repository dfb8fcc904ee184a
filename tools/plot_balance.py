#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the loads of workers and devices before and after balancing.

  plot_balance.py FILE.json PICTURE [--balancer NAME...] [--array NAME] [--call N...]

FILE.json is a file of `starling balance --plot`, or the report of a run with
`--starling-balance-report FILE.json`. The picture's format follows from its name (svg, png, pdf).

Of `starling balance`: one row for each balancer. Of a run: the imbalance before and after each
balancing of one array and the number of migrations, then one row for each of up to six balancings,
among them the first and the last one. One column for host loads and one for device loads, if there
are any; a line marks the ideal step time. Needs matplotlib.
"""

import argparse
import json
import sys

KINDS = {"host_seconds": "worker", "device_seconds": "device"}
PLOT, HISTORY = "starling balance plot", "starling balance history"
MOST_BARS = 512
MOST_ROWS = 6
MOST_PAIRS = 32
BEFORE, AFTER, IDEAL = "tab:gray", "tab:blue", "tab:red"


def read_plot(path):
    """Returns the object in `path`; exits with a clear message if it is none of the two files."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"plot_balance: cannot read {path}: {error}")
    if not isinstance(data, dict) or data.get("format") not in (PLOT, HISTORY):
        sys.exit(f"plot_balance: {path} was not written by `starling balance --plot` or "
                 "`--starling-balance-report`")
    if data.get("version") != 1:
        sys.exit(f"plot_balance: {path} has version {data.get('version')}; this program reads 1")
    return data


def thinned(loads):
    """Returns at most MOST_BARS loads: the largest of each of equal parts, because the largest
    load decides the step time."""
    if len(loads) <= MOST_BARS:
        return loads
    cuts = [len(loads) * i // MOST_BARS for i in range(MOST_BARS + 1)]
    return [max(loads[a:b]) for a, b in zip(cuts, cuts[1:])]


def chosen_balancers(data, wanted):
    """Returns the balancers to draw; exits if one of `wanted` is not in the file."""
    for name in wanted or []:
        if name not in data["after"]:
            sys.exit(f"plot_balance: no balancer {name}; there are: {', '.join(data['after'])}")
    return wanted or list(data["after"])


def arrays_of(data):
    """Returns the balancings of a history by array. Arrays of one type have their ids as well."""
    by_id = {}
    for one in data["balancings"]:
        by_id.setdefault((one["array"], one["array_id"]), []).append(one)
    types = [name for name, _ in by_id]
    return {name if types.count(name) == 1 else f"{name} {number}": all_of
            for (name, number), all_of in by_id.items()}


def chosen_balancings(data, wanted):
    """Returns the array to draw and its balancings; exits if it is not in the file, or if there is
    a choice and `wanted` is None."""
    arrays = arrays_of(data)
    if not arrays:
        sys.exit("plot_balance: the run had no balancing")
    if wanted is None and len(arrays) == 1:
        wanted = next(iter(arrays))
    if wanted not in arrays:
        sys.exit(f"plot_balance: choose an array with --array; there are: {', '.join(arrays)}")
    return wanted, arrays[wanted]


def chosen_rows(balancings, calls):
    """Returns the balancings whose loads are drawn; exits if one of `calls` has none."""
    known = {one["call"]: one for one in balancings}
    for call in calls or []:
        if call not in known:
            sys.exit(f"plot_balance: no balancing in call {call}; there are: "
                     f"{', '.join(map(str, known))}")
    if calls:
        return [known[call] for call in calls]
    if len(balancings) <= MOST_ROWS:
        return balancings
    last = len(balancings) - 1
    return [balancings[last * i // (MOST_ROWS - 1)] for i in range(MOST_ROWS)]


def unit_of(seconds):
    """Returns the unit in which the largest load is drawn, and the number of units in a second."""
    return ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)


def draw_loads(place, before, after, ideal):
    """Draws the loads of places: bars of few places, steps of many."""
    count, before, after = len(before), thinned(before), thinned(after)
    if count <= MOST_PAIRS:
        for shift, loads, color, label in ((-0.2, before, BEFORE, "before"),
                                           (0.2, after, AFTER, "after (predicted)")):
            place.bar([i + shift for i in range(count)], loads, 0.4, color=color, label=label)
        place.xaxis.get_major_locator().set_params(integer=True)
    else:
        at = [i * count / len(before) for i in range(len(before))]
        place.step(at, before, where="mid", color=BEFORE, label="before")
        place.step(at, after, where="mid", color=AFTER, label="after (predicted)")
    place.axhline(ideal, color=IDEAL, linewidth=1, label="ideal")


def draw_rows(figure, kinds, rows):
    """Draws rows of (title, before, after, ideal seconds), with one scale for each kind of load."""
    axes = figure.subplots(len(rows), len(kinds), squeeze=False, sharex="col", sharey="col")
    for column, kind in enumerate(kinds):
        top = max(max(before[kind] + after[kind] + [ideal]) for _, before, after, ideal in rows)
        unit, scale = unit_of(top)
        for row, (title, before, after, ideal) in enumerate(rows):
            place = axes[row][column]
            draw_loads(place, [x * scale for x in before[kind]], [x * scale for x in after[kind]],
                       ideal * scale)
            place.set_title(title, fontsize="medium")
            place.set_ylabel(f"{kind.split('_')[0]} load / {unit}")
        axes[0][column].set_ylim(0, 1.05 * top * scale or 1)
        axes[-1][column].set_xlabel(KINDS[kind])
    add_legend(axes[0][0], 1.12)


def add_legend(place, height):
    """Adds a legend above `place`, where it hides no load."""
    place.legend(fontsize="small", ncol=3, frameon=False, loc="lower center",
                 bbox_to_anchor=(0.5, height))


def draw_course(figure, array, balancings):
    """Draws the imbalance and the migrations of each balancing. The line of the imbalance falls
    at a balancing, as predicted, and leads to the imbalance before the next one."""
    place, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2, 1]})
    calls = [one["call"] for one in balancings]
    before = [one["imbalance_before"] for one in balancings]
    after = [one["imbalance_after"] for one in balancings]
    place.plot([call for call in calls for _ in range(2)],
               [x for pair in zip(before, after) for x in pair], color="lightgray", zorder=1)
    place.plot(calls, before, "o", color=BEFORE, label="before")
    place.plot(calls, after, "o", color=AFTER, label="after (predicted)")
    place.axhline(1, color=IDEAL, linewidth=1, label="ideal")
    place.set_title(f"balancings of {array}")
    place.set_ylabel("imbalance")
    add_legend(place, 1.12)
    counts = [len(one["migrations"]["element"]) for one in balancings]
    below.vlines(calls, 0, counts, color="tab:orange", linewidth=3)
    below.set_ylim(0, max(counts + [1]) * 1.1)
    below.yaxis.get_major_locator().set_params(integer=True)
    below.xaxis.get_major_locator().set_params(integer=True)
    below.set_xlabel("call of load_balance()")
    below.set_ylabel("migrations")


def kinds_in(loads):
    return [kind for kind in KINDS if any(any(one[kind]) for one in loads)] or ["host_seconds"]


def open_figure(width, height):
    """Returns a figure of this size in inches."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    return plt.figure(figsize=(width, height), layout="constrained")


def draw(data, names, path):
    """Draws a file of `starling balance --plot`."""
    kinds = kinds_in([data["before"]])
    figure = open_figure(6 * len(kinds), 1.2 + 1.8 * len(names))
    draw_rows(figure, kinds, [(name, data["before"], data["after"][name], data["ideal_seconds"])
                              for name in names])
    figure.savefig(path)


def draw_history(array, balancings, rows, path):
    """Draws the report of a run."""
    kinds = kinds_in([one["before"] for one in rows])
    below = 0.8 + 1.8 * len(rows)
    figure = open_figure(3 + 4 * len(kinds), 4 + below)
    course, loads = figure.subfigures(2, 1, height_ratios=[4, below])
    draw_course(course, array, balancings)
    draw_rows(loads, kinds, [
        (f"call {one['call']}, {one['balancer']}: imbalance {one['imbalance_before']:.3g} → "
         f"{one['imbalance_after']:.3g}, {len(one['migrations']['element'])} migrations",
         one["before"], one["after"], one["ideal_seconds"]) for one in rows])
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plot", help="file of `starling balance --plot` or of "
                                     "`--starling-balance-report`")
    parser.add_argument("picture", help="file to write: .svg, .png or .pdf")
    parser.add_argument("--balancer", nargs="+", help="draw these balancers only")
    parser.add_argument("--array", help="of a run: draw the balancings of this array")
    parser.add_argument("--call", nargs="+", type=int, help="of a run: draw the loads in these "
                                                            "calls of load_balance()")
    options = parser.parse_args(arguments)
    data = read_plot(options.plot)
    if data["format"] == PLOT:
        draw(data, chosen_balancers(data, options.balancer), options.picture)
        return 0
    array, balancings = chosen_balancings(data, options.array)
    draw_history(array, balancings, chosen_rows(balancings, options.call), options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
