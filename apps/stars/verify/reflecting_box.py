# SPDX-License-Identifier: Apache-2.0
"""The blast of a ball in a cube with reflecting walls, by a small finite-volume calculation.

A blast in the middle of a periodic box meets its images in the planes of the box's faces. By
symmetry nothing flows through these planes nor through those through the middle, so that each
octant is a cube with six reflecting walls. The scheme is textbook material (E. F. Toro, Riemann
Solvers and Numerical Methods for Fluid Dynamics, chapters 10, 13 and 16): limited slopes of
density, velocity and pressure, HLL fluxes, Heun's method in time, all axes at once.
"""

import functools

import numpy as np
from spherical import limited_slopes

COURANT = 0.6  # of the sum over the three axes
_FLOOR = 1e-14  # of the internal energy: the gas around the ball is cold
_SUB_CELLS = 8  # along an edge of a cell, to find its share of the ball


@functools.lru_cache(maxsize=8)
def octant_density(time, cells, radius, half_edge=1.0, gamma=1.4, energy=1.0):
    """Returns cell averages of the density over [0, half_edge]³, on cells³ cells, in a gas of
    density 1."""
    dx = half_edge / cells
    return advanced(_ball(cells, dx, radius, energy / 8.0), dx, gamma, time)[0]


def advanced(u, dx, gamma, time):
    """Returns the state after some time in a box of cells [field][z][y][x] with walls."""
    now = 0.0
    while now < time:
        rate, fastest = _rate(u, dx, gamma)
        dt = min(COURANT * dx / fastest, time - now)
        half = u + dt * rate
        u = 0.5 * (u + half + dt * _rate(half, dx, gamma)[0])
        now += dt
    return u


def _ball(cells, dx, radius, energy):
    """Returns rho, three momenta and the energy, [field][z][y][x], of a heated ball around the
    corner of a gas at rest."""
    fine = (np.arange(cells * _SUB_CELLS) + 0.5) * (dx / _SUB_CELLS)
    square = fine * fine
    in_plane = square[:, None] + square
    n, s = cells, _SUB_CELLS
    share = np.zeros((n, n, n))
    for z in range(n * s):  # plane by plane, as all of them take too much memory
        inside = (square[z] + in_plane < radius * radius).reshape(n, s, n, s)
        share[z // s] += inside.mean(axis=(1, 3)) / s
    u = np.zeros((5, n, n, n))
    u[0] = 1.0
    u[4] = 1e-20 + share * (energy / (share.sum() * dx**3))
    return u


def _rate(u, dx, gamma):
    """Returns the rate of change of the state, and the largest sum of signal speeds over the
    axes."""
    w = u.copy()
    w[1:4] /= u[0]
    w[4] = u[4] - 0.5 * u[0] * (w[1:4] ** 2).sum(axis=0)
    w[4] = (gamma - 1.0) * np.maximum(w[4], _FLOOR)
    sound = np.sqrt(gamma * w[4] / w[0])
    fastest = float((np.abs(w[1:4]).sum(axis=0) + 3.0 * sound).max())
    rate = np.zeros_like(u)
    for axis in range(3):
        # The velocity along the axis comes first; cells along the axis are adjacent.
        order = [0, 1 + axis, 1 + (axis + 1) % 3, 1 + (axis + 2) % 3, 4]
        flux = _fluxes(np.moveaxis(w, 1 + axis, -1)[order], gamma)
        rate[order] -= np.moveaxis(np.diff(flux) / dx, -1, 1 + axis)
    return rate, fastest


def _fluxes(w, gamma):
    """Returns the fluxes through the faces across the last axis, with walls at both ends."""
    mirror = np.array([1.0, -1.0, 1.0, 1.0, 1.0])[:, None, None, None]
    w = np.concatenate([mirror * w[..., 1::-1], w, mirror * w[..., :-3:-1]], axis=-1)
    half = 0.5 * limited_slopes(w)
    return _hll((w + half)[..., 1:-2], (w - half)[..., 2:-1], gamma)


def _hll(left, right, gamma):
    """Returns the flux of A. Harten, P. D. Lax and B. van Leer (1983), with the speeds of
    Davis."""
    (ul, fl, cl), (ur, fr, cr) = _side(left, gamma), _side(right, gamma)
    low = np.minimum(np.minimum(left[1] - cl, right[1] - cr), 0.0)
    high = np.maximum(np.maximum(left[1] + cl, right[1] + cr), 0.0)
    return (high * fl - low * fr + (low * high) * (ur - ul)) / (high - low)


def _side(w, gamma):
    """Returns the conserved state, its flux and the speed of sound."""
    rho, v, pressure = w[0], w[1], w[4]
    u = w.copy()
    u[1:4] *= rho
    u[4] = pressure / (gamma - 1.0) + 0.5 * rho * (w[1:4] ** 2).sum(axis=0)
    flux = u * v
    flux[1] += pressure
    flux[4] += pressure * v
    return u, flux, np.sqrt(gamma * pressure / rho)
