# SPDX-License-Identifier: Apache-2.0
"""Tests of compare.py with stubs in place of the programs: its output, and refused arguments."""

import json
import stat
import sys

import compare
import pytest

PRETENDER = """#!{python}
import json, os, sys
a = sys.argv
pattern = a[a.index("--pattern") + 1]
count = {folder!r} + "/" + os.path.basename(a[0]) + "." + pattern
done = os.path.getsize(count) if os.path.exists(count) else 0
open(count, "a").write("x")
if "--spoil" in a:
    sys.exit(3)
metg = {metg}[done]
metrics = {{}} if metg is None else {{pattern + "_metg_ns": metg}}
columns = int(a[a.index("--columns-per-worker") + 1])
config = {{"curve_" + pattern: [[1, 100, 0.2], [9, 900, 0.9]], "columns_per_worker": columns,
          "coinciding": [["stencil_1d", "fft", "spread"]] if columns == 1 else []}}
json.dump({{"metrics": metrics, "config": config}}, open(a[a.index("--json") + 1], "w"))
"""


@pytest.fixture
def folder(tmp_path):
    def program(name, *metg):
        path = tmp_path / f"bench_task_graphs_{name}"
        path.write_text(PRETENDER.format(python=sys.executable, folder=str(tmp_path), metg=metg))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    program("starling_tasks", 400, 200, 300)
    program("openmp", 5000, None, None)
    return tmp_path


def run(folder, *more):
    compare.main([str(folder), "--output", str(folder / "out"), *more])


def test_prints_median_and_minimum_of_the_built_programs(folder, capsys):
    run(folder, "--pattern", "fft,dom")
    table = capsys.readouterr().out.splitlines()
    assert table[2].split() == ["pattern", "goal", "starling_tasks", "openmp"]
    assert table[3].split() == ["fft", "1.0", "0.3", "(0.2)", "-", "(5)"]
    assert table[4].split() == ["dom", "0.3", "(0.2)", "-", "(5)"]


def test_keeps_every_run_and_draws(folder):
    run(folder, "--pattern", "fft")
    kept = json.loads((folder / "out" / "task_graphs_compute_1.json").read_text())
    assert [metg for metg, _ in kept["fft"]["starling_tasks"]] == [0.4, 0.2, 0.3]
    assert (folder / "out" / "task_graphs_compute_1.png").stat().st_size > 10_000
    assert len(list((folder / "out" / "reports").glob("compute_openmp_fft_1_*.json"))) == 3


def test_measures_patterns_that_are_one_graph_once_and_names_them(folder, capsys):
    run(folder, "--pattern", "stencil_1d,dom,fft", "--rounds", "1")
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[3:5]] == ["stencil_1d", "dom"]
    assert table[5] == "the same graph as stencil_1d at this width, not measured again: fft"


def test_measures_all_patterns_where_the_graphs_differ(folder, capsys):
    run(folder, "--pattern", "stencil_1d,fft", "--rounds", "1", "--columns", "4")
    table = capsys.readouterr().out.splitlines()
    assert table[1].endswith("4 column(s) a worker")
    assert [line.split()[0] for line in table[3:5]] == ["stencil_1d", "fft"]
    assert "the same graph" not in "".join(table)


def test_measures_each_number_of_columns(folder, capsys):
    run(folder, "--pattern", "dom", "--rounds", "1", "--columns", "1,4")
    assert capsys.readouterr().out.count("METG") == 2
    assert (folder / "out" / "task_graphs_compute_4.json").exists()


def test_passes_flags_on_and_ends_when_a_program_fails(folder):
    with pytest.raises(SystemExit, match="ended with 3"):
        run(folder, "--pattern", "fft", "--", "--spoil")


@pytest.mark.parametrize("bad", ["--pattern pigeon", "--rounds 0", "--competitors opnemp",
                                 "--columns 4,1"])
def test_refuses_invalid_options(folder, bad, capsys):
    with pytest.raises(SystemExit) as ended:
        run(folder, *bad.split())
    assert ended.value.code == 2
    assert bad + ":" in capsys.readouterr().err


def test_refuses_a_folder_without_programs(tmp_path):
    with pytest.raises(SystemExit, match="no bench_task_graphs"):
        run(tmp_path)
