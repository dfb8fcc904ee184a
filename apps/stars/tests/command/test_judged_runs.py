# SPDX-License-Identifier: Apache-2.0
"""Runs of stars on meshes with fine cells in a part of the domain, and in periodic boxes, judged by
verify.py. The limits are the errors of uniform runs, and each check must refuse a wrong run.

A refinement expression can name no place, but angular momentum is about the origin: in a flow along
x, value(lz) is -y.
"""

import json

import pytest
from program import last_plot, stars, verify


def run(folder, name, *arguments, code=0):
    """Returns the last plotfile of a run and the number of its sub-grids."""
    where, report = folder / name, folder / f"{name}.json"
    stars(*arguments, "--no-restart-file", "-o", where, "--json", report, code=code)
    return last_plot(where), json.loads(report.read_text())["metrics"].get("sub_grids")


def measured(folder, *arguments):
    """Returns the values that verify.py reports, by name."""
    report = folder / "verify.json"
    verify(*arguments, "--json", report)
    return json.loads(report.read_text())["metrics"]


# Sod's tube --------------------------------------------------------------------------------------

SOD = ["--problem", "sod", "--steps", 0, "--stop-time", 0.1]
OBLIQUE = ["--polar", 60, "--azimuth", 30]
NORMAL = [0.75, 0.4330127018922193, 0.5]


def sod_error(folder, file, normal):
    return measured(folder, "sod", file, "--normal", *normal, "--max-l1", 1)["density L1"]


def test_a_shock_tube_along_an_oblique_normal(tmp_path):
    coarse, _ = run(tmp_path, "16", *SOD, *OBLIQUE, "--level", 1)
    fine, _ = run(tmp_path, "32", *SOD, *OBLIQUE, "--level", 2)
    limit = 0.75 * sod_error(tmp_path, coarse, NORMAL)
    check = ["--max-l1", limit, "--normal"]
    assert verify("sod", fine, *check, *NORMAL) == 0
    assert verify("sod", fine, *check, NORMAL[0], NORMAL[2], NORMAL[1]) == 1
    wrong, _ = run(tmp_path, "gamma", *SOD, *OBLIQUE, "--level", 2, "--mutate-gamma", 1.5)
    assert verify("sod", wrong, *check, *NORMAL) == 1


def test_a_mesh_that_follows_an_oblique_shock_tube(tmp_path):
    diagonal = [*SOD, "--polar", 54.735610317245346, "--azimuth", 45]
    uniform, _ = run(tmp_path, "32", *diagonal, "--level", 2)
    limit = 0.9 * sod_error(tmp_path, uniform, [1, 1, 1])
    follows = [*diagonal, "--level", 3, "--min-level", 1]
    right, sub_grids = run(tmp_path, "64", *follows)
    assert 64 < sub_grids < 512
    assert verify("sod", right, "--normal", 1, 1, 1, "--max-l1", limit) == 0
    wrong, _ = run(tmp_path, "ghosts", *follows, "--mutate-direction", 12, code=1)
    assert verify("sod", wrong, "--normal", 1, 1, 1, "--max-l1", limit) == 1


# smooth flows ------------------------------------------------------------------------------------


def test_a_vortex_between_coarse_and_fine_cells(tmp_path):
    # It moves along y; the half x > 0 has the fine cells, so that it turns through both levels.
    flow = ["--problem", "vortex", "--azimuth", 90, "--steps", 0, "--stop-time", 0.2]
    half = ["--level", 2, "--min-level", 1, "--refine", "value(lz) > 0.5 and value(lz) < 0.7"]
    coarse, _ = run(tmp_path, "16", *flow, "--level", 1)
    fine, _ = run(tmp_path, "32", *flow, "--level", 2)
    errors = measured(tmp_path, "vortex", coarse, fine, "--azimuth", 90)
    mean = 0.5 * (errors["density L1 at 16³"] + errors["density L1 at 32³"])
    check = ["--azimuth", 90, "--min-order", 0, "--max-l1", 1.05 * mean]
    right, sub_grids = run(tmp_path, "half", *flow, *half)
    assert sub_grids == 4 + 32
    assert verify("vortex", coarse, right, *check) == 0
    wrong, _ = run(tmp_path, "ghosts", *flow, *half, "--mutate-direction", 12, code=1)
    assert verify("vortex", coarse, wrong, *check) == 1


def test_a_sound_wave_through_an_octant_of_fine_cells(tmp_path):
    # The octant's cells near the crest with y and z from 0.3 to 0.6; it follows the crest.
    flow = ["--problem", "linear-wave", "--steps", 0, "--stop-time", 0.25]
    place = ("value(rho) > 1.00000095 and value(ly) > 3e-7 and value(ly) < 6e-7"
             " and value(lz) < -3e-7 and value(lz) > -6e-7")
    octant = ["--level", 2, "--min-level", 1, "--refine", place]
    coarse, _ = run(tmp_path, "16", *flow, "--level", 1)
    right, sub_grids = run(tmp_path, "octant", *flow, *octant)
    assert 8 < sub_grids < 64
    not_above_the_coarse = ["--min-order", 0]
    assert verify("linear-wave", coarse, right, *not_above_the_coarse) == 0
    assert verify("linear-wave", coarse, right, "--axis", "y", *not_above_the_coarse) == 1
    wrong, _ = run(tmp_path, "gamma", *flow, *octant, "--mutate-gamma", 1.5)
    assert verify("linear-wave", coarse, wrong, *not_above_the_coarse) == 1


def test_a_uniform_flow_across_a_change_of_level(tmp_path):
    flow = ["--polar", 60, "--azimuth", 30, "--speed", 0.5]
    part = ["--problem", "uniform-flow", *flow, "--level", 2, "--min-level", 1, "--steps", 6,
            "--regrid-every", 2, "--refine", "value(lx) > 0.3"]
    right, sub_grids = run(tmp_path, "part", *part)
    assert sub_grids == 6 + 16
    assert verify("uniform-flow", right, *flow) == 0
    wrong, _ = run(tmp_path, "ghosts", *part, "--mutate-direction", 12, code=1)
    assert verify("uniform-flow", wrong, *flow) == 1


# a blast in a periodic box -----------------------------------------------------------------------


@pytest.mark.parametrize("boundary", ["periodic", "outflow"])
def test_a_blast_after_it_has_met_its_images(boundary, tmp_path):
    """The front of a free blast would be at 1.1 half edges."""
    file, _ = run(tmp_path, "32", "--level", 2, "--radius", 0.21875, "--boundary", boundary,
                  "--steps", 0, "--stop-time", 1.2, "--plot-every", 40, "--residency", "resident")
    early = file.with_name("plt00040")
    report = tmp_path / "verify.json"
    check = ["--radius", 0.21875, "--json", report]
    assert verify("blast-periodic", early, *check) == 0  # nothing has reached the faces
    assert "from the similarity solution" in report.read_text()
    assert verify("blast-periodic", file, *check) == (0 if boundary == "periodic" else 1)
    held = json.loads(report.read_text())["checks"]
    assert held["density asymmetry"]
    assert held["density L1 from the walled octant, as 16³ cells"] == (boundary == "periodic")


def test_a_periodic_box_is_a_box_with_walls_for_a_blast(tmp_path):
    blast = ["--level", 1, "--steps", 0, "--stop-time", 1.5]
    box, _ = run(tmp_path, "box", *blast, "--boundary", "periodic")
    walls, _ = run(tmp_path, "walls", *blast, "--boundary", "reflecting")
    assert verify("compare", box, walls, "--tolerance", 1e-12) == 0
    away, _ = run(tmp_path, "outflow", *blast)
    assert verify("compare", box, away, "--tolerance", 1e-12) != 0
