# SPDX-License-Identifier: Apache-2.0
"""Tests of the driver with a stub in place of the program: wrong runs are refused, figures
drawn."""

import json
import stat
import sys

import figures
import pytest
from panels import powers
from plan import Plan, Setting

PRETENDER = """#!{python}
import json, sys
a = sys.argv
value = lambda name: a[a.index(name) + 1]
open({log!r}, "a").write(" ".join(a[1:]) + "\\n")
if {fails!r} in a:
    sys.exit("no such backend")
state = "5eed" if {odd!r} in a else "cafe"
json.dump({{"name": "stars", "config": {{"state_fnv1a": state}},
           "metrics": {{"step_ms": 100 / int(value("--streams"))}},
           "checks": {{"mass drift": {lossy!r} not in a}}}}, open(value("--json"), "w"))
"""


@pytest.fixture
def pretend(tmp_path):
    def make(fails="never", odd="never", lossy="never"):
        program = tmp_path / "stars"
        program.write_text(PRETENDER.format(python=sys.executable, log=str(tmp_path / "log"),
                                            fails=fails, odd=odd, lossy=lossy))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)
    return make


def run(program, tmp_path, *more):
    return figures.main([program, "--output", str(tmp_path / "out"), "--workers", "2", "--most", "4,2",
                         "--best", "4,2", *more])


def test_draws_every_figure_and_keeps_the_measurements(pretend, tmp_path, capsys):
    assert run(pretend(), tmp_path) == 0
    for name in ("figure4", "figure5", "figure6", "figure7", "ablation"):
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 10_000
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert measured["host-word-s4-a1-w2"]["step_ms"] == 25
    assert "blocking / word" in capsys.readouterr().out


def test_does_not_repeat_a_finished_run(pretend, tmp_path):
    assert run(pretend(), tmp_path, "--figures", "5") == 0
    lines = (tmp_path / "log").read_text().count("\n")
    assert run(pretend(), tmp_path, "--figures", "5") == 0
    assert (tmp_path / "log").read_text().count("\n") == lines


def test_runs_again_when_the_program_or_the_problem_is_another(pretend, tmp_path):
    def lines():
        return (tmp_path / "log").read_text().count("\n")

    assert run(pretend(), tmp_path, "--figures", "5") == 0
    once = lines()
    assert run(pretend(), tmp_path, "--figures", "5", "--steps", "7") == 0
    assert lines() == 2 * once
    assert run(pretend(odd="no such word"), tmp_path, "--figures", "5") == 0
    assert lines() == 3 * once


def test_runs_compared_settings_side_by_side_in_rounds(pretend, tmp_path):
    assert run(pretend(), tmp_path, "--figures", "5", "--repeat", "2") == 0
    ways = [line.split()[3] for line in (tmp_path / "log").read_text().splitlines()]
    assert ways[:4] == ["block", "word", "block", "word"]
    assert ways[: len(ways) // 2] == ways[len(ways) // 2:]


@pytest.mark.parametrize(("fault", "told"), [({"fails": "callback"}, "no such backend"),
                                             ({"odd": "callback"}, "the state differs"),
                                             ({"lossy": "callback"}, "mass drift")])
def test_refuses_a_run_that_is_not_right(pretend, tmp_path, capsys, fault, told):
    assert run(pretend(**fault), tmp_path, "--figures", "4") == 1
    said = capsys.readouterr().err
    assert told in said
    assert "callback" in said
    assert not (tmp_path / "out" / "figure4.png").exists()


@pytest.mark.parametrize(("option", "value"), [("--figures", "8"), ("--best", "4"), ("--most", "0,1"),
                                               ("--best", "many,8")])
def test_refuses_an_option_that_makes_no_sense(pretend, tmp_path, capsys, option, value):
    with pytest.raises(SystemExit):
        run(pretend(), tmp_path, option, value)
    assert value in capsys.readouterr().err


def test_settings_have_names_of_their_own():
    plan = Plan("cuda", 16)
    settings = {s for f in plan.figures(figures.FIGURES, ["host", "cuda"]) for s in f.settings()}
    assert len({s.name() for s in settings}) == len(settings)
    assert Setting("cuda", workers=2, barriers=True).flags()[-2:] == ["--starling-barriers", "on"]
    assert powers(100) == [1, 2, 4, 8, 16, 32, 64]
