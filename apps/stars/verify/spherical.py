# SPDX-License-Identifier: Apache-2.0
"""The blast from a ball of finite radius, by a fine one-dimensional calculation.

The similarity solution starts from a point; the solution for a ball of radius R0 differs from it by
an amount that no resolution removes. This module solves the problem of the ball in spherical
symmetry with a different scheme (second order, HLLC), on a mesh fine enough for a reference.
"""

import numpy as np


def limited_slopes(u):
    """Returns slopes along the last axis, limited by van Leer's harmonic mean, zero at both
    ends."""
    d = np.diff(u)
    a, b = d[..., :-1], d[..., 1:]
    product = a * b
    s = np.zeros_like(u)
    np.divide(2.0 * product, a + b, out=s[..., 1:-1], where=product > 0.0)
    return s


def _conserved(w, gamma):
    rho, v, p = w
    return np.array([rho, rho * v, p / (gamma - 1.0) + 0.5 * rho * v * v])


def _primitive(u, gamma, p_floor):
    rho = u[0]
    v = u[1] / rho
    p = np.maximum((gamma - 1.0) * (u[2] - 0.5 * rho * v * v), p_floor)
    return np.array([rho, v, p])


def _hllc(left, right, gamma):
    """Returns the flux at the faces, pressure included (Toro, Spruce and Speares 1994)."""
    rl, vl, pl = left
    rr, vr, pr = right
    cl, cr = np.sqrt(gamma * pl / rl), np.sqrt(gamma * pr / rr)
    sl = np.minimum(vl - cl, vr - cr)
    sr = np.maximum(vl + cl, vr + cr)
    sm = (pr - pl + rl * vl * (sl - vl) - rr * vr * (sr - vr)) / (
        rl * (sl - vl) - rr * (sr - vr)
    )

    def side(w, s):
        rho, v, p = w
        u = _conserved(w, gamma)
        flux = np.array([u[1], u[1] * v + p, (u[2] + p) * v])
        factor = rho * (s - v) / (s - sm)
        star = factor * np.array(
            [np.ones_like(sm), sm, u[2] / rho + (sm - v) * (sm + p / (rho * (s - v)))]
        )
        return flux, flux + s * (star - u)

    fl, fl_star = side(left, sl)
    fr, fr_star = side(right, sr)
    return np.where(sl >= 0, fl, np.where(sm >= 0, fl_star, np.where(sr > 0, fr_star, fr)))


def ball_blast(time, radius, gamma=1.4, energy=1.0, ambient=1e-20, extent=0.9, cells=2000):
    """Returns the radii of the cell faces and the density of the cells at `time`."""
    faces = np.linspace(0.0, extent, cells + 1)
    area = faces**2
    volume = np.diff(faces**3) / 3.0
    dr = faces[1]
    inside = np.clip((radius**3 - faces[:-1] ** 3) / (3.0 * volume), 0.0, 1.0)
    density = energy / (4.0 / 3.0 * np.pi * radius**3)
    u = np.array([np.ones(cells), np.zeros(cells), ambient + inside * density])
    floor = (gamma - 1.0) * 1e-14
    now = 0.0
    while now < time:
        w = _primitive(u, gamma, floor)
        fastest = np.max(np.abs(w[1]) + np.sqrt(gamma * w[2] / w[0]))
        dt = min(0.4 * dr / fastest, time - now)
        rate = _rate(u, gamma, floor, area, volume)
        half = u + dt * rate
        u = 0.5 * (u + half + dt * _rate(half, gamma, floor, area, volume))
        now += dt
    return faces, u[0]


def _rate(u, gamma, floor, area, volume):
    w = _primitive(u, gamma, floor)
    s = 0.5 * limited_slopes(w)
    mirrored = w[:, :1] * np.array([[1.0], [-1.0], [1.0]])
    left = np.concatenate([mirrored, w + s], axis=1)
    right = np.concatenate([w - s, w[:, -1:]], axis=1)
    flux = _hllc(left, right, gamma)
    rate = -(np.diff(area * flux, axis=1)) / volume
    # The pressure acts only through its gradient: removes the contribution of the varying face
    # area.
    rate[1] += w[2] * np.diff(area) / volume
    return rate
