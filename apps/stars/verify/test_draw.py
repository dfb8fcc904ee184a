# SPDX-License-Identifier: Apache-2.0
"""Tests of draw.py: a picture for every problem, which depends on the data."""

import draw
import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import synthetic
from plotfile import plotfile


@pytest.fixture
def store(tmp_path):
    def write(problem, density, **header):
        fields = synthetic.state(density, np.ones_like(density))
        return str(synthetic.write(tmp_path / "plt", fields, problem=problem, **header))

    return write


@pytest.mark.parametrize("problem", ["blast", "sod", "linear-wave", "something else"])
def test_every_problem_gets_a_picture(store, tmp_path, problem):
    path = store(problem, np.ones((16, 16, 16)), time=0.1)
    target = tmp_path / "picture.png"
    assert draw.main([path, "-o", str(target)]) == 0
    image = matplotlib.image.imread(target)
    assert image.shape[0] > 500 and image.shape[1] > 1000
    assert image.std() > 0.05


UNREFINED = [(1, *place) for place in np.ndindex(2, 2, 2) if place != (1, 0, 1)]


@pytest.mark.parametrize("problem", ["blast", "sod", "linear-wave", "something else"])
def test_every_problem_gets_a_picture_of_several_levels(store, tmp_path, problem):
    path = store(problem, np.ones((32, 32, 32)), time=0.1, unrefined=UNREFINED)
    target = tmp_path / "picture.png"
    assert draw.main([path, "-o", str(target)]) == 0
    assert matplotlib.image.imread(target).std() > 0.05


def test_the_picture_shows_the_plane_z_0_with_y_upwards(store):
    density = np.zeros((16, 16, 16))
    density[7, 12, 3] = density[8, 12, 3] = 1.0
    leaves = plotfile(store("blast", density)).leaves
    plane = leaves.middle_plane(leaves.field("density"))
    assert plane.shape == (16, 16)
    assert plane[12, 3] == 1.0 and plane.sum() == 1.0


def test_the_plane_of_a_single_leaf_is_in_its_middle(store):
    density = np.zeros((8, 8, 8))
    density[3, 5, 1], density[4, 5, 1] = 2.0, 4.0
    leaves = plotfile(store("blast", density)).leaves
    plane = leaves.middle_plane(leaves.field("density"))
    assert plane[5, 1] == 3.0 and plane.sum() == 3.0


def test_the_plane_has_coarse_cells_beside_fine_ones(store):
    density = np.random.default_rng(5).uniform(1.0, 2.0, (32, 32, 32))
    file = plotfile(store("blast", density, unrefined=UNREFINED))
    leaves = file.leaves
    plane = leaves.middle_plane(leaves.field("density"))
    below, above = (file.field("density")[z] for z in (15, 16))
    assert plane == pytest.approx(0.5 * (below + above), rel=1e-15)


def test_outlines_are_those_of_the_leaves_at_the_plane(store):
    file = plotfile(store("blast", np.ones((32, 32, 32)), unrefined=UNREFINED))
    figure, axes = plt.subplots()
    draw._outlines(axes, file)
    coarse, fine = (c.get_segments() for c in axes.collections)
    assert len(coarse) == 7 and len(fine) == 4
    assert sorted(tuple(square[0]) for square in fine) == [
        (0.0, -1.0), (0.0, -0.5), (0.5, -1.0), (0.5, -0.5)
    ]
    assert {np.ptp(square, axis=0)[0] for square in coarse} == {1.0}
    plt.close(figure)


def test_cells_beside_the_x_axis(store):
    density = np.arange(32.0**3).reshape(32, 32, 32)
    refined = [(1, *place) for place in np.ndindex(2, 2, 2) if place != (1, 1, 1)]
    file = plotfile(store("blast", density, unrefined=refined))
    x, values = draw._beside_x_axis(file, file.leaves.field("density"))
    assert len(x) == 8 + 16 and (np.diff(x) > 0.0).all()
    assert values[8:].tolist() == density[16, 16, 16:].tolist()


def test_shell_means_cover_all_cells():
    radius, data = np.array([0.1, 0.12, 0.9]), np.array([1.0, 3.0, 5.0])
    mean_radius, mean = draw._binned(radius, data, 8)
    assert mean_radius == pytest.approx([0.11, 0.9])
    assert mean == pytest.approx([2.0, 5.0])


def test_the_default_name_lies_beside_the_plotfile(store, tmp_path):
    path = store("blast", np.ones((8, 8, 8)), time=0.1)
    assert draw.main([path + "/"]) == 0
    assert (tmp_path / "plt.png").is_file()


def test_errors_are_reported(store, tmp_path, capsys):
    assert draw.main([str(tmp_path / "none")]) == 2
    assert "not a plotfile" in capsys.readouterr().err
    path = store("sod", np.ones((8, 8, 8)))
    assert draw.main([path]) == 2
    assert "needs a time > 0" in capsys.readouterr().err
    assert draw.main([path, "--problem", "blast", "-o", str(tmp_path / "no/a.png")]) == 2
    assert "No such file" in capsys.readouterr().err
