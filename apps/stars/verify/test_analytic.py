# SPDX-License-Identifier: Apache-2.0
"""Tests of the exact solutions: published constants, conservation laws and self-consistency."""

import math

import analytic
import numpy as np
import pytest

# Tabulated values: gamma, alpha, xi0, central pressure over shock pressure.
SEDOV = [
    (7 / 5, 0.851071852, 1.032777468, 0.3654631),
    (5 / 3, 0.493590150, 1.151666418, 0.3061952),
]


@pytest.mark.parametrize("gamma, alpha, xi0, pressure", SEDOV)
def test_sedov_constants(gamma, alpha, xi0, pressure):
    solution = analytic.sedov_solution(gamma)
    assert solution.alpha == pytest.approx(alpha, rel=1e-8)
    assert solution.xi0 == pytest.approx(xi0, rel=1e-9)
    assert solution.central_pressure == pytest.approx(pressure, abs=5e-8)


@pytest.mark.parametrize("gamma", [7 / 5, 5 / 3])
def test_sedov_shell_holds_the_mass_it_swept_up(gamma):
    assert analytic.sedov_solution(gamma).mass_integral == pytest.approx(1.0, abs=1e-13)


def test_sedov_does_not_depend_on_the_resolution_of_its_table():
    class coarse(analytic.sedov_solution):
        PANELS = 1000
        DEPTH = 100.0

    assert coarse(1.4).alpha == pytest.approx(analytic.sedov_solution(1.4).alpha, rel=1e-13)


def test_sedov_satisfies_the_jump_conditions():
    density, pressure = analytic.sedov_solution(1.4).profile(np.array([1.0, 1.0 + 1e-9, 2.0]))
    assert density == pytest.approx([6.0, 1.0, 1.0])
    assert pressure == pytest.approx([1.0, 0.0, 0.0])


def test_sedov_centre_is_an_empty_power_law():
    solution = analytic.sedov_solution(1.4)
    density, _ = solution.profile(np.array([1e-7, 1e-6, 0.0]))
    assert density[1] / density[0] == pytest.approx(10 ** (3 / (1.4 - 1)), rel=1e-5)
    assert density[2] == 0.0


def test_sedov_averages_keep_the_mass():
    average = analytic.sedov_solution(1.4).density_average(32, 1.0, 0.1)
    assert average.shape == (32, 32, 32)
    assert average.mean() == pytest.approx(1.0, rel=3e-4)
    assert np.array_equal(average, average[::-1])
    assert average == pytest.approx(average.T, rel=1e-13)


def test_sod_middle_states():
    sod = analytic.riemann_problem()
    assert sod.pressure == pytest.approx(0.303130178051, rel=1e-11)
    assert sod.velocity == pytest.approx(0.927452620049, rel=1e-11)
    assert sod.density_left == pytest.approx(0.426319428178, rel=1e-11)
    assert sod.density_right == pytest.approx(0.265573711705, rel=1e-11)
    assert sod.speeds[-1] == pytest.approx(1.75215573203, rel=1e-11)


def test_a_mirrored_riemann_problem_has_the_mirrored_solution():
    sod = analytic.riemann_problem()
    mirrored = analytic.riemann_problem(analytic.SOD_RIGHT, analytic.SOD_LEFT)
    s = np.linspace(-2.0, 2.0, 401) + 1e-4
    assert mirrored.density(-s) == pytest.approx(sod.density(s), rel=1e-13)


def test_sod_averages_hold_the_mass_of_the_start():
    edges = np.linspace(-1.0, 1.0, 33)
    average = analytic.riemann_problem().density_average(edges, 0.1)
    # No wave has reached the ends, so the integral is that of the initial state.
    assert math.fsum(average) * 2.0 / 32 == pytest.approx(1.125, abs=1e-9)


def test_cell_average_splits_cells_at_breakpoints():
    step = analytic.cell_average(lambda x: np.where(x < 0.3, 1.0, 0.0), [0.0, 1.0, 2.0], [0.3])
    assert step == pytest.approx([0.3, 0.0], abs=1e-15)


def test_linear_wave_average_is_the_integral_of_the_wave():
    edges = np.linspace(-1.0, 1.0, 9)
    average = analytic.linear_wave_average(edges, 0.3, amplitude=0.1)
    exact = analytic.cell_average(lambda x: 1.0 + 0.1 * np.sin(np.pi * (x - 0.3)), edges)
    assert average == pytest.approx(exact, abs=1e-13)


def test_linear_wave_returns_after_one_period():
    edges = np.linspace(-1.0, 1.0, 17)
    start = analytic.linear_wave_average(edges, 0.0, amplitude=1e-6)
    end = analytic.linear_wave_average(edges, 2.0, amplitude=1e-6)
    assert end == pytest.approx(start, abs=1e-20 + 4e-16)


def _vortex(cells, t, **changes):
    options = {"strength": 5.0, "radius": 0.2, "velocity": (1.0, 0.5), "gamma": 1.4} | changes
    return analytic.isentropic_vortex_average(np.linspace(-1.0, 1.0, cells + 1), t, **options)


def test_the_vortex_moves_with_the_flow_and_returns():
    start = _vortex(16, 0.0)
    assert start == pytest.approx(_vortex(16, 4.0), abs=1e-13)
    assert _vortex(16, 0.25) == pytest.approx(np.roll(start, (1, 2), (0, 1)), abs=1e-13)
    assert start == pytest.approx(start.T, abs=1e-15)


def test_the_vortex_has_the_density_of_its_pressure_balance():
    # p' = rho v^2 / r with p = rho^gamma, integrated from the edge to the centre.
    r = np.linspace(0.0, 6.0, 20001)
    speed = 5.0 / (2.0 * math.pi) * r * np.exp(0.5 * (1.0 - r * r))
    with np.errstate(invalid="ignore"):
        slope = np.where(r > 0.0, speed**2 / np.where(r > 0.0, r, 1.0), 0.0)
    enthalpy = 1.4 / 0.4 - np.sum(0.5 * (slope[1:] + slope[:-1]) * np.diff(r))
    centre = _vortex(400, 0.0, velocity=(0.0, 0.0))[199:201, 199:201].mean()
    assert centre == pytest.approx((enthalpy * 0.4 / 1.4) ** 2.5, rel=1e-3)


def test_vortex_averages_of_fine_cells_merge_into_those_of_coarse_cells():
    fine = _vortex(32, 0.3).reshape(16, 2, 16, 2).mean(axis=(1, 3))
    assert fine == pytest.approx(_vortex(16, 0.3), abs=1e-9)
