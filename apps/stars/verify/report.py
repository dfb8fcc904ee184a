# SPDX-License-Identifier: Apache-2.0
"""Collects checks, prints them as a table and writes them as JSON."""

import json
import math
from pathlib import Path


class report:
    """A named list of measured values, some of which have a limit."""

    def __init__(self, name, **config):
        self.name = name
        self.config = config
        self._rows = []

    def at_most(self, what, value, limit):
        self._add(what, value, f"≤ {limit:.4g}", value <= limit)

    def at_least(self, what, value, limit):
        self._add(what, value, f"≥ {limit:.4g}", value >= limit)

    def equal(self, what, value, expected):
        self._add(what, value, f"= {expected}", value == expected)

    def note(self, what, value):
        """Adds a value without a limit."""
        self._rows.append((what, value, "", None))

    def _add(self, what, value, limit, passed):
        finite = not isinstance(value, float) or math.isfinite(value)
        self._rows.append((what, value, limit, bool(passed) and finite))

    @property
    def passed(self):
        """True if there is at least one check and every check holds."""
        verdicts = [row[3] for row in self._rows if row[3] is not None]
        return bool(verdicts) and all(verdicts)

    def table(self):
        head = ("check", "value", "limit", "")
        verdict = {True: "ok", False: "FAILED", None: ""}
        rows = [(w, _text(v), limit, verdict[p]) for w, v, limit, p in self._rows]
        width = [max(len(row[i]) for row in [head, *rows]) for i in range(4)]
        rule = "  ".join("-" * w for w in width)
        lines = [f"{self.name}", rule]
        for row in [head, *rows]:
            cells = (row[0].ljust(width[0]), row[1].rjust(width[1]), row[2].ljust(width[2]), row[3])
            lines.append("  ".join(cells).rstrip())
        lines.insert(3, rule)
        return "\n".join([*lines, rule])

    def write_json(self, path):
        """Writes {name, config, metrics, checks, passed}; values outside JSON (nan, inf) become
        null."""
        record = {
            "name": self.name,
            "config": self.config,
            "metrics": {row[0]: _plain(row[1]) for row in self._rows},
            "checks": {row[0]: row[3] for row in self._rows if row[3] is not None},
            "passed": self.passed,
        }
        Path(path).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value):
    return None if isinstance(value, float) and not math.isfinite(value) else value
