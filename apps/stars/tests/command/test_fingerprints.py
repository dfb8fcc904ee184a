# SPDX-License-Identifier: Apache-2.0
"""Fixed fingerprints of short runs.

The bits of a run do not depend on machine, compiler, placement, workers or ranks (design note
0008), so that they can be given here. A test that fails shows that the results of `stars` have
changed. If that was not intended, the change is a fault, however small the difference. If it was
(another scheme, initial state, order of operations or time step), run `make verify`, put the new
values here in the same commit, and say in its message why they differ.
"""

import json

import pytest
from program import stars

RUNS = {
    "blast": ("--level 2 --steps 4", "eb8c9bfe53fd2881"),
    "walls": ("--level 1 --boundary reflecting --steps 5", "d5c04ba13f4a3109"),
    "tube": ("--problem sod --polar 60 --level 1 --steps 4", "a59e6ff7c3cbe9f2"),
    "wave": ("--problem linear-wave --level 1 --steps 4", "510d4efa3f796125"),
}


def fingerprint(folder, options, *more):
    report = folder / "r.json"
    stars(*options.split(), *more, "--no-plots", "--no-restart-file", "-o", folder,
          "--json", report)
    return json.loads(report.read_text())["config"]["state_fnv1a"]


@pytest.mark.parametrize("run", RUNS)
def test_a_run_has_its_fingerprint(run, tmp_path):
    options, expected = RUNS[run]
    assert fingerprint(tmp_path, options) == expected


def test_another_scheme_has_another_fingerprint(tmp_path):
    options, expected = RUNS["wave"]
    assert fingerprint(tmp_path, options, "--mutate-gamma", 1.6666666) != expected
