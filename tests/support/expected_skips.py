# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that turns a skipped test into a failure, unless a listed reason excuses the
skip. expected_skips.cpp does the same for test programs.
"""

import os

import pytest

# A part of the reason -> whether this build excuses it.
EXCUSES = {
    "no history here: a source archive or a shallow clone": lambda: True,
    "yt is optional": lambda: True,
    "vtk is optional": lambda: True,
    "this Starling knows one rank only": lambda: "STARLING" not in os.environ,
    "built without HDF5": lambda: os.environ.get("STARLING_HAS_HDF5") != "1",
}


def is_excused(reason):
    return any(part in reason and holds() for part, holds in EXCUSES.items())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    report = (yield).get_result()
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2]
    if not is_excused(reason):
        report.outcome = "failed"
        report.longrepr = (f"skipped without an excuse that holds here ({reason}): mend what is "
                           "missing, or add the reason to tests/support/expected_skips.py")
