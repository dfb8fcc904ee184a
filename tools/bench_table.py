#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One table from the JSON reports of benchmarks: questions down, competitors across.

Reports of the same competitor with the same number of workers are series of one column; where
their figures differ by more than a tenth, the cell shows the range. The ratio is to the floor's
smallest figure (see --floor). Ends with 1 when a report contains a failed check.
"""

import argparse
import json
import sys

STATISTICS = {"median": "_ns", "min": "_min_ns", "max": "_max_ns", "cpu": "_cpu_ns"}


def read_report(path):
    """The report in `path`; ends the program with a clear line when it is not one."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        for key in ("name", "config", "metrics", "checks"):
            if key not in report:
                raise ValueError(f"no '{key}' in it")
    except (OSError, ValueError) as error:
        sys.exit(f"bench_table: {path}: {error}")
    return report


def questions_of(report):
    """The questions a report answers, in the order of its checks and then its metrics."""
    suffixes = [suffix for suffix in STATISTICS.values() if suffix != "_ns"]
    names = [key for key in report["metrics"] if key.endswith("_ns")]
    return [name[: -len("_ns")] for name in names if not name.endswith(tuple(suffixes))]


def column_of(report):
    workers = report["config"].get("workers", 1)
    return f"{report['name']} {workers}w"


def collect(reports, statistic):
    """columns (in order), questions (in order), values[question][column] = list of ns."""
    columns, questions, values, failed = [], [], {}, []
    for path, report in reports:
        column = column_of(report)
        if column not in columns:
            columns.append(column)
        for question in questions_of(report):
            if question not in questions:
                questions.append(question)
            figure = report["metrics"].get(question + STATISTICS[statistic])
            if figure is not None:
                values.setdefault(question, {}).setdefault(column, []).append(figure)
        failed += [f"{path}: {name}" for name, passed in report["checks"].items() if not passed]
    return columns, questions, values, failed


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def cell(figures, base):
    if not figures:
        return "–"
    low, high = min(figures), max(figures)
    text = number(low) if high <= 1.1 * low else f"{number(low)}–{number(high)}"
    if base:
        ratio = low / base
        text += f" ({ratio:.0f}×)" if ratio >= 100 else f" ({ratio:.1f}×)"
    return text


def table(columns, questions, values, floor):
    """Rows of cells, the heading first. Ratios compare smallest with smallest."""
    rows = [["ns per item", *columns]]
    for question in questions:
        row = values.get(question, {})
        base = min((min(row[c]) for c in row if c.split(" ")[0] == floor), default=None)
        rows.append([question, *(cell(row.get(column), base) for column in columns)])
    return rows


def print_table(rows, markdown):
    if markdown:
        for index, row in enumerate(rows):
            print("| " + " | ".join(row) + " |")
            if index == 0:
                print("|" + "---|" * len(row))
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  ".join(cells))


def draw(path, columns, questions, values):
    try:
        import matplotlib
    except ImportError:
        sys.exit("bench_table: --png needs the Python package matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(max(8, 1.3 * len(questions)), 5))
    width = 0.8 / len(columns)
    for index, column in enumerate(columns):
        shown = [(i, min(values[q][column])) for i, q in enumerate(questions)
                 if column in values.get(q, {})]
        places = [i + (index - (len(columns) - 1) / 2) * width for i, _ in shown]
        axes.bar(places, [height for _, height in shown], width, label=column)
    axes.set_yscale("log")
    axes.set_ylabel("ns per item (smaller is better)")
    axes.set_xticks(range(len(questions)), questions, rotation=30, ha="right")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(ncols=2, fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("--statistic", choices=STATISTICS, default="median",
                        help="which figure of each report (default: median)")
    parser.add_argument("--floor", default="floor", metavar="NAME",
                        help="competitor that ratios refer to (default: floor)")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--png", metavar="FILE", help="also draw bars into FILE")
    arguments = parser.parse_args()

    reports = [(path, read_report(path)) for path in arguments.reports]
    columns, questions, values, failed = collect(reports, arguments.statistic)
    print_table(table(columns, questions, values, arguments.floor), arguments.markdown)
    if arguments.png:
        draw(arguments.png, columns, questions, values)
    for check in failed:
        print(f"failed check in {check}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
