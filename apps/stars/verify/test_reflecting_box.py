# SPDX-License-Identifier: Apache-2.0
"""Tests of the calculation of a blast between walls, and of the check by it."""

import analytic
import judge
import numpy as np
import pytest
import reflecting_box
import verify

RADIUS = 0.21875
AFTER = 1.2  # a free front would be at 1.1 half edges


def _tube(axis, cells):
    """Returns Sod's tube along an axis of an array [z][y][x] with 4 × 4 cells across."""
    left = np.arange(cells) < cells // 2
    line = np.zeros((5, cells))
    line[0], line[4] = np.where(left, 1.0, 0.125), np.where(left, 2.5, 0.25)
    shape = [5, 1, 1, 1]
    shape[1 + axis] = cells
    full = [5, 4, 4, 4]
    full[1 + axis] = cells
    return np.broadcast_to(line.reshape(shape), full).copy()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_shock_tube_along_each_axis_converges_to_the_exact_solution(axis):
    errors = []
    for cells in (50, 100):
        u = reflecting_box.advanced(_tube(axis, cells), 1.0 / cells, 1.4, 0.15)
        density = np.moveaxis(u[0], axis, -1)
        assert np.array_equal(density, np.broadcast_to(density[:1, :1], density.shape))
        exact = analytic.riemann_problem().density_average(
            np.linspace(-0.5, 0.5, cells + 1), 0.15)
        errors.append(np.abs(density[0, 0] - exact).mean())
    assert errors[1] < 0.006
    assert errors[0] / errors[1] > 1.6


def test_walls_keep_mass_and_energy():
    u = reflecting_box.advanced(_tube(2, 20), 0.05, 1.4, 2.0)
    for field, mean in ((0, 0.5625), (4, 1.375)):
        assert u[field].mean() == pytest.approx(mean, rel=1e-13)
    assert abs(u[3].mean()) > 0.01  # waves come and go between the walls


@pytest.mark.parametrize("time", [0.3, 0.7])
def test_a_blast_converges_to_the_similarity_solution_with_the_order_of_its_error(time):
    def error(density):
        n = len(density)
        age = judge.BLAST_TIME_OFFSET * (RADIUS / judge.BLAST_RADIUS) ** 2.5
        exact = analytic.sedov_solution(1.4).density_average(2 * n, 1.0, time + age)
        return np.abs(density - exact[n:, n:, n:]).mean()

    coarse, fine = (reflecting_box.octant_density(time, n, RADIUS) for n in (8, 16))
    merged = fine.reshape(8, 2, 8, 2, 8, 2).mean(axis=(1, 3, 5))
    assert error(merged) < judge.reference_error(merged, coarse)
    assert error(merged) < 0.8 * error(coarse)


@pytest.fixture
def blast(store):
    """Returns blast(name, time, change, **options), which writes the result of the calculation
    itself as a plotfile."""

    def write(name, time, change=lambda density: density, **options):
        octant = reflecting_box.octant_density(time, 16, RADIUS, **options)
        density = change(analytic.mirrored(octant))
        return store(name, density, energy=np.full((32,) * 3, 0.125), time=time)

    return write


def _check(path, *options):
    return verify.main(["blast-periodic", path, "--radius", str(RADIUS), *options])


def test_a_blast_in_a_periodic_box_is_accepted_after_the_fronts_have_met(blast, capsys):
    assert _check(blast("a", AFTER)) == 0
    assert "similarity" not in capsys.readouterr().out


def test_before_that_it_must_be_near_the_similarity_solution(blast, store, capsys):
    exact = analytic.sedov_solution(1.4).density_average(
        32, 1.0, 0.3 + judge.BLAST_TIME_OFFSET * (RADIUS / judge.BLAST_RADIUS) ** 2.5)
    exact *= 1.0 / exact.mean()  # its samples do not add up to the mass to rounding
    right = store("a", exact, energy=np.full((32,) * 3, 0.125), time=0.3)
    assert _check(right) == 0
    assert "from the similarity solution" in capsys.readouterr().out
    late = store("b", exact, energy=np.full((32,) * 3, 0.125), time=0.4)
    assert _check(late) == 1


@pytest.mark.parametrize("gamma", [1.5, 5 / 3])
def test_a_periodic_blast_of_another_gas_is_refused(blast, gamma):
    path = blast("a", AFTER, gamma=gamma)
    assert _check(path) == 1
    assert _check(path, "--gamma", str(gamma)) == 0


def _one_cell(density):
    density[3, 4, 5] += 1e-11
    return density


@pytest.mark.parametrize(
    "change",
    [lambda rho: rho * (1.0 + 1e-12), _one_cell, lambda rho: np.roll(rho, 16, axis=(0, 1, 2)),
     lambda rho: np.ones_like(rho)],
    ids=["mass", "symmetry", "place", "nothing"])
def test_a_wrong_periodic_blast_is_refused(blast, change):
    assert _check(blast("a", AFTER, change)) == 1


def test_a_periodic_blast_on_one_sub_grid_has_no_coarser_cells(store, capsys):
    assert _check(store("a", np.ones((8,) * 3), time=0.3)) == 2
    assert "do not merge into 4" in capsys.readouterr().err
