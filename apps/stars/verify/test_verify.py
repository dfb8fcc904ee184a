# SPDX-License-Identifier: Apache-2.0
"""Tests of verify.py: every check passes on good data and fails on data with the fault it
detects."""

import json

import analytic
import judge
import linear
import numpy as np
import pytest
import synthetic
import verify
from plotfile import bad_plotfile, plotfile

CELLS = 16


def _radius(cells):
    centre = (np.arange(cells) + 0.5) / cells * 2.0 - 1.0
    z, y, x = np.meshgrid(centre, centre, centre, indexing="ij")
    # Sorted, so that the order of summation does not break the symmetry of the data.
    return np.sqrt(np.sort(np.stack([x * x, y * y, z * z]), axis=0).sum(axis=0))


def _bump(cells=CELLS):
    return 1.0 + np.exp(-8.0 * _radius(cells) ** 2)


# conservation ------------------------------------------------------------------------------------


def test_conservation_holds_when_matter_only_moves(store):
    first = store("a", _bump(), step=0)
    last = store("b", np.roll(_bump(), 3, axis=0), step=15)
    assert verify.main(["conservation", first, last]) == 0


def test_conservation_counts_the_outflow(store):
    lost = dict.fromkeys(synthetic.CONSERVED, 0.0) | {"egas": 8.0}
    first = store("a", _bump(), energy=np.full((CELLS,) * 3, 2.0), step=0)
    assert verify.main(["conservation", first, store("b", _bump(), step=9)]) == 1
    assert verify.main(["conservation", first, store("c", _bump(), step=9, outflow=lost)]) == 0


@pytest.mark.parametrize("field", ["density", "egas"])
def test_conservation_notices_one_part_in_1e13(store, field):
    fields = {"density": np.ones((CELLS,) * 3), "energy": np.ones((CELLS,) * 3)}
    first = store("a", **fields, step=0)
    fields["energy" if field == "egas" else field][3, 4, 5] += CELLS**3 * 1e-13
    assert verify.main(["conservation", first, store("b", **fields, step=15)]) == 1


def test_conservation_refuses_files_in_the_wrong_order(store, capsys):
    a, b = store("a", _bump(), step=0), store("b", _bump(), step=15)
    assert verify.main(["conservation", b, a]) == 2
    assert "does not come after" in capsys.readouterr().err


def test_conservation_needs_the_outflow(store, capsys):
    a, b = store("a", _bump(), step=0), store("b", _bump(), step=1, outflow={"tau": 0.0})
    assert verify.main(["conservation", a, b]) == 2
    assert "no outflow recorded for 'density'" in capsys.readouterr().err


def _moving(speed):
    one = np.ones((CELLS,) * 3)
    fields = synthetic.state(one, 2.0 * one)
    fields["sx"] = speed * one
    return fields


def test_conservation_notices_momentum_and_counts_its_outflow(tmp_path, capsys):
    # Mass 8 and energy 16 have the momentum scale √(2·8·16) = 16.
    first = str(synthetic.write(tmp_path / "a", _moving(0.0), step=0))
    last = _moving(2e-13)
    moved = str(synthetic.write(tmp_path / "b", last, step=9))
    assert verify.main(["conservation", first, moved]) == 1
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("sx drift"))
    assert " 1e-13 " in row and "FAILED" in row
    assert verify.main(["conservation", first, moved, "--max-drift", "1.1e-13"]) == 0
    lost = dict.fromkeys(synthetic.CONSERVED, 0.0) | {"sx": -1.6e-12}
    pushed = str(synthetic.write(tmp_path / "c", last, step=9, outflow=lost))
    assert verify.main(["conservation", first, pushed]) == 0


@pytest.mark.parametrize("axis", ["sx", "sy", "sz"])
def test_conservation_notices_one_cell_that_moves(tmp_path, axis):
    first = str(synthetic.write(tmp_path / "a", _moving(0.5), step=0))
    fields = _moving(0.5)
    fields[axis][3, 4, 5] += CELLS**3 * 1e-13
    last = str(synthetic.write(tmp_path / "b", fields, step=9))
    assert verify.main(["conservation", first, last]) == 1


# symmetry ----------------------------------------------------------------------------------------


def test_symmetry_holds_for_a_sphere(store):
    assert verify.main(["symmetry", store("a", _bump())]) == 0


@pytest.mark.parametrize("where", [(0, 0, 0), (5, 6, 7), (8, 8, 3)])
def test_symmetry_notices_one_cell(store, where):
    density = _bump()
    density[where] += 1e-12
    assert verify.main(["symmetry", store("a", density)]) == 1


def test_symmetry_notices_a_rotation_that_keeps_the_mirrors(store):
    density = _bump() * np.linspace(1.0, 1.0 + 1e-12, CELLS)[:, None, None]
    density = 0.5 * (density + density[::-1])
    density[:, :, CELLS // 2] += 1e-12
    density[:, :, CELLS // 2 - 1] += 1e-12
    assert np.array_equal(density, density[:, :, ::-1])
    assert verify.main(["symmetry", store("a", density)]) == 1


def test_symmetry_fails_on_nan(store):
    density = _bump()
    density[0, 0, 0] = np.nan
    assert verify.main(["symmetry", store("a", density)]) == 1


# sod ---------------------------------------------------------------------------------------------


def _sod(cells=32, t=0.1):
    line = analytic.riemann_problem().density_average(np.linspace(-1.0, 1.0, cells + 1), t)
    return np.broadcast_to(line, (cells,) * 3).copy()


def test_sod_accepts_the_exact_averages(store):
    assert verify.main(["sod", store("a", _sod(), time=0.1), "--max-l1", "1e-12"]) == 0


def test_sod_rejects_a_solution_that_is_late(store):
    assert verify.main(["sod", store("a", _sod(t=0.12), time=0.1), "--max-l1", "4e-3"]) == 1


def test_sod_rejects_the_wrong_direction(store):
    file = store("a", np.ascontiguousarray(_sod().T), time=0.1)
    assert verify.main(["sod", file, "--max-l1", "4e-3"]) == 1
    assert verify.main(["sod", file, "--max-l1", "1e-12", "--normal", "0", "0", "1"]) == 0


def test_sod_oblique_is_nearly_the_aligned_one_at_a_small_angle(store):
    file = store("a", _sod(), time=0.1)
    assert verify.main(["sod", file, "--max-l1", "2e-3", "--normal", "1", "1e-9", "0"]) == 0


def test_sod_needs_a_time(store, capsys):
    assert verify.main(["sod", store("a", _sod()), "--max-l1", "1"]) == 2
    assert "needs a time > 0" in capsys.readouterr().err


def test_the_norm_of_published_figures_stops_sampling_early(store, capsys):
    # At 16³ and t = 0.1 the shock is at 0.175, 0.4 cells from the edge of its cell. For a cell with
    # a large error two points suffice, one of them behind the shock; the exact average is 0.4 of
    # the jump.
    file = store("a", _sod(16), time=0.1)
    command = ["sod", file, "--norm", "octo-tiger", "--max-l1"]
    assert verify.main([*command, "5e-3"]) == 0
    assert verify.main([*command, "1e-4"]) == 1
    assert "exact averages" in capsys.readouterr().out


def test_the_norm_of_published_figures_is_for_a_tube_along_x(store, capsys):
    file = store("a", np.ascontiguousarray(_sod(16).T), time=0.1)
    assert verify.main(["sod", file, "--norm", "octo-tiger", "--max-l1", "1"]) == 2
    assert "varies across the tube" in capsys.readouterr().err


# linear wave -------------------------------------------------------------------------------------


def _wave(cells, error):
    edges = np.linspace(-1.0, 1.0, cells + 1)
    line = analytic.linear_wave_average(edges, 2.0, amplitude=1e-6 * (1.0 - error))
    return np.broadcast_to(line, (cells,) * 3).copy()


def _waves(store, power):
    return [store(f"w{n}", _wave(n, 5.0 * n**-power), time=2.0) for n in (16, 32)]


def test_linear_wave_measures_the_order(store):
    assert verify.main(["linear-wave", *_waves(store, 2.0)]) == 0


def test_linear_wave_rejects_first_order(store):
    assert verify.main(["linear-wave", *_waves(store, 1.0)]) == 1


def test_linear_wave_rejects_a_wave_that_vanished(store):
    files = [store(f"w{n}", np.ones((n,) * 3), time=2.0) for n in (16, 32)]
    assert verify.main(["linear-wave", *files]) == 1


def test_convergence_needs_the_files_coarse_to_fine(store, capsys):
    assert verify.main(["linear-wave", *reversed(_waves(store, 2.0))]) == 2
    assert "coarse to fine" in capsys.readouterr().err


def test_convergence_needs_equal_times(store, capsys):
    files = [store(f"w{n}", _wave(n, 0.1), time=t) for n, t in ((16, 2.0), (32, 2.1))]
    assert verify.main(["linear-wave", *files]) == 2
    assert "time 2.1" in capsys.readouterr().err


# uniform flow ------------------------------------------------------------------------------------


@pytest.fixture
def uniform(tmp_path):
    """Returns uniform(name, **changes), which writes a flow with speed 2 along y."""

    def write(name, **changes):
        one = np.ones((8,) * 3)
        fields = synthetic.state(one, one * (2.5 + 2.0))
        fields |= {"sy": 2.0 * one, "tau": one * 2.5 ** (1 / 1.4)}
        for field, value in changes.items():
            fields[field] = fields[field].copy()
            fields[field][1, 2, 3] += value
        return str(synthetic.write(tmp_path / name, fields, time=0.3))

    return write


def test_uniform_flow_is_that_of_the_options(uniform):
    assert verify.main(["uniform-flow", uniform("a"), "--speed", "2", "--azimuth", "90"]) == 0
    assert verify.main(["uniform-flow", uniform("b"), "--speed", "2"]) == 1


@pytest.mark.parametrize("field", ["density", "egas", "tau", "sx", "sy", "sz", "species0"])
def test_uniform_flow_notices_one_cell(uniform, field):
    file = uniform("a", **{field: 2e-13})
    assert verify.main(["uniform-flow", file, "--speed", "2", "--azimuth", "90"]) == 1


# vortex ------------------------------------------------------------------------------------------


def _vortices(store, power):
    files = []
    for n in (16, 32):
        plane = analytic.isentropic_vortex_average(
            np.linspace(-1.0, 1.0, n + 1), 0.5, strength=5.0, radius=0.2, velocity=(0.0, 1.0),
            gamma=1.4)
        density = np.broadcast_to(plane, (n,) * 3) + 10.0 * n**-power
        files.append(store(f"v{n}", density, time=0.5))
    return files


def test_vortex_measures_the_order(store):
    files = _vortices(store, 2.0)
    assert verify.main(["vortex", *files, "--azimuth", "90"]) == 0
    assert verify.main(["vortex", *files]) == 1  # another direction
    assert verify.main(["vortex", *files, "--azimuth", "90", "--strength", "4"]) == 1


def test_vortex_rejects_first_order(store):
    assert verify.main(["vortex", *_vortices(store, 1.0), "--azimuth", "90"]) == 1


# instabilities -----------------------------------------------------------------------------------


def _store_mode(path, mode, time, momentum, factor):
    """Writes a flow of 32³ cells with `factor` times the velocity of a mode across its layers."""
    mode.advance(time)
    x = (np.arange(32) + 0.5) / 16.0 - 1.0
    v = np.interp(x, mode.faces, mode.state[2].real)
    v = v + 1j * np.interp(x, mode.faces, mode.state[2].imag)
    velocity = factor * np.real(v[:, None] * np.exp(1j * mode.k * x)[None, :])
    layers = mode.flow.density(x)[:, None] * np.ones(32)
    shape = (slice(None), None) if momentum == "sz" else (None,)  # layers along z or along y
    density = np.broadcast_to(layers[shape], (32,) * 3).copy()
    fields = synthetic.state(density, density * 9.0)
    fields[momentum] = np.broadcast_to((layers * velocity)[shape], (32,) * 3).copy()
    return str(synthetic.write(path, fields, time=time, gamma=5.0 / 3.0))


def test_kelvin_helmholtz_compares_the_mode_with_the_linear_equations(tmp_path):
    def file(name, factor):
        mode = linear.perturbation(linear.shear_layers(2.0, 0.1), 2.0 * np.pi,
                                   lambda y: np.full_like(y, 0.01), 400)
        return _store_mode(tmp_path / name, mode, 0.3, "sy", factor)

    options = ["--width", "0.1", "--max-difference", "0.05"]
    right = file("a", 1.0)
    assert verify.main(["kelvin-helmholtz", right, *options]) == 0
    assert verify.main(["kelvin-helmholtz", right, *options, "--amplitude", "0.011"]) == 1
    assert verify.main(["kelvin-helmholtz", file("b", 0.92), *options]) == 1


def test_rayleigh_taylor_compares_the_mode_with_the_linear_equations(tmp_path):
    def file(name, factor):
        mode = linear.perturbation(linear.heavy_layers(2.0, 0.1, 0.5), np.pi,
                                   lambda y: 0.01 * np.cos(0.5 * np.pi * y), 400,
                                   lambda y: -0.005j * np.sin(0.5 * np.pi * y))
        return _store_mode(tmp_path / name, mode, 1.0, "sz", factor)

    options = ["--max-difference", "0.05"]
    right = file("a", 1.0)
    assert verify.main(["rayleigh-taylor", right, *options]) == 0
    assert verify.main(["rayleigh-taylor", right, *options, "--gravity", "1"]) == 1
    assert verify.main(["rayleigh-taylor", file("b", 0.92), *options]) == 1


# blast -------------------------------------------------------------------------------------------


def _blast(cells, smear, gamma=1.4):
    exact = analytic.sedov_solution(gamma).density_average(cells, 1.0, 0.1007)
    return exact * (1.0 + smear)


def _blasts(store, power, gamma=1.4, error=4.0):
    sizes = (16, 32, 64)
    return [store(f"b{n}", _blast(n, error * n**-power, gamma), time=0.1) for n in sizes]


def test_blast_measures_the_order(store):
    assert verify.main(["blast", *_blasts(store, 1.0)]) == 0


def test_blast_rejects_slow_convergence(store):
    assert verify.main(["blast", *_blasts(store, 0.5)]) == 1


def test_blast_is_judged_on_the_coarsest_mesh(store):
    # Fine noise cancels in averages over the coarsest cells, but is an error on the fine mesh.
    sign = np.where(np.arange(32) % 2, 1.0, -1.0)
    noise = 0.3 * sign[:, None, None]
    files = [
        store("b16", _blast(16, 0.1), time=0.1),
        store("b32", _blast(32, 0.01) * (1.0 + noise), time=0.1),
    ]
    assert verify.main(["blast", *files]) == 0
    assert verify.main(["blast", *files, "--mesh", "own"]) == 1


def test_blast_needs_meshes_that_nest(store, capsys):
    files = [store(f"b{n}", np.ones((n,) * 3), time=0.1) for n in (16, 24)]
    assert verify.main(["blast", *files]) == 2
    assert "do not merge into 16" in capsys.readouterr().err


def test_blast_rejects_the_solution_of_another_gas(store):
    assert verify.main(["blast", *_blasts(store, 1.0, gamma=5 / 3, error=1.0)]) == 1


def test_blast_profile_accepts_and_rejects(store):
    limit = ["--max-l1", "1e-3"]
    assert verify.main(["blast-profile", store("a", _blast(32, 0.0), time=0.1), *limit]) == 0
    late = store("b", _blast(32, 0.0), time=0.12)
    assert verify.main(["blast-profile", late, *limit]) == 1
    other = store("c", _blast(32, 0.0, gamma=5 / 3), time=0.1)
    assert verify.main(["blast-profile", other, *limit]) == 1


# compare -----------------------------------------------------------------------------------------


def test_compare_equal_files(store):
    files = [store("a", _bump()), store("b", _bump())]
    assert verify.main(["compare", *files]) == 0
    assert verify.main(["compare", *files, "--tolerance", "0"]) == 0


def test_compare_notices_the_last_bit(store):
    density = _bump()
    density[1, 2, 3] = np.nextafter(density[1, 2, 3], 2.0)
    files = [store("a", _bump()), store("b", density)]
    assert verify.main(["compare", *files]) == 1
    assert verify.main(["compare", *files, "--bitwise"]) == 1
    assert verify.main(["compare", *files, "--tolerance", "1e-12"]) == 0


def test_compare_distinguishes_minus_zero_from_zero(store):
    energy = np.zeros((CELLS,) * 3)
    files = [store("a", _bump(), energy=energy), store("b", _bump(), energy=-energy)]
    assert verify.main(["compare", *files]) == 1
    assert verify.main(["compare", *files, "--tolerance", "1e-12"]) == 0


def test_compare_fails_beyond_the_tolerance_and_on_nan(store):
    for name, value in (("a", 1e-9), ("b", np.nan)):
        density = _bump()
        density[0, 0, 0] += value
        files = [store(name + "1", _bump()), store(name + "2", density)]
        assert verify.main(["compare", *files, "--tolerance", "1e-12"]) == 1


def test_compare_notices_another_step_and_time(store):
    a = store("a", _bump(), step=1, time=0.1)
    assert verify.main(["compare", a, store("b", _bump(), step=2, time=0.1)]) == 1
    assert verify.main(["compare", a, store("c", _bump(), step=1, time=0.1000001)]) == 1


def test_compare_refuses_other_meshes(store, capsys):
    assert verify.main(["compare", store("a", _bump(8)), store("b", _bump(16))]) == 2
    assert "meshes differ" in capsys.readouterr().err


# the reports -------------------------------------------------------------------------------------


def test_the_json_has_the_values_of_the_table(store, tmp_path, capsys):
    density = _bump()
    density[0, 0, 0] += 1.0
    target = tmp_path / "out.json"
    assert verify.main(["symmetry", store("a", density), "--json", str(target)]) == 1
    record = json.loads(target.read_text())
    assert record["checks"] == {"density asymmetry": False}
    assert record["passed"] is False
    assert record["metrics"]["density asymmetry"] > 0.5
    assert "FAILED" in capsys.readouterr().out


def test_a_bad_file_is_an_error_not_a_failed_check(tmp_path, capsys):
    assert verify.main(["symmetry", str(tmp_path / "none")]) == 2
    assert "not a plotfile" in capsys.readouterr().err


def test_a_json_that_cannot_be_written_is_an_error(store, capsys):
    target = "/dev/full"
    assert verify.main(["symmetry", store("a", _bump()), "--json", target]) == 2
    assert "No space left" in capsys.readouterr().err


# several levels ----------------------------------------------------------------------------------

def test_conservation_weighs_the_cells_of_all_levels(store):
    density = np.ones((32,) * 3)
    density[:16, :16, :16] += 0.1 * _bump(16)
    first = store("a", density, step=0)
    merged = density.reshape(16, 2, 16, 2, 16, 2).mean(axis=(1, 3, 5))
    last = store("b", density, step=9, unrefined=synthetic.refined_octant((0, 0, 0)))
    assert merged.mean() != density[:16].mean()
    assert verify.main(["conservation", first, last]) == 0
    density[20, 20, 20] += 32**3 * 1e-13
    bad = store("c", density, step=9, unrefined=synthetic.refined_octant((0, 0, 0)))
    assert verify.main(["conservation", first, bad]) == 1


def test_symmetry_of_several_levels(store):
    shell = [(1, *place) for place in np.ndindex(2, 2, 2)]
    inner = [(2, *p) for p in np.ndindex(4, 4, 4) if not all(1 <= i <= 2 for i in p)]
    assert verify.main(["symmetry", store("a", _bump(64), unrefined=inner)]) == 0
    density = _bump(64)
    density[32, 40, 30] += 1e-11
    assert verify.main(["symmetry", store("b", density, unrefined=inner)]) == 1
    assert verify.main(["symmetry", store("c", _bump(32), unrefined=shell[1:])]) == 1  # the mesh


@pytest.mark.parametrize("octant", [(0, 0, 0), (1, 0, 1)])
def test_sod_on_several_levels(store, octant):
    header = {"time": 0.1, "unrefined": synthetic.refined_octant(octant)}
    assert verify.main(["sod", store("a", _sod(), **header), "--max-l1", "1e-12"]) == 0
    late = store("b", _sod(t=0.12), **header)
    assert verify.main(["sod", late, "--max-l1", "4e-3"]) == 1


def test_sod_in_the_published_norm_needs_one_level(store, capsys):
    path = store("a", _sod(), time=0.1, unrefined=synthetic.refined_octant((0, 0, 0)))
    assert verify.main(["sod", path, "--norm", "octo-tiger", "--max-l1", "1"]) == 2
    assert "cells of one size only" in capsys.readouterr().err


def test_compare_sees_the_leaves_only(store):
    header = {"unrefined": synthetic.refined_octant((0, 0, 1))}
    density = _bump(32)
    a, b = store("a", density, **header), store("b", density, **header)
    assert verify.main(["compare", a, b]) == 0
    density[0, 0, 20] += 1e-15
    assert verify.main(["compare", a, store("c", density, **header)]) == 1
    assert verify.main(["compare", a, store("d", _bump(32))]) == 2  # another mesh


def test_a_blast_on_several_levels_is_compared_on_the_mesh_of_a_level(store):
    density = analytic.sedov_solution(1.4).density_average(32, 1.0, 0.1, 1.0)
    file = plotfile(store("a", density, unrefined=synthetic.refined_octant((1, 1, 0))))
    assert judge.blast_l1(file, 0.1, cells=16) < 1e-3
    assert judge.blast_l1(file, 0.12, cells=16) > 1e-2
    with pytest.raises(bad_plotfile, match="32³ cells do not merge into 12³"):
        judge.blast_l1(file, 0.1, cells=12)
