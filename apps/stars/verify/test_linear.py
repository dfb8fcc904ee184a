# SPDX-License-Identifier: Apache-2.0
"""Tests of the linearised equations: known growth rates and waves."""

import math

import linear
import numpy as np
import pytest


def _amplitudes(flow, k, times, cells):
    """Returns the amplitude of the mode at the interface at these times; it is about 0.01 first."""
    mode = linear.perturbation(flow, k, lambda y: 0.01 * np.cos(0.5 * np.pi * y), cells)
    grown = []
    for time in times:
        mode.advance(time)
        grown.append(mode.amplitude(lambda y: np.exp(-k * np.abs(y))))
    return grown


def _rate(flow, k, times, cells):
    before, after = _amplitudes(flow, k, times, cells)
    return math.log(after / before) / (times[1] - times[0])


def _layers(width, pressure, gravity, shear):
    """Returns two layers (density 1 below, 2 above, velocities +shear/2 and -shear/2) in walls."""

    def depth(y):
        return pressure - gravity * (1.5 * y + 0.5 * width * np.log(np.cosh(y / width)))

    return linear.layered_flow(
        density=lambda y: 1.5 + 0.5 * np.tanh(y / width),
        velocity=lambda y: -0.5 * shear * np.tanh(y / width),
        pressure=depth, low=-1.0, high=1.0, gamma=5.0 / 3.0, gravity=gravity, walls=True)


def test_a_heavy_layer_falls_at_the_classical_rate():
    # Two incompressible layers of depth 1: the square of the rate is A g k tanh k, A = 1/3.
    k = math.pi
    rate = _rate(_layers(0.02, 10.0, 1.0, 0.0), k, (5.0, 6.0), 200)
    assert rate == pytest.approx(math.sqrt(k * math.tanh(k) / 3.0), rel=0.04)


def test_a_heavy_layer_stays_below_a_light_one():
    assert max(_amplitudes(_layers(0.02, 10.0, -1.0, 0.0), math.pi, (1.0, 3.0, 6.0), 200)) < 0.012


def test_shear_of_vanishing_width_grows_at_the_classical_rate_of_a_sheet():
    # k times the difference of the velocities times sqrt(rho1 rho2) / (rho1 + rho2).
    k = math.pi
    thin, thick = (_rate(_layers(w, 20.0, 0.0, 1.0), k, (5.0, 6.0), 400) for w in (0.02, 0.04))
    assert thick < 0.95 * thin
    assert 2.0 * thin - thick == pytest.approx(k * math.sqrt(2.0) / 3.0, rel=0.04)


def test_a_sound_wave_returns_after_its_period():
    gas = linear.layered_flow(lambda y: np.ones_like(y), lambda y: np.full_like(y, 0.25),
                              lambda y: np.full_like(y, 0.6), -1.0, 1.0, 5.0 / 3.0)
    mode = linear.perturbation(gas, 0.0, lambda y: np.sin(np.pi * y), 200)
    start = mode.advance(0.0).copy()
    assert np.abs(mode.advance(1.0) + start).max() < 1e-3  # half a period: c = 1, wavelength 2
    assert np.abs(mode.advance(2.0) - start).max() < 1e-3


def test_the_shear_growth_does_not_depend_on_its_grid():
    coarse, fine = (linear.shear_growth(0.5, 1.0, 0.01, 0.05, cells=n) for n in (100, 200))
    assert coarse == pytest.approx(fine, rel=0.01)


def test_the_shear_growth_depends_on_the_edge_by_its_time_alone():
    a = linear.shear_growth(0.4, 1.0, 0.01, 0.05, cells=100)
    b = linear.shear_growth(0.8, 2.0, 0.01, 0.05, cells=100)
    assert a == pytest.approx(b, rel=1e-12)


def test_a_layer_starts_without_sound():
    # The amplitude of v falls at once if the start has a divergence: the gas is compressed first.
    start, soon = (linear.layer_growth(t, 2.0, 0.01, 0.1, 0.5, cells=100) for t in (0.0, 0.2))
    assert soon == pytest.approx(start, rel=0.01)
    still = linear.layer_growth(2.0, 2.0, 0.01, 0.1, -0.5, cells=100)
    assert still < start < linear.layer_growth(2.0, 2.0, 0.01, 0.1, 0.5, cells=100)
