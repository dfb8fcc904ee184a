# SPDX-License-Identifier: Apache-2.0
"""Tests of the driver with stubs in place of the programs: wrong runs are refused, figures
drawn."""

import json
import stat
import sys

import overlap
import pytest
from plan import Plan

PRETENDER = """#!{python}
import json, sys
a = sys.argv
value = lambda name: a[a.index(name) + 1]
if {fails!r} in a:
    sys.exit("no such device")
grid = "5eed" if {odd!r} in a else "cafe"
json.dump({{"name": "jacobi3d", "config": {{"checksum": grid}},
           "metrics": {{"iteration_ms": 10 + int(value("--odf")) + ("--graphs" not in a)}},
           "checks": {{"analytic solution": {wrong!r} not in a}}}}, open(value("--json"), "w"))
"""

BY_HAND = """#!{python}
import json, sys
a = sys.argv
if "--broken" in a:
    sys.exit(3)
json.dump({{"metrics": {{"step_min_ns": 22e6}}}}, open(a[a.index("--json") + 1], "w"))
"""


def program_at(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def pretend(tmp_path):
    def make(fails="never", odd="never", wrong="never"):
        return program_at(tmp_path / "jacobi3d",
                          PRETENDER.format(python=sys.executable, fails=fails, odd=odd,
                                           wrong=wrong))
    return make


@pytest.fixture
def by_hand(tmp_path):
    return program_at(tmp_path / "by_hand", BY_HAND.format(python=sys.executable))


def run(program, tmp_path, *more):
    return overlap.main([program, "--output", str(tmp_path / "out"), "--odf", "1,4", "--repeat", "1",
                         *more])


def test_draws_every_figure_and_compares_with_the_hand_written_program(pretend, by_hand, tmp_path,
                                                                       capsys):
    assert run(pretend(), tmp_path, "--by-hand", by_hand) == 0
    for name in overlap.FIGURES:
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 10_000
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert measured["odf4-direct-fusion-C-graphs"]["iteration_ms"] == 14
    said = capsys.readouterr().out
    assert "best: 11 ms per iteration (odf1-direct-fusion-A-graphs)" in said
    assert "by hand: 22 ms" in said
    assert "2.000 of ours" in said


@pytest.mark.parametrize(("fault", "told"), [({"fails": "C"}, "no such device"),
                                             ({"odd": "C"}, "the state differs"),
                                             ({"wrong": "C"}, "analytic solution")])
def test_refuses_a_run_that_is_not_right(pretend, tmp_path, capsys, fault, told):
    assert run(pretend(**fault), tmp_path, "--figures", "fusion") == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out" / "fusion.png").exists()


def test_refuses_a_program_by_hand_that_fails(pretend, by_hand, tmp_path, capsys):
    assert run(pretend(), tmp_path, "--figures", "fusion", "--by-hand", by_hand + " --broken") == 1
    assert "ended with 3" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), [("--figures", "5.7"), ("--odf", "0"), ("--odf", "x")])
def test_refuses_an_option_that_makes_no_sense(pretend, tmp_path, capsys, option, value):
    with pytest.raises(SystemExit):
        run(pretend(), tmp_path, option, value)
    assert value in capsys.readouterr().err


def test_settings_have_names_of_their_own():
    settings = {s for f in Plan([1, 2], True).figures(overlap.FIGURES) for s in f.settings()}
    assert len({s.name() for s in settings}) == len(settings)


def test_callbacks_are_used_where_the_backend_has_them():
    def called(callbacks):
        settings = Plan([1, 2], callbacks).completion().settings()
        return [s for s in settings if "--completion" in s.flags()]
    assert called(False) == []
    assert [s.odf for s in called(True)] == [1, 2]
    assert all(s.flags()[-2:] == ["--completion", "callback"] for s in called(True))
