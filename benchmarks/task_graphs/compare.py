#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the competitors of benchmarks/task_graphs in turns and draws the results.

In every round each competitor runs each pattern once, in turns, so that the state of the machine
affects all of them alike. The table has the median of the rounds; the exit code is 1 if an answer
was wrong. Patterns that are the same graph at a width are measured once and share a row. The report
of each run is kept in OUTPUT/reports; `tools/results.py pages` makes the published tables from
these.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))

from options import numbers  # noqa: E402

COMPETITORS = ["starling_chares", "starling_tasks", "openmp", "onetbb", "starpu"]
PATTERNS = ["trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft",
            "nearest", "spread", "random_nearest"]
GOALS_US = {"no_comm": 0.6, "stencil_1d": 1.0, "fft": 1.0, "random_nearest": 1.0}


def arguments(given):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", help="folder of bench_task_graphs_*")
    parser.add_argument("--pattern", default=",".join(PATTERNS), help="separated by commas")
    parser.add_argument("--competitors", default=",".join(COMPETITORS),
                        help="separated by commas; those that are not built are left out")
    parser.add_argument("--kernel", default="compute", help="compute, memory or imbalance")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--columns", default="1",
                        help="tasks of a step for each worker, separated by commas, as 1,4,16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", default=".", help="folder of the picture and of the data")
    parser.epilog = "What follows after -- goes to the programs."
    end = given.index("--") if "--" in given else len(given)
    chosen = parser.parse_args(given[:end])
    chosen.flags = given[end + 1:]
    chosen.pattern = chosen.pattern.split(",")
    for name in chosen.competitors.split(","):
        if name not in COMPETITORS:
            parser.error(f"--competitors {name}: there are {', '.join(COMPETITORS)}")
    chosen.competitors = [name for name in chosen.competitors.split(",")
                          if os.path.exists(program(chosen, name))]
    if not chosen.competitors:
        sys.exit(f"compare: no bench_task_graphs_… in {chosen.binaries}")
    for pattern in chosen.pattern:
        if pattern not in PATTERNS:
            parser.error(f"--pattern {pattern}: there are {', '.join(PATTERNS)}")
    if chosen.rounds < 1:
        parser.error(f"--rounds {chosen.rounds}: at least 1 is needed")
    try:
        chosen.columns = numbers(chosen.columns)
    except argparse.ArgumentTypeError as error:
        parser.error(f"--columns {error}")
    return chosen


def program(chosen, competitor):
    return os.path.join(chosen.binaries, f"bench_task_graphs_{competitor}")


def run(chosen, competitor, pattern, columns, round_number):
    """Runs a program once and returns its report, which is kept in the folder of reports."""
    file = os.path.join(chosen.output, "reports", f"{chosen.kernel}_{competitor}_{pattern}_"
                        f"{columns}_{round_number}.json")
    command = [program(chosen, competitor), "--pattern", pattern, "--kernel", chosen.kernel,
               "--workers", str(chosen.workers), "--columns-per-worker", str(columns),
               "--json", file, *chosen.flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare: {' '.join(command)} ended with {done.returncode}:\n"
                 f"{done.stdout}{done.stderr}")
    with open(file, encoding="utf-8") as opened:
        return json.load(opened)


def found(report, pattern):
    """Returns the METG in us, or None if the efficiency never reaches one half, and the curve."""
    metg = report["metrics"].get(f"{pattern}_metg_ns")
    return None if metg is None else metg / 1000, report["config"][f"curve_{pattern}"]


def measure(chosen, columns):
    """Returns results[pattern][competitor], a list of results of `found`, and same[pattern], the
    patterns that are the same graph at this width: they are left out if an equal one precedes
    them."""
    results, same = {}, {}
    for round_number in range(chosen.rounds):
        for pattern in chosen.pattern:
            if any(pattern in names for names in same.values()):
                continue
            for name in chosen.competitors:
                report = run(chosen, name, pattern, columns, round_number)
                results.setdefault(pattern, {}).setdefault(name, []).append(found(report, pattern))
                same[pattern] = [other for names in report["config"].get("coinciding", [])
                                 if pattern in names for other in names
                                 if other != pattern and other in chosen.pattern]
        print(f"{columns} column(s) a worker: round {round_number + 1} of {chosen.rounds}",
              file=sys.stderr)
    return results, same


def middle(runs):
    """Returns the median and smallest METG; a run that never reached one half counts as
    infinite."""
    found = [float("inf") if metg is None else metg for metg, _ in runs]
    return statistics.median(found), min(found)


def number(value):
    return "-" if value == float("inf") else f"{value:.3g}"


def print_table(results, same, competitors, columns):
    print(f"\nMETG(50 %), us: median (smallest), {columns} column(s) a worker\n"
          f"{'pattern':<20}{'goal':>6}" + "".join(f"{name:>20}" for name in competitors))
    for pattern, by_name in results.items():
        goal = GOALS_US.get(pattern)
        line = f"{pattern:<20}{goal if goal else '':>6}"
        for name in competitors:
            median, least = middle(by_name[name])
            line += f"{f'{number(median)} ({number(least)})':>20}"
        print(line)
    for pattern, names in same.items():
        if names:
            print(f"the same graph as {pattern} at this width, not measured again: "
                  f"{', '.join(names)}")


def draw(results, chosen, columns, file):
    """Draws efficiency against granularity, with a panel for each pattern."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    across = min(5, len(results))
    rows = -(-len(results) // across)
    picture, all_axes = pyplot.subplots(rows, across, figsize=(3.4 * across, 3 * rows),
                                        squeeze=False, sharex=True, sharey=True,
                                        layout="constrained")
    for axes in all_axes.flat[len(results):]:
        axes.set_visible(False)
    for axes, (pattern, by_name) in zip(all_axes.flat, results.items()):
        for name in chosen.competitors:
            runs = sorted(by_name[name], key=lambda r: float("inf") if r[0] is None else r[0])
            curve = runs[len(runs) // 2][1]
            axes.plot([grain / 1000 for _, grain, _ in curve],
                      [efficiency for _, _, efficiency in curve], marker=".", label=name)
        axes.axhline(0.5, color="#999999", linewidth=0.6, linestyle=":")
        axes.set_xscale("log")
        axes.set_title(pattern, fontsize=10)
        axes.grid(which="major", linewidth=0.3)
    for axes in all_axes[-1]:
        axes.set_xlabel("time x cores / tasks, us")
    all_axes[0][0].set_ylabel("efficiency")
    all_axes[0][0].legend(fontsize=7)
    picture.suptitle(f"{chosen.kernel} kernel, {chosen.workers} workers, {columns} column(s) a "
                     f"worker, median of {chosen.rounds} rounds")
    picture.savefig(file, dpi=130)
    print(f"\n{file}")


def main(given=None):
    chosen = arguments(sys.argv[1:] if given is None else given)
    os.makedirs(os.path.join(chosen.output, "reports"), exist_ok=True)
    for columns in chosen.columns:
        results, same = measure(chosen, columns)
        print_table(results, same, chosen.competitors, columns)
        base = os.path.join(chosen.output, f"task_graphs_{chosen.kernel}_{columns}")
        with open(base + ".json", "w", encoding="utf-8") as file:
            json.dump(results, file)
        try:
            draw(results, chosen, columns, base + ".png")
        except ImportError:
            print("compare: no matplotlib, no picture", file=sys.stderr)


if __name__ == "__main__":
    main()
