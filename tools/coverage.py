#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a build with counters (preset coverage) and prints the coverage by module.

Prints the share of lines and branches that the tests reach, as tables of Markdown. Branches that
only an exception takes are left out, because the compiler creates one for each call. The first
lines of functions are left out, too: where a function is inlined, its first line belongs only to
the separate copy, which never runs. A process that ends by a signal or by _exit leaves no counters.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
KINDS = ("line", "branch")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="folder of the build")
    parser.add_argument("--no-run", action="store_true", help="read the counters that are there")
    parser.add_argument("--below", type=float, default=80,
                        help="name the files with fewer lines in 100 than this [%(default)s]")
    parser.add_argument("ctest", nargs="*", help="further arguments of ctest, behind --")
    return parser.parse_args()


def run_tests(options):
    """Removes the counters of earlier runs and runs the tests, except those that link an installed
    Starling: their programs are not compiled with counters and do not link."""
    for counters in options.build.rglob("*.gcda"):
        counters.unlink()
    return subprocess.run(["ctest", "--test-dir", options.build, "--output-on-failure",
                           "-LE", "^install$", *options.ctest], check=False).returncode


def measured_files(options):
    summary = options.build / "coverage.json"
    subprocess.run([sys.executable, "-m", "gcovr", "--root", ROOT, "--filter", "src/", "--filter",
                    "include/", "--filter", "apps/", "--exclude", ".*/tests/", "--exclude-throw-branches",
                    "--exclude-unreachable-branches", "--gcov-ignore-parse-errors=all",
                    "--merge-mode-functions=merge-use-line-min", "--merge-lines",
                    "--exclude-function-lines",
                    "--json-summary", summary,
                    options.build], cwd=ROOT, check=True)
    return json.loads(summary.read_text())["files"]


def module_of(name):
    """Returns the module of a file: net for src/net/ucx/… and include/starling/net/…, apps/stars
    for apps/stars/…"""
    parts = name.split("/")
    if parts[0] == "include":
        return parts[2] if len(parts) > 3 else pathlib.Path(parts[2]).stem
    return parts[1] if parts[0] == "src" else "/".join(parts[:2])


def share(counts, kind):
    total = counts[kind + "_total"]
    if total == 0:
        return "–"
    return f"{100 * counts[kind + '_covered'] / total:.1f} % of {total}"


def main():
    options = parse()
    code = 0 if options.no_run else run_tests(options)
    files = measured_files(options)
    modules = collections.defaultdict(collections.Counter)
    for file in files:
        for module in (module_of(file["filename"]), "in all"):
            for kind in KINDS:
                for count in ("_total", "_covered"):
                    modules[module][kind + count] += file[kind + count]
    print("| module | lines | branches |\n|---|---|---|")
    for module in sorted(modules, key=lambda name: (name == "in all", name)):
        print(f"| {module} | {share(modules[module], 'line')} | {share(modules[module], 'branch')} |")
    low = [file for file in files if file["line_total"] and file["line_percent"] < options.below]
    if low:
        print(f"\nFiles below {options.below:g} % of lines:\n\n| file | lines | branches |\n|---|---|---|")
    for file in sorted(low, key=lambda f: f["line_percent"]):
        print(f"| {file['filename']} | {share(file, 'line')} | {share(file, 'branch')} |")
    return code


if __name__ == "__main__":
    sys.exit(main())
