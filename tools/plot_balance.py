#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the loads of workers and devices before and after balancing.

  plot_balance.py PLOT.json PICTURE [--balancer NAME...]

PLOT.json is a file that `starling balance --plot` has written; the picture's format follows from
its name (svg, png, pdf). One row for each balancer, one column for host loads and one for device
loads, if there are any; a line marks the ideal step time. Needs matplotlib.
"""

import argparse
import json
import sys

KINDS = {"host_seconds": "worker", "device_seconds": "device"}
MOST_BARS = 512


def read_plot(path):
    """Returns the object in `path`; exits with a clear message if it is no file of `--plot`."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"plot_balance: cannot read {path}: {error}")
    if not isinstance(data, dict) or data.get("format") != "starling balance plot":
        sys.exit(f"plot_balance: {path} was not written by `starling balance --plot`")
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


def draw(data, names, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kinds = [kind for kind in KINDS if any(data["before"][kind])] or ["host_seconds"]
    figure, axes = plt.subplots(len(names), len(kinds), squeeze=False, sharex="col", sharey="col",
                                figsize=(6 * len(kinds), 1 + 1.8 * len(names)))
    for row, name in enumerate(names):
        for column, kind in enumerate(kinds):
            place = axes[row][column]
            before, after = thinned(data["before"][kind]), thinned(data["after"][name][kind])
            scale = len(data["before"][kind]) / max(1, len(before))
            at = [i * scale for i in range(len(before))]
            place.step(at, before, where="mid", color="tab:gray", label="before")
            place.step(at, after, where="mid", color="tab:blue", label="after")
            place.axhline(data["ideal_seconds"], color="tab:red", linewidth=0.8, label="ideal")
            place.set_ylim(bottom=0)
            place.set_title(name, fontsize="medium")
            place.set_ylabel(f"{kind.split('_')[0]} load / s")
            if row + 1 == len(names):
                place.set_xlabel(KINDS[kind])
    axes[0][0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plot", help="file of `starling balance --plot`")
    parser.add_argument("picture", help="file to write: .svg, .png or .pdf")
    parser.add_argument("--balancer", nargs="+", help="draw these balancers only")
    options = parser.parse_args(arguments)
    data = read_plot(options.plot)
    draw(data, chosen_balancers(data, options.balancer), options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
