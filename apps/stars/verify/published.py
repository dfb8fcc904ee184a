# SPDX-License-Identifier: Apache-2.0
"""The norms of the blast that Octo-Tiger's tests print, and the same norms of a plotfile.

Design note 0009 has their definition. It differs from an exact average over each cell: the solution
is a table that is interpolated across the shock, and a cell's average is sampled until its error
changes by less than a tenth.
"""

import itertools

import numpy as np
from analytic import sedov_solution
from plotfile import bad_plotfile

# Of an explosion of energy 1 at t = 0.01, gamma 7/5, with levels up to 3 and without
# angular-momentum correction (its test_problems/blast): {cells along an edge: {field: (L1, L2)}}.
# Sub-grids have an eighth of these cells along an edge.
BLAST = {
    64: {"density": (9.966026e-04, 1.888472e-02), "egas": (3.745673e-02, 7.010659e-01),
         "tau": (4.964663e-03, 1.077016e-01), "sx": (2.994212e-03, 6.572307e-02),
         "sy": (2.994212e-03, 6.572307e-02), "sz": (2.994212e-03, 6.572307e-02)},
    128: {"density": (7.575226e-04, 1.943548e-02), "egas": (2.842824e-02, 7.207428e-01),
          "tau": (3.871168e-03, 9.178535e-02), "sx": (2.441068e-03, 7.513731e-02),
          "sy": (2.441068e-03, 7.513731e-02), "sz": (2.441068e-03, 7.513731e-02)},
}
BLAST_TIME = 0.01
GAMMA = 1.4
_AGE = 7e-4  # of the point explosion at the start


class _table:
    """The similarity solution as Octo-Tiger reads it: 10 000 values up to three times the half edge
    of the domain, which cubic polynomials interpolate as if they were 3/10 002 apart."""

    COUNT, MARGIN = 10000, 2

    def __init__(self, time, half_edge):
        self._reach = 3.0 * half_edge
        places = np.arange(self.COUNT + 2 * self.MARGIN) - self.MARGIN + 0.5
        r = places * self._reach / self.COUNT
        density, velocity, pressure = sedov_solution(GAMMA).gas(np.abs(r), time)
        self._columns = density, np.sign(r) * velocity, pressure

    def gas(self, r):
        """Returns density, radial velocity and pressure."""
        place = r * ((self.COUNT + self.MARGIN) / self._reach) + (self.MARGIN - 0.5)
        k = place.astype(int)
        x = place - k
        return tuple(self._cubic(u[k - 1], u[k], u[k + 1], u[k + 2], x) for u in self._columns)

    @staticmethod
    def _cubic(a, b, c, d, x):
        cube, square = -0.5 * a + 1.5 * b - 1.5 * c + 0.5 * d, a - 2.5 * b + 2.0 * c - 0.5 * d
        return ((cube * x + square) * x + 0.5 * (c - a)) * x + b

    def fields(self, x, y, z, least):
        """Returns density, egas, tau, sx, sy, sz, [field][point]; no radius is less than
        `least`."""
        r = np.maximum(np.sqrt(x * x + y * y + z * z), least)
        density, velocity, pressure = self.gas(r)
        energy = np.maximum(pressure / (GAMMA - 1.0), 1e-20)
        momentum = density * velocity
        total = energy + 0.5 * momentum * velocity
        return np.stack([density, total, energy ** (1.0 / GAMMA),
                         *(momentum * axis / r for axis in (x, y, z))])


def blast_norms(file):
    """Returns {field: (L1, L2)} of a blast's plotfile as Octo-Tiger's tests compute them. Raises
    `bad_plotfile` if there are no printed norms for its finest cells, time and gamma."""
    _require_the_printed_run(file)
    leaves = file.leaves
    names = list(BLAST[file.cells])
    data = np.stack([leaves.field(name).ravel() for name in names])
    shape = leaves.field(names[0]).shape
    centres = [np.broadcast_to(leaves.coordinate(axis), shape).ravel() for axis in range(3)]
    dx = np.broadcast_to(leaves.dx[:, None, None, None], shape).ravel()
    table = _table(file.time + _AGE, file.hi[0])
    exact = _sampled(table, data[0], centres, dx, file.cells // 8)
    share = dx**3 / (2.0 * file.hi[0]) ** 3
    error = np.abs(data - exact)
    l1, l2 = (error * share).sum(axis=1), np.sqrt((error**2 * share).sum(axis=1))
    return {name: (float(a), float(b)) for name, a, b in zip(names, l1, l2)}


def _require_the_printed_run(file):
    if file.cells not in BLAST:
        raise bad_plotfile(f"{file.path}: finest cells 1/{file.cells} of the domain; norms are"
                           f" printed for {', '.join(f'1/{n}' for n in BLAST)}: give --level 3 or 4,"
                           " or 2 or 3 with --sub-grid 16")
    if abs(file.time - BLAST_TIME) > 1e-9:
        raise bad_plotfile(f"{file.path}: time {file.time}; norms are printed for {BLAST_TIME}: give"
                           f" --stop-time {BLAST_TIME}")
    gamma = float(file.metadata.get("gamma", GAMMA))
    if gamma != GAMMA:
        raise bad_plotfile(f"{file.path}: gamma {gamma}; norms are printed for {GAMMA}")


def _sampled(table, density, centres, dx, most):
    """Returns averages [field][cell] from 1, 2, 4 … `most` points along an edge of a cell, until the
    distance from its density changes by less than a tenth."""
    least = 1e-3 * float(dx.min())
    mean = table.fields(*centres, least)
    todo = np.arange(len(dx))
    points = 2
    while points <= most and len(todo):
        todo = todo[mean[0, todo] != density[todo]]
        before = density[todo] - mean[0, todo]
        offset = (np.arange(points) + 0.5) / points - 0.5
        total = np.zeros((len(mean), len(todo)))
        for step in itertools.product(offset, repeat=3):
            total += table.fields(*(c[todo] + s * dx[todo] for c, s in zip(centres, step)), least)
        mean[:, todo] = total / points**3
        change = np.abs(np.abs((density[todo] - mean[0, todo]) / before) - 1.0)
        todo = todo[~(change < 0.1)]
        points *= 2
    return mean
