# SPDX-License-Identifier: Apache-2.0
"""Tests of the driver with stubs in place of the programs: wrong runs are refused, tables
printed."""

import json
import stat
import sys

import osu
import pytest

PRETENDER = """#!{python}
import json, sys
a = sys.argv[1:]
if a[0] == "launch":  # as starling: the program behind --
    import os
    a = a[a.index("--") + 1:]
    os.execv(a[0], a)
value = lambda name: a[a.index(name) + 1]
if {fails}:
    sys.exit("no such transport")
names = value("--only").split(",")
metrics = {{}}
for name in names:
    metrics |= {{name + "_min_ns": {ns}, name + "_ns": 2.0 * {ns}}}
json.dump({{"metrics": metrics, "checks": {{name: {right} for name in names}}}},
          open(value("--json"), "w"))
"""


def program_at(path, ns=500.0, fails=False, right=True):
    path.write_text(PRETENDER.format(python=sys.executable, ns=ns, fails=fails, right=right))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    program_at(folder / "starling")
    program_at(folder / "bench_osu_ucx", ns=250.0)
    program_at(folder / "bench_osu_starling_chares")
    return folder


def run(programs, tmp_path, *more):
    return osu.main([str(programs), "--output", str(tmp_path / "out"), "--rounds", "2",
                     "--ways", "ucx,chares,channels", "--sizes", "0b,8b,1m", *more])


def test_compares_the_built_programs_and_names_the_missing_ones(programs, tmp_path, capsys):
    assert run(programs, tmp_path) == 0
    said = capsys.readouterr().out
    assert "left out: channels" in said
    assert said.count("[2/2]") == 2
    latency = said[said.index("latency, "):said.index("bandwidth, ")]
    assert "0.25 (0.5)" in latency and "0.5 (1)" in latency
    measured = json.loads((tmp_path / "out" / "measured.json").read_text())
    assert measured["chares"]["bandwidth_1m"] == [500, 1000]
    assert (tmp_path / "out" / "osu.png").stat().st_size > 10_000


@pytest.mark.parametrize(("fault", "told"), [({"fails": True}, "no such transport"),
                                             ({"right": False}, "chares: latency_0b")])
def test_refuses_a_run_that_is_not_right(programs, tmp_path, capsys, fault, told):
    program_at(programs / "bench_osu_starling_chares", **fault)
    assert run(programs, tmp_path) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out" / "table.txt").exists()


def test_refuses_a_folder_without_programs(tmp_path, capsys):
    assert run(tmp_path, tmp_path) == 1
    assert "benchmarks" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--ways", "--sizes", "--measures"])
def test_refuses_unknown_names(programs, tmp_path, capsys, option):
    with pytest.raises(SystemExit):
        run(programs, tmp_path, option, "9b")
    assert "9b" in capsys.readouterr().err


def test_ranks_are_bound_on_request(tmp_path):
    for chosen, binding in (([], "none"), (["--bind", "core"], "core")):
        command = osu.launch(osu.parse([str(tmp_path), *chosen]), "starling")
        assert command[command.index("--bind") + 1] == binding
        assert command[-1] == "--"


def test_sizes_are_printed_in_their_units():
    assert osu.shown("latency", "8b", 1500) == 1.5
    assert osu.shown("bandwidth", "1k", 512) == 2
    assert osu.shown("bandwidth", "0b", 100) == 10
