# SPDX-License-Identifier: Apache-2.0
"""Tests of draw.py: a picture for every problem, which depends on the data."""

import draw
import matplotlib.image
import numpy as np
import pytest
import synthetic


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


def test_the_picture_shows_the_plane_z_0_with_y_upwards(store):
    density = np.zeros((16, 16, 16))
    density[7, 12, 3] = density[8, 12, 3] = 1.0
    plane = draw._middle_plane(density)
    assert plane.shape == (16, 16)
    assert plane[12, 3] == 1.0 and plane.sum() == 1.0


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
