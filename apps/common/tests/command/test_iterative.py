# SPDX-License-Identifier: Apache-2.0
"""Tests of the programs of Jacobi's method from the command line. The environment variables
JACOBI2D and JACOBI3D hold their paths."""

import json
import os
import subprocess

import pytest

GRIDS = {"jacobi2d": ["20", "12"], "jacobi3d": ["12", "10", "8"]}
PROGRAMS = pytest.mark.parametrize("name", GRIDS)


def run(name, *arguments, code=0, backend="host"):
    command = [os.environ[name.upper()], "--backend", backend, "--workers", "2", "--no-progress",
               *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code in (0, 1) else done.stderr


def small(name, *more, code=0):
    return run(name, "--grid", *GRIDS[name], "--iterations", 5, "--odf", 2, *more, code=code)


@PROGRAMS
def test_help_lists_the_options(name):
    said = run(name, "--help")
    for option in ("--grid", "--odf", "--exchange", "--run-ahead", "--json", "--workers"):
        assert option in said
    assert "--spoil" not in said


@PROGRAMS
def test_a_run_reports_its_settings_measurements_and_checks(name, tmp_path):
    file = tmp_path / "run.json"
    said = small(name, "--graphs", "--verify", "--warmup", 3, "--json", file)
    report = json.loads(file.read_text())
    assert report["name"] == name
    config = report["config"]
    assert (config["grid"], config["odf"], config["warmup"]) == (" ".join(GRIDS[name]), 2, 3)
    assert (config["exchange"], config["graphs"]) == ("direct", "on")
    assert (config["workers"], config["backend"], config["placement"]) == (2, "host", "block")
    assert len(config["checksum"]) == 16
    metrics = report["metrics"]
    assert metrics["iterations"] == 5
    assert metrics["captures"] == 8
    assert metrics["iteration_ms"] > 0
    bytes_moved = metrics["cell_updates_per_s"] * (8 if name == "jacobi2d" else 16)
    assert metrics["least_bandwidth_gb_per_s"] == pytest.approx(bytes_moved * 1e-9)
    assert report["checks"] == {"analytic solution": True, "bits of the serial solver": True}
    assert "bits of the serial solver" in said


def test_halos_have_the_surface_of_the_cuts(tmp_path):
    file = tmp_path / "run.json"
    small("jacobi3d", "--json", file)  # 12 x 10 x 8: two parts across x of two blocks across y or x
    report = json.loads(file.read_text())
    assert report["config"]["parts"] == "2 1 1"
    assert report["metrics"]["halo_between_workers_mb"] == pytest.approx(10 * 8 * 16e-6)
    assert report["metrics"]["halo_mb"] > report["metrics"]["halo_between_workers_mb"]
    small("jacobi3d", "--json", file, "--round-robin")
    report = json.loads(file.read_text())
    assert report["config"]["placement"] == "round_robin"
    assert "halo_between_workers_mb" not in report["metrics"]
    small("jacobi2d", "--json", file)
    assert json.loads(file.read_text())["metrics"]["halo_mb"] == pytest.approx(3 * 20 * 8e-6)


@PROGRAMS
def test_a_wrong_cell_fails_the_checks(name, tmp_path):
    file = tmp_path / "run.json"
    small(name, "--spoil", "--verify", "--json", file, code=1)
    assert not any(json.loads(file.read_text())["checks"].values())


@PROGRAMS
def test_a_run_that_does_not_converge_fails(name):
    assert "converged" in small(name, "--tolerance", 1e-9, code=1)


@PROGRAMS
@pytest.mark.parametrize("bad", ["--odf 0", "--exchange pigeon", "--problem none", "--run-ahead 1",
                                 "--grid 8", "--tolerance 2", "--no-such-option"])
def test_bad_usage_names_the_option(name, bad):
    assert bad.split()[0] in run(name, *bad.split(), code=2)


@PROGRAMS
def test_options_that_exclude_each_other_are_refused(name):
    assert "--graphs" in small(name, "--exchange", "staged", "--graphs", code=2)


@PROGRAMS
def test_a_grid_that_cannot_be_cut_names_it(name):
    said = run(name, "--grid", *["2"] * len(GRIDS[name]), "--odf", 50, code=2)
    assert "--grid" in said
    assert "cannot be cut into" in said


@PROGRAMS
def test_a_file_that_cannot_be_written_is_reported_before_the_run(name):
    assert "/no/such/folder" in small(name, "--json", "/no/such/folder/run.json", code=3)


@PROGRAMS
def test_a_missing_backend_is_reported(name):
    assert "quantum" in run(name, backend="quantum", code=2)
