# SPDX-License-Identifier: Apache-2.0
"""Tests of the norms that Octo-Tiger prints: their definition, and the checks by them."""

import analytic
import numpy as np
import published
import pytest
import synthetic
import verify

TIME = published.BLAST_TIME
OUTER = synthetic.refined_octant((0, 0, 0))


def test_the_gas_of_the_explosion_has_its_mass_and_energy():
    solution = analytic.sedov_solution(1.4)
    radius = solution.shock_radius(0.3)
    r = (np.arange(20000) + 0.5) / 20000 * radius
    density, velocity, pressure = solution.gas(r, 0.3)
    shell = 4.0 * np.pi * r * r * radius / 20000
    energy = pressure / 0.4 + 0.5 * density * velocity**2
    assert np.sum(density * shell) == pytest.approx(4.0 / 3.0 * np.pi * radius**3, rel=1e-4)
    assert np.sum(energy * shell) == pytest.approx(1.0, rel=1e-4)
    assert solution.gas(np.array([1.01 * radius]), 0.3) == (1.0, 0.0, 0.0)


def test_the_table_is_the_solution_but_for_its_scale_and_the_shock():
    table, exact = published._table(0.0107, 1.0), analytic.sedov_solution(1.4)
    radius = exact.shock_radius(0.0107)
    r = np.linspace(0.3, 0.99, 50) * radius
    for found, wanted in zip(table.gas(r), exact.gas(r * (10002 / 10000), 0.0107)):
        assert found == pytest.approx(wanted, rel=1e-4)
    assert max(table.gas(np.linspace(0.998, 1.002, 200) * radius)[0]) > 6.05  # above the solution's


def _fields(gas_at, cells=64):
    """Returns the fields of a blast [z][y][x] from the points at the centres of the cells. They err
    by 1e-9, as the sampling takes equal densities for exact averages."""
    x = ((np.arange(cells) + 0.5) / cells * 2.0 - 1.0)
    z, y, x = np.meshgrid(x, x, x, indexing="ij")
    fields = synthetic.state(np.ones_like(x), np.ones_like(x))
    fields.update(zip(published.BLAST[64], (1.0 + 1e-9) * gas_at(x, y, z)))
    return fields


@pytest.fixture(scope="module")
def plots(tmp_path_factory):
    """Returns paths by name: plots of the exact solution on a uniform mesh and on one with coarse
    cells in seven octants, a plot with wrong densities, and plots for which no norms are printed."""
    folder = tmp_path_factory.mktemp("plots")
    table = published._table(TIME + 7e-4, 1.0)
    fields = _fields(lambda x, y, z: table.fields(x, y, z, 1e-4))
    header = {"time": TIME, "gamma": 1.4}

    def write(name, data=fields, **changes):
        return str(synthetic.write(folder / name, data, **(header | changes)))

    worse = fields | {"density": 1.5 * fields["density"]}
    small = {name: data[:32, :32, :32] for name, data in fields.items()}
    return {"uniform": write("uniform"), "octant": write("octant", unrefined=OUTER),
            "worse": write("worse", worse, unrefined=OUTER), "late": write("late", time=0.011),
            "gas": write("gas", gamma=5.0 / 3.0), "small": write("small", small)}


def test_values_at_the_centres_of_cells_have_other_norms_than_a_run(plots):
    file = verify.plotfile(plots["uniform"])
    found = published.blast_norms(file)
    assert found["sx"] == pytest.approx(found["sy"], rel=1e-12)
    assert verify.main(["blast-norms", plots["uniform"]]) == 1


def test_norms_are_those_of_the_errors(plots):
    exact, worse = (published.blast_norms(verify.plotfile(plots[name]))
                    for name in ("octant", "worse"))
    assert worse["density"][0] == pytest.approx(0.5, rel=0.02)  # half of the mean density
    assert worse["egas"][0] == pytest.approx(exact["egas"][0], rel=0.1)


def test_levels_are_judged_by_errors_and_cells(plots, capsys):
    command = ["blast-levels", "--max-ratio", "1000"]
    assert verify.main([*command, plots["octant"], plots["uniform"]]) == 0
    assert verify.main([*command, plots["uniform"], plots["uniform"]]) == 1
    assert "cells over those of the uniform mesh" in capsys.readouterr().out
    assert verify.main(["blast-levels", plots["worse"], plots["uniform"]]) == 1
    assert verify.main(["blast-levels", plots["octant"], plots["small"]]) == 2


@pytest.mark.parametrize(("name", "remedy"), [("late", "--stop-time 0.01"), ("small", "--level 3 or"),
                                              ("gas", "gamma 1.66")])
def test_a_run_without_printed_norms_is_refused(plots, name, remedy, capsys):
    assert verify.main(["blast-norms", plots[name]]) == 2
    assert remedy in capsys.readouterr().err
