# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice between sub-grids of 8³ and of 16³ cells."""

import json
import shutil
import subprocess
import sys

import pytest
from program import STARS, VERIFY, last_plot, stars

sys.path.insert(0, str(VERIFY.parent))
from plotfile import plotfile  # noqa: E402


def cells_of(*arguments, folder):
    """Runs stars and returns the fields of the last plotfile on the finest level, by name."""
    stars(*arguments, "-o", folder, "--no-restart-file")
    file = plotfile(last_plot(folder))
    return {name: file.field(name) for name in file.names}


@pytest.mark.parametrize("residency", ["staged", "resident"])
def test_sub_grids_of_16_and_of_8_give_the_same_bits(residency, tmp_path):
    run = ["--steps", 8, "--residency", residency]
    large = cells_of("--sub-grid", 16, "--level", 1, *run, folder=tmp_path / "16")
    small = cells_of("--sub-grid", 8, "--level", 2, *run, folder=tmp_path / "8")
    assert large["density"].shape == (32, 32, 32)
    for name, cells in small.items():
        assert cells.tobytes() == large[name].tobytes(), name


def test_a_mesh_of_sub_grids_of_16_follows_the_flow(tmp_path):
    report = tmp_path / "r.json"
    stars("--sub-grid", 16, "--level", 3, "--min-level", 2, "--steps", 3, "--regrid-every", 2,
          "--no-restart-file", "-o", tmp_path, "--json", report)
    record = json.loads(report.read_text())
    assert record["checks"]["mass drift"] and record["checks"]["energy drift"]
    assert record["metrics"]["sub_grids"] == 64 - 8 + 64


def test_options_of_the_runtime_reach_the_program_for_sub_grids_of_16(tmp_path):
    said = stars("--sub-grid", 16, "--level", 1, "--steps", 1, "--starling-workers", 3,
                 "--no-plots", "--no-restart-file", "-o", tmp_path)
    assert "8 sub-grids" in said
    assert " 3 workers" in said


def test_the_program_for_sub_grids_of_16_must_lie_beside_stars(tmp_path):
    alone = shutil.copy(STARS, tmp_path)
    done = subprocess.run([alone, "--sub-grid", "16"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "--target stars_16" in done.stderr


def test_a_restart_file_of_other_sub_grids_names_the_option(tmp_path):
    stars("--level", 1, "--steps", 1, "--no-plots", "-o", tmp_path)
    out = stars("--sub-grid", 16, "--restart", tmp_path / "restart00001.h5", "-o", tmp_path, code=3)
    assert "give --sub-grid 8" in out
