# SPDX-License-Identifier: Apache-2.0
"""Tests of the judges on files of several levels: each leaf counts with its own cells and its
volume. The fine cells fill one octant of the domain, or two halves of different levels."""

import analytic
import judge
import linear
import numpy as np
import pytest
import synthetic
import verify
from plotfile import plotfile

CELLS = 32
OCTANTS = [(0, 0, 0), (1, 0, 1)]


def _header(octant, **more):
    return {"unrefined": synthetic.refined_octant(octant), **more}


def _vortex(cells=CELLS, time=0.5):
    plane = analytic.isentropic_vortex_average(
        np.linspace(-1.0, 1.0, cells + 1), time, strength=5.0, radius=0.2, velocity=(0.0, 1.0),
        gamma=1.4)
    return np.broadcast_to(plane, (cells,) * 3).copy()


def _wave(time=2.0):
    line = analytic.linear_wave_average(np.linspace(-1.0, 1.0, CELLS + 1), time, amplitude=1e-6)
    return np.broadcast_to(line, (CELLS,) * 3).copy()


@pytest.mark.parametrize("octant", OCTANTS)
def test_exact_means_over_cells_of_each_level_have_no_error(store, octant):
    vortex = plotfile(store("v", _vortex(), **_header(octant, time=0.5)))
    assert judge.vortex_l1(vortex, azimuth=90.0) < 1e-10
    wave = plotfile(store("w", _wave(), **_header(octant, time=2.0)))
    assert judge.linear_wave_l1(wave) < 1e-8  # over the amplitude: rounding of 1 + 1e-6


@pytest.mark.parametrize("octant", OCTANTS)
@pytest.mark.parametrize("wrong", ["fine", "coarse"])
def test_errors_are_weighed_by_volume(store, octant, wrong):
    # Adds 0.01 in the octant, or in one of the seven that have coarse cells.
    place = octant if wrong == "fine" else tuple(1 - i for i in octant)
    x, y, z = (slice(16 * i, 16 * i + 16) for i in place)
    density = _vortex()
    density[z, y, x] += 0.01
    file = plotfile(store("v", density, **_header(octant, time=0.5)))
    assert judge.vortex_l1(file, azimuth=90.0) == pytest.approx(0.01 / 8.0, rel=1e-6)
    density = _wave()
    density[z, y, x] += 1e-8
    file = plotfile(store("w", density, **_header(octant, time=2.0)))
    assert judge.linear_wave_l1(file) == pytest.approx(0.01 / 8.0, rel=1e-6)


def test_vortices_on_several_levels_have_an_order(store):
    files = []
    for n in (32, 64):
        density = _vortex(n) + 10.0 * n**-2.0
        files.append(store(f"v{n}", density, **_header((0, 0, 0), time=0.5)))
    assert verify.main(["vortex", *files, "--azimuth", "90", "--min-order", "1.99"]) == 0
    limit = ["vortex", *files, "--azimuth", "90", "--max-l1"]
    assert verify.main([*limit, "2.5e-3"]) == 0  # 10/64²
    assert verify.main([*limit, "2.4e-3"]) == 1
    assert verify.main(["vortex", *files]) == 1  # another direction


@pytest.mark.parametrize("where", [(1, 2, 3), (20, 4, 5)])
@pytest.mark.parametrize("field", ["density", "egas", "tau", "sx"])
def test_a_uniform_flow_is_judged_in_cells_of_all_levels(tmp_path, where, field):
    one = np.ones((CELLS,) * 3)
    fields = synthetic.state(one, 3.0 * one) | {"sx": one, "tau": one * 2.5 ** (1 / 1.4)}
    header = _header((0, 0, 0), time=0.3)
    right = str(synthetic.write(tmp_path / "a", fields, **header))
    assert verify.main(["uniform-flow", right]) == 0
    fields[field] = fields[field].copy()
    fields[field][where] += 8e-12  # an eighth of it in a coarse cell
    wrong = str(synthetic.write(tmp_path / "b", fields, **header))
    assert verify.main(["uniform-flow", wrong]) == 1


@pytest.mark.parametrize("layers", ["shear", "falling"])
def test_the_amplitude_of_a_mode_is_that_of_the_means_over_cells(tmp_path, layers):
    # v = sin(k x) in a gas of density 1: the amplitude is 1 on any mesh.
    k, momentum = {"shear": (2.0 * np.pi, "sy"), "falling": (np.pi, "sz")}[layers]
    edges = np.linspace(-1.0, 1.0, CELLS + 1)
    line = analytic.linear_wave_average(edges, 0.0, amplitude=1.0, wavelength=2.0 * np.pi / k) - 1.0
    one = np.ones((CELLS,) * 3)
    fields = synthetic.state(one, 9.0 * one)
    fields[momentum] = one * line
    weight, across = {"shear": (linear.shear_weight(2.0), 1),
                      "falling": (linear.layer_weight(2.0), 2)}[layers]
    for name, header in (("a", {}), ("b", _header((0, 0, 0))), ("c", _header((1, 0, 1)))):
        file = plotfile(synthetic.write(tmp_path / name, fields, **header))
        assert judge._mode(file, momentum, across, k, weight) == pytest.approx(1.0, rel=1e-10)


def test_a_blast_on_several_levels_is_compared_with_means_over_its_own_cells(store):
    density = analytic.sedov_solution(1.4).density_average(CELLS, 1.0, 0.1)
    file = plotfile(store("a", density, unrefined=synthetic.refined_octant((1, 1, 0))))
    assert judge.blast_l1(file, 0.1) < 1e-3  # coarse means of the solution are sampled
    assert judge.blast_l1(file, 0.12) > 1e-2
