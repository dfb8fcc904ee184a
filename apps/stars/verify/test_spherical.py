# SPDX-License-Identifier: Apache-2.0
import functools

import numpy as np
import pytest
from analytic import sedov_solution
from spherical import ball_blast

RADIUS = 0.109375


def _distance(a, b, faces):
    return float(np.sum(np.abs(a - b) * np.diff(faces**3)))


def test_ball_conserves_mass():
    faces, density = ball_blast(0.1, RADIUS, cells=150)
    assert np.sum(density * np.diff(faces**3)) == pytest.approx(faces[-1] ** 3, rel=1e-12)


def test_ball_converges():
    results = {n: ball_blast(0.1, RADIUS, cells=n) for n in (100, 200, 400)}
    faces, fine = results[400]
    errors = [
        _distance(np.repeat(results[n][1], 400 // n), fine, faces) for n in (100, 200)
    ]
    assert errors[1] < 0.6 * errors[0]


@functools.cache
def _distance_to_point(radius, gamma=1.4, cells=900):
    faces, density = ball_blast(0.1, radius, gamma, cells=cells)
    centres = 0.5 * (faces[1:] + faces[:-1])
    return _distance(density, sedov_solution(1.4).density(centres, 0.1), faces)


def test_small_balls_approach_the_point_explosion():
    assert _distance_to_point(0.03) < 0.5 * _distance_to_point(RADIUS)


def test_another_gas_is_another_solution():
    assert _distance_to_point(0.03, gamma=5 / 3, cells=300) > 3 * _distance_to_point(0.03)
