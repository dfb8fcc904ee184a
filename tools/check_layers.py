#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the layers, the folders of vendors' headers, folder cycles and the size budgets.

Prints one row for each check; exits with 1 and prints file:line and a remedy for each violation.
--self-test shows that every check can fail. ARCHITECTURE.md describes the layers and their reasons.
"""

import argparse
import sys
from pathlib import Path

from layers.rules import RULES
from layers.self_test import run as self_test
from layers.source import read_tree


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true", help="plant violations and find them")
    options = parser.parse_args()

    if options.self_test:
        failures, cases = self_test()
        for failure in failures:
            print(failure)
        print(f"check_layers: {cases} self-tests, {len(failures)} failed")
        return 1 if failures else 0

    sources = read_tree(options.root)
    if not sources:
        sys.exit(f"check_layers: no sources below {options.root}")
    violations = []
    print(f"{'check':22} {'measured':38} {'limit':22} verdict")
    for name, limit, rule in RULES:
        measured, found = rule(sources)
        violations += found
        verdict = f"{len(found)} violations" if found else "ok"
        print(f"{name:22} {measured:38} {limit:22} {verdict}")
    for item in violations:
        print(item)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
