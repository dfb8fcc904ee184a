# SPDX-License-Identifier: Apache-2.0
"""Tests of the driver with stubs in place of the programs: wrong runs are refused, figures
drawn."""

import json
import stat
import sys

import jacobi2d
import pytest
from plan import ALONE, FIGURES, PROGRAMS, Alone, Plan

PRETENDER = """#!{python}
import json, sys
a = sys.argv
value = lambda name, other: a[a.index(name) + 1] if name in a else other
gpus = int(value("--gpus", 0)) or int(value("--workers", 0))
grid, odf = int(value("--grid", 0)), int(value("--odf", 1))
if {fails!r} in a:
    sys.exit("no such device")
time = 2e-9 * grid ** 2 / gpus
work = time
if "bench" not in a[0]:
    time = 1.1 * time + (0.008 / odf + 0.001 * odf if "asynchronous" in a else 0.01)
elif "nvshmem" in a[0]:
    time += 0.003
else:
    time += 0.001
checks = {{"analytic solution": {wrong!r} not in a}}
json.dump({{"config": {{"checksum": "odd" if {odd!r} in a else str(grid)}}, "checks": checks,
           "metrics": {{"iteration_ms": time, "kernel_min_ns": 1e6 * work}}}},
          open(value("--json", ""), "w"))
"""


@pytest.fixture
def pretend(tmp_path):
    def make(*programs, fails="never", odd="never", wrong="never"):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in ("jacobi2d", *programs):
            path = folder / name
            path.write_text(PRETENDER.format(python=sys.executable, fails=fails, odd=odd,
                                             wrong=wrong))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(folder)
    return make


def test_chooses_grids_that_have_rows_for_all_strips():
    chosen = [jacobi2d.parse(["bin", "--backend", "cuda", "--gpus", gpus]).grids for gpus in "124"]
    assert [grids[0] for grids in chosen] == [1024, 2048, 4096]


def run(folder, tmp_path, *more):
    return jacobi2d.main([folder, "--output", str(tmp_path / "out"), "--repeat", "1", *more])


def test_draws_both_figures_beside_the_hand_written_programs(pretend, tmp_path, capsys):
    assert run(pretend(*PROGRAMS.values()), tmp_path, "--backend", "cuda", "--gpus", "1,2,4",
               "--grids", "1024,2048,4096,8192") == 0
    for name in FIGURES:
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 10_000
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    by_hand = "8192-gpus2-cuda-by-hand"
    assert measured[by_hand]["iteration_ms"] > measured[by_hand + "-alone"]["iteration_ms"]
    said = capsys.readouterr().out
    assert "left out" not in said
    assert "8192², 4 GPUs: 0.04291 ms (resident asynchronous, odf 2); NVSHMEM by hand 0.852" in said
    assert "1024² on 4 GPUs (odf 4: 1.46)" in said
    assert f"{'8192², ' + ALONE:44}   100.0%   100.0%   100.0%" in said


def test_names_missing_programs_and_continues(pretend, tmp_path, capsys):
    folder = pretend(PROGRAMS["CUDA by hand"])
    assert run(folder, tmp_path, "--backend", "cuda", "--gpus", "1", "--grids", "64") == 0
    said = capsys.readouterr().out
    assert "left out: NVSHMEM by hand, as there is no bench_jacobi2d_nvshmem" in said
    assert "CUDA by hand 0." in said


def test_runs_no_hand_written_program_without_devices(pretend, tmp_path, capsys):
    assert run(pretend(*PROGRAMS.values()), tmp_path, "--grids", "256", "--figures", "strong") == 0
    said = capsys.readouterr().out
    assert said.count("for CUDA devices") == 2
    assert "256², 1 worker" in said
    assert "of ours" not in said


@pytest.mark.parametrize(("fault", "told"), [({"fails": "asynchronous"}, "no such device"),
                                             ({"odd": "asynchronous"}, "the state differs"),
                                             ({"odd": "--gpus"}, "the state differs"),
                                             ({"wrong": "asynchronous"}, "analytic solution")])
def test_refuses_a_run_that_is_not_right(pretend, tmp_path, capsys, fault, told):
    assert run(pretend(*PROGRAMS.values(), **fault), tmp_path, "--backend", "cuda") == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out" / "strong.png").exists()


@pytest.mark.parametrize(("option", "value"), [("--figures", "6.22"), ("--gpus", "0"),
                                               ("--gpus", "4,2"), ("--grids", "x")])
def test_refuses_an_option_that_makes_no_sense(pretend, tmp_path, capsys, option, value):
    with pytest.raises(SystemExit):
        run(pretend(), tmp_path, option, value)
    assert value in capsys.readouterr().err


def test_settings_have_names_of_their_own():
    plan = Plan([1, 2], [8, 16], [16], "cuda", list(PROGRAMS), ["--schedulers", "3"])
    found = {p.of if isinstance(p, Alone) else p for name in FIGURES
             for p in plan.figure(name).settings()}
    assert len({s.name() for s in found}) == len(found)


def test_only_resident_strips_get_their_options():
    plan = Plan([2], [16], [16], "cuda", list(PROGRAMS), ["--schedulers", "3"])
    told = {p.way for p in plan.strong().settings() if not isinstance(p, Alone)
            and "--schedulers" in p.flags()}
    assert told == {"resident synchronous"} | {f"resident asynchronous, odf {n}" for n in (1, 2, 4)}
