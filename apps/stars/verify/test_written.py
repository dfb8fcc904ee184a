# SPDX-License-Identifier: Apache-2.0
"""Compares plotfiles as yt reads them with the results of our own reader.

The files are a synthetic one and those that the simulation wrote: the environment variable
STARS_PLOTFILES holds their paths, separated by colons.
"""

import os

import numpy as np
import pytest
import synthetic
from plotfile import plotfile

WRITTEN = [p for p in os.environ.get("STARS_PLOTFILES", "").split(":") if p]


SYNTHETIC = {
    "uniform": [],
    "two levels": [(1, *place) for place in np.ndindex(2, 2, 2) if place != (0, 1, 0)],
}


@pytest.fixture(params=[*SYNTHETIC, *WRITTEN])
def path(request, tmp_path):
    if request.param not in SYNTHETIC:
        return request.param
    random = np.random.default_rng(3)
    fields = {name: random.uniform(1.0, 2.0, (32, 32, 32)) for name in synthetic.CONSERVED}
    header = {"time": 0.25, "step": 4, "xscale": 1.5, "unrefined": SYNTHETIC[request.param]}
    return str(synthetic.write(tmp_path / "plt", fields, **header))


@pytest.fixture
def dataset(path):
    yt = pytest.importorskip("yt", reason="yt is optional: requirements-dev.txt")
    yt.set_log_level("error")
    return yt.load(path)


def _keys(level):
    return [tuple(origin // 8 for origin in grid.lo) for grid in level.boxes]


@pytest.mark.parametrize("name", synthetic.CONSERVED)
def test_interior_nodes_are_means_of_their_children(path, name):
    file = plotfile(path)
    for level in range(1, len(file.levels)):
        parents = dict(zip(_keys(file.levels[level - 1]), file.grids(name, level - 1)))
        for key, fine in zip(_keys(file.levels[level]), file.grids(name, level)):
            x, y, z = (slice(k % 2 * 4, k % 2 * 4 + 4) for k in key)
            coarse = parents[tuple(k // 2 for k in key)][z, y, x]
            mean, size = synthetic.restrict(np.stack([fine, np.abs(fine)]))
            # Two orders of a sum of 8 numbers differ by rounding errors of the size of their
            # absolute values.
            assert (np.abs(coarse - mean) <= 2e-15 * size).all()


def test_grids_are_the_nodes_of_an_octree(path):
    file = plotfile(path)
    for number, level in enumerate(file.levels):
        assert level.domain.shape == (8 << number,) * 3
        assert {grid.shape for grid in level.boxes} == {(8, 8, 8)}
        assert not file.is_uniform or len(level.boxes) == 8**number
    assert file.leaves.integral(np.ones((len(file.leaves), 8, 8, 8))) == (2.0 * file.hi[0]) ** 3


def test_yt_sees_the_domain_and_the_time(path, dataset):
    file = plotfile(path)
    assert dataset.domain_left_edge.d == pytest.approx(file.lo, abs=1e-15)
    assert dataset.domain_right_edge.d == pytest.approx(file.hi, abs=1e-15)
    assert float(dataset.current_time) == file.time
    assert dataset.index.max_level == len(file.levels) - 1
    assert tuple(dataset.domain_dimensions) == (8, 8, 8)


def test_yt_sees_every_field_of_every_level(path, dataset):
    file = plotfile(path)
    assert {name for kind, name in dataset.field_list if kind == "boxlib"} == set(file.names)
    for level in range(len(file.levels)):
        shape = (8 << level,) * 3
        grid = dataset.covering_grid(level, dataset.domain_left_edge, shape)
        for name in ("density", "egas", "lz"):
            # yt uses the index order [x][y][z].
            assert np.array_equal(grid["boxlib", name].d, file.field(name, level).T), name


def test_yt_sees_the_cells_of_the_leaves(path, dataset):
    leaves = plotfile(path).leaves
    cells = dataset.all_data()
    found = np.lexsort([cells["index", axis].d for axis in "xyz"])
    x, y, z = (np.broadcast_to(leaves.coordinate(a), (len(leaves), 8, 8, 8)) for a in range(3))
    ours = np.lexsort([x.ravel(), y.ravel(), z.ravel()])
    for name in ("density", "tau"):
        values = leaves.field(name).ravel()
        assert np.array_equal(cells["boxlib", name].d[found], values[ours]), name


def test_yt_knows_the_density_by_its_own_name(path, dataset):
    leaves = plotfile(path).leaves
    mass = float(dataset.all_data().quantities.total_quantity(("gas", "cell_mass")))
    assert mass == pytest.approx(leaves.integral(leaves.field("density")), rel=1e-12)
