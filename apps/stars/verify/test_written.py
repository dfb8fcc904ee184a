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


@pytest.fixture(params=["synthetic", *WRITTEN])
def path(request, tmp_path):
    if request.param != "synthetic":
        return request.param
    random = np.random.default_rng(3)
    fields = {name: random.uniform(1.0, 2.0, (32, 32, 32)) for name in synthetic.CONSERVED}
    return str(synthetic.write(tmp_path / "plt", fields, time=0.25, step=4, xscale=1.5))


@pytest.fixture
def dataset(path):
    yt = pytest.importorskip("yt", reason="yt is optional: requirements-dev.txt")
    yt.set_log_level("error")
    return yt.load(path)


def test_coarse_levels_are_means_of_the_finer_ones(path):
    file = plotfile(path)
    for level in range(1, len(file.levels)):
        fine, coarse = (file.all_fields(n)[: len(synthetic.CONSERVED)] for n in (level, level - 1))
        mean = synthetic.restrict(fine)
        # Two orders of a sum of 8 numbers differ by rounding errors of the size of their absolute
        # values.
        assert (np.abs(coarse - mean) <= 2e-15 * synthetic.restrict(np.abs(fine))).all()


def test_every_level_covers_the_domain_by_grids_of_8_cells(path):
    for number, level in enumerate(plotfile(path).levels):
        assert level.domain.shape == (8 << number,) * 3
        assert {grid.shape for grid in level.boxes} == {(8, 8, 8)}
        assert len(level.boxes) == 8**number


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


def test_yt_knows_the_density_by_its_own_name(path, dataset):
    file = plotfile(path)
    mass = float(dataset.all_data().quantities.total_quantity(("gas", "cell_mass")))
    expected = float(file.field("density").sum()) * file.cell_volume()
    assert mass == pytest.approx(expected, rel=1e-12)
