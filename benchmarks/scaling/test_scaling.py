# SPDX-License-Identifier: Apache-2.0
"""Tests of the driver with stubs in place of the programs: wrong runs are refused, figures
drawn."""

import json
import stat
import sys

import pytest
import scaling
from plan import Plan, grown

LAUNCHER = """#!{python}
import os, sys
assert sys.argv[1:3] == ["launch", "-n"]
os.environ["RANKS"] = sys.argv[3]
os.execv(sys.argv[4], sys.argv[4:])
"""

PRETENDER = """#!{python}
import json, os, sys
a = sys.argv
value = lambda name: a[a.index(name) + 1]
ranks, odf = int(os.environ["RANKS"]), int(value("--odf"))
if {fails!r} in a:
    sys.exit("no such device")
cells = 1
for i in (1, 2, 3):
    cells *= int(a[a.index("--grid") + i])
state = "odd" if {odd!r} in a and ranks > 1 else str(cells)
time = cells / ranks / 1000 + abs(odf - 2) + ("staged" in a)
json.dump({{"config": {{"checksum": state}}, "metrics": {{"iteration_ms": time}},
           "checks": {{"analytic solution": {wrong!r} not in a}}}}, open(value("--json"), "w"))
"""


def program_at(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def pretend(tmp_path):
    def make(fails="never", odd="never", wrong="never"):
        program_at(tmp_path / "starling", LAUNCHER.format(python=sys.executable))
        program_at(tmp_path / "jacobi3d", PRETENDER.format(python=sys.executable, fails=fails,
                                                           odd=odd, wrong=wrong))
        return str(tmp_path)
    return make


def run(folder, tmp_path, *more):
    return scaling.main([folder, "--output", str(tmp_path / "out"), "--sizes", "10,20",
                         "--repeat", "1", *more])


def test_draws_both_figures_at_the_best_overdecomposition(pretend, tmp_path, capsys):
    assert run(pretend(), tmp_path, "--ranks", "1,2,4") == 0
    for name in ("strong", "weak"):
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 10_000
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert measured["best-20x20x20-ranks4-direct-odf1"]["iteration_ms"] == 2
    assert measured["best-20x20x20-ranks4-staged-odf1"]["iteration_ms"] == 3
    said = capsys.readouterr().out
    assert f"{'20³, direct':44}   100.0%   100.0%   100.0%" in said
    assert f"{'20³ for each rank, staged':44}   100.0%   100.0%   100.0%" in said
    assert f"{'20³, staged':44}   100.0%    90.0%    75.0%" in said


@pytest.mark.parametrize(("fault", "told"), [({"fails": "staged"}, "no such device"),
                                             ({"odd": "staged"}, "the state differs"),
                                             ({"wrong": "staged"}, "analytic solution")])
def test_refuses_a_run_that_is_not_right(pretend, tmp_path, capsys, fault, told):
    assert run(pretend(**fault), tmp_path) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out" / "strong.png").exists()


@pytest.mark.parametrize(("option", "value"), [("--figures", "5.7"), ("--odf", "0"), ("--odf", "4,2"),
                                               ("--ranks", "1,3")])
def test_refuses_an_option_that_makes_no_sense(pretend, tmp_path, capsys, option, value):
    with pytest.raises(SystemExit):
        run(pretend(), tmp_path, option, value)
    assert value in capsys.readouterr().err


def test_a_grid_grows_by_one_side_after_the_other():
    assert [grown((10, 10, 10), n) for n in (1, 2, 4, 8)] == [
        (10, 10, 10), (10, 10, 20), (10, 20, 20), (20, 20, 20)]


def test_settings_have_names_of_their_own():
    settings = {s for name in scaling.FIGURES for p in Plan([1, 2, 4], [1, 2], [8, 16]).figure(name).settings()
                for s in p.of}
    assert len({s.name() for s in settings}) == len(settings)
