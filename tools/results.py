#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tables from the JSON reports of benchmarks.

  results.py table REPORT.json...     one table on the terminal: questions down, competitors across
  results.py pages FOLDER [PAGE.md]   rewrites the tables of benchmarks/results from a run's reports

A table of a page stands between two comments. The first one holds its specification, in JSON:

  <!-- results: {"title": "Two cores",                    heading above the table
                 "reports": "tasks_*.json",               files, anywhere below FOLDER
                 "where": {"workers": 1},                 required name or configuration of a report
                 "heading": "ns per item",
                 "rows": ["spawn", ["a fork", "fib"]],    metrics, or title and metric
                 "columns": {"floor": {"where": {"name": "floor"}},
                             "least": {"metric": "{row}_min_ns"}},
                 "metric": "{row}_ns", "factor": 1,       of columns that name no metric
                 "command": "make bench"} -->
  <!-- end of results -->

A cell is the median of the matching reports, with the smallest value in brackets if several match.
Reports with a failed check, and reports of several machines in one table, are errors. A table
without reports below FOLDER stays as it is; a table without any results yet is invisible on the
page.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

STATISTICS = {"median": "_ns", "min": "_min_ns", "max": "_max_ns", "cpu": "_cpu_ns"}
PAGES = pathlib.Path(__file__).resolve().parents[1] / "benchmarks" / "results"
TABLE = re.compile(r"(<!-- results: (.*?) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def read_report(path):
    """Returns the report in `path`; exits with a clear message if the file is not a report."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        for key in ("name", "config", "metrics", "checks"):
            if key not in report:
                raise ValueError(f"no '{key}' in it")
    except (OSError, ValueError) as error:
        sys.exit(f"results: {path}: {error}")
    return report


def failed_checks(reports):
    return [f"{path}: {name}" for path, report in reports
            for name, passed in report["checks"].items() if not passed]


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


# --- a table on the terminal


def questions_of(report):
    """Returns the questions that a report answers, in the order of its metrics."""
    suffixes = [suffix for suffix in STATISTICS.values() if suffix != "_ns"]
    names = [key for key in report["metrics"] if key.endswith("_ns")]
    return [name[: -len("_ns")] for name in names if not name.endswith(tuple(suffixes))]


def column_of(report):
    workers = report["config"].get("workers", 1)
    return f"{report['name']} {workers}w"


def collect(reports, statistic):
    """Returns columns and questions (both in order) and values[question][column] = list of ns."""
    columns, questions, values = [], [], {}
    for _, report in reports:
        column = column_of(report)
        if column not in columns:
            columns.append(column)
        for question in questions_of(report):
            if question not in questions:
                questions.append(question)
            figure = report["metrics"].get(question + STATISTICS[statistic])
            if figure is not None:
                values.setdefault(question, {}).setdefault(column, []).append(figure)
    return columns, questions, values


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def cell(figures, base):
    """Formats a cell: a range if the figures of a column differ by more than a tenth, and the
    ratio to the floor."""
    if not figures:
        return "–"
    low, high = min(figures), max(figures)
    text = number(low) if high <= 1.1 * low else f"{number(low)}–{number(high)}"
    if base:
        ratio = low / base
        text += f" ({ratio:.0f}×)" if ratio >= 100 else f" ({ratio:.1f}×)"
    return text


def table(columns, questions, values, floor):
    """Returns rows of cells, the heading first. Ratios compare smallest with smallest."""
    rows = [["ns per item", *columns]]
    for question in questions:
        row = values.get(question, {})
        base = min((min(row[c]) for c in row if c.split(" ")[0] == floor), default=None)
        rows.append([question, *(cell(row.get(column), base) for column in columns)])
    return rows


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  ".join(cells))


def draw(path, columns, questions, values):
    try:
        import matplotlib
    except ImportError:
        sys.exit("results: --png needs the Python package matplotlib")
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


def show(chosen):
    reports = [(path, read_report(path)) for path in chosen.reports]
    columns, questions, values = collect(reports, chosen.statistic)
    rows = table(columns, questions, values, chosen.floor)
    if chosen.markdown:
        print(markdown(rows), end="")
    else:
        print_table(rows)
    if chosen.png:
        draw(chosen.png, columns, questions, values)
    failed = failed_checks(reports)
    for check in failed:
        print(f"failed check in {check}", file=sys.stderr)
    return 1 if failed else 0


# --- the tables of the pages


def matches(report, where):
    known = {"name": report["name"], **report["config"]}
    return all(known.get(key) == value for key, value in where.items())


def significant(value):
    """Formats a value with at least three digits and without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def figure_of(reports, metric, factor):
    """Formats the median of a metric over the reports that have it, and the smallest value if there
    are several."""
    found = [r["metrics"][metric] * factor for r in reports if metric in r["metrics"]]
    if not found:
        return "–"
    text = significant(statistics.median(found))
    return f"{text} ({significant(min(found))})" if len(found) > 1 else text


def origin(spec, reports):
    """Returns the lines above a table: the command, commit and machine of its reports."""
    # Keeps the processor, number of CPUs and compiler; drops the release of the kernel.
    machines = sorted({re.sub(r", \w+ \S+(?=, compiler)", "", r.get("machine", "not recorded"))
                       for r in reports})
    if len(machines) > 1:
        raise ValueError(f"reports of several machines in one table: {'; '.join(machines)}")
    commits = sorted({r.get("commit", "unknown") for r in reports})
    named = ", ".join("not recorded" if c in ("", "unknown") else c for c in commits)
    devices = sorted({r["config"]["device"] for r in reports if "device" in r["config"]})
    place = "; ".join([*devices, *machines])
    title = f"## {spec['title']}\n\n" if "title" in spec else ""
    return f"\n{title}    {spec['command']}\n\nCommit {named}. Machine: {place}.\n\n"


def table_of(spec, reports):
    """Returns the text between the two comments, from reports that match the `where` of the
    table."""
    rows = [[spec.get("heading", ""), *spec["columns"]]]
    for row in spec["rows"]:
        title, name = (row, row) if isinstance(row, str) else row
        cells = []
        for column in spec["columns"].values():
            metric = column.get("metric", spec.get("metric", "{row}_ns")).format(row=name)
            fitting = [r for r in reports if matches(r, column.get("where", {}))]
            cells.append(figure_of(fitting, metric, spec.get("factor", 1)))
        rows.append([title, *cells])
    return origin(spec, reports) + markdown(rows) + "\n"


def rewritten(text, folder):
    """Returns the page with new tables, and the number of tables for which reports were found."""
    count = 0

    def fill(match):
        nonlocal count
        spec = json.loads(match[2])
        found = [(path, read_report(path)) for path in sorted(folder.rglob(spec["reports"]))]
        found = [(path, r) for path, r in found if matches(r, spec.get("where", {}))]
        if not found:
            return match[0]
        if failed := failed_checks(found):
            raise ValueError(f"failed check in {failed[0]}")
        count += 1
        return match[1] + table_of(spec, [r for _, r in found]) + match[3]

    return TABLE.sub(fill, text), count


def rewrite(chosen):
    if not chosen.folder.is_dir():
        sys.exit(f"results: no folder {chosen.folder}")
    total = 0
    for page in chosen.pages or sorted(PAGES.glob("*.md")):
        try:
            text, count = rewritten(page.read_text(encoding="utf-8"), chosen.folder)
        except (OSError, ValueError, KeyError) as error:
            sys.exit(f"results: {page}: {error}")
        if count:
            page.write_text(text, encoding="utf-8")
            print(f"{page}: {count} table(s)")
        total += count
    if not total:
        sys.exit(f"results: no reports of any table below {chosen.folder}")
    return 0


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="table|pages")
    of_table = commands.add_parser("table", help="print one table")
    of_table.add_argument("reports", nargs="+", metavar="REPORT.json")
    of_table.add_argument("--statistic", choices=STATISTICS, default="median",
                          help="which figure of each report (default: median)")
    of_table.add_argument("--floor", default="floor", metavar="NAME",
                          help="competitor that ratios refer to (default: floor)")
    of_table.add_argument("--markdown", action="store_true", help="print a Markdown table")
    of_table.add_argument("--png", metavar="FILE", help="also draw bars into FILE")
    of_table.set_defaults(run=show)
    of_pages = commands.add_parser("pages", help="rewrite the tables of pages")
    of_pages.add_argument("folder", type=pathlib.Path, metavar="FOLDER",
                          help="where the reports of the run are")
    of_pages.add_argument("pages", nargs="*", type=pathlib.Path, metavar="PAGE.md",
                          help="default: all of benchmarks/results")
    of_pages.set_defaults(run=rewrite)
    chosen = parser.parse_args(given)
    return chosen.run(chosen)


if __name__ == "__main__":
    sys.exit(main())
