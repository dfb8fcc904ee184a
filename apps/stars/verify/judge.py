# SPDX-License-Identifier: Apache-2.0
"""The measurements of the checks: functions from plotfiles to numbers."""

import functools
import itertools
import math

import linear
import numpy as np
from analytic import (
    isentropic_vortex_average,
    linear_wave_average,
    mirrored,
    riemann_problem,
    sedov_solution,
)
from plotfile import bad_plotfile
from reflecting_box import octant_density
from spherical import ball_blast

DENSITY = "density"
# Published time offset of the blast: energy spread over r < 0.109375 behaves like a point explosion
# that is older by this time. By similarity the offset scales with the radius to the power 5/2.
BLAST_TIME_OFFSET = 7e-4
BLAST_RADIUS = 0.109375
# Of `reflecting_box` for blasts. Against the similarity solution it is 0.91 to 0.99 (16 cells along
# an octant, t = 0.3 to 0.7).
REFERENCE_ORDER = 0.85


def total(file, name):
    """Returns the integral of a conserved field over the domain plus the outflow; the sum over the
    cells is correctly rounded."""
    return file.leaves.integral(file.leaves.field(name)) + _outflow(file, name)


def _outflow(file, name):
    left = file.require("outflow")
    key = name if name in left else {"density": "rho"}.get(name, name)
    try:
        return float(left[key])
    except (KeyError, TypeError, ValueError) as error:
        raise bad_plotfile(f"{file.path}: no outflow recorded for '{name}'") from error


def drift(first, last, name):
    """Returns |change of the total| relative to the total of the first file."""
    before, after = total(first, name), total(last, name)
    return abs(after - before) / abs(before) if before else abs(after)


def momentum_drifts(first, last):
    """Returns |change of the total| of the three momenta, relative to the momentum that all mass
    would have if all energy were kinetic, √(2 mass energy): the totals themselves may be zero."""
    scale = math.sqrt(2.0 * total(first, DENSITY) * total(first, "egas"))
    return {name: abs(total(last, name) - total(first, name)) / scale
            for name in ("sx", "sy", "sz")}


def cube_symmetries():
    """Yields the 48 symmetries of the cube as (axes, flipped axes) of an array [z][y][x]."""
    for axes in itertools.permutations(range(3)):
        for flips in itertools.product((False, True), repeat=3):
            yield axes, tuple(axis for axis in range(3) if flips[axis])


def asymmetry(file, name):
    """Returns the largest |u - T u| over the cube's symmetries T relative to the mean of |u|, and
    that T; infinity if the leaves are not symmetric."""
    leaves = file.leaves
    data, place = leaves.field(name), leaves.place[:, ::-1]  # z, y, x, as the axes of arrays
    scale, order = leaves.mean(np.abs(data)), _order(leaves.level, place)
    worst, where = 0.0, None
    for axes, flips in cube_symmetries():
        turned = place[:, axes].copy()
        for axis in flips:
            turned[:, axis] = (1 << leaves.level) - 1 - turned[:, axis]
        images = _order(leaves.level, turned)
        if not np.array_equal(turned[images], place[order]):
            return math.inf, (axes, flips)
        image = np.transpose(data[images], (0, *(1 + axis for axis in axes)))
        image = np.flip(image, [1 + axis for axis in flips])
        difference = np.abs(data[order] - image).max() / scale
        if not difference <= worst:
            worst, where = float(difference), (axes, flips)
    return worst, where


def _order(level, place):
    """Returns the order of leaves by level, then by place."""
    return np.lexsort((*place.T, level))


def l1_norm(data, exact):
    """Returns the sum of |u - exact| dV / V on a uniform mesh."""
    return math.fsum(np.abs(data - exact).ravel()) / data.size


def l1_of_leaves(file, data, exact):
    """Returns the integral of |u - exact| over the domain divided by its volume; both are arrays by
    leaf."""
    return file.leaves.mean(np.abs(data - exact))


def sod_exact(file, normal):
    """Returns cell averages of the exact Sod density by leaf; the diaphragm passes through the
    origin with `normal` (x, y, z)."""
    problem = riemann_problem(gamma=float(file.metadata.get("gamma", 1.4)))
    direction = np.asarray(normal, dtype=float)
    direction /= np.linalg.norm(direction)
    if np.count_nonzero(direction) != 1:
        return _sod_oblique(file, problem, direction)
    axis = int(np.flatnonzero(direction)[0])
    order = 1 if direction[axis] > 0 else -1
    return file.leaves.of_lines(
        axis, lambda edges: problem.density_average(edges, file.time)[::order]
    )


def _sod_oblique(file, problem, direction, samples=8):
    """Averages over samples^3 points per cell: an oblique normal has no simple integral."""
    leaves = file.leaves
    x, y, z = (leaves.coordinate(axis) for axis in range(3))
    distance = direction[0] * x + direction[1] * y + direction[2] * z
    offset = (np.arange(samples) + 0.5) / samples - 0.5
    dx = leaves.dx[:, None, None, None]
    out = np.zeros_like(distance)
    for point in itertools.product(offset, repeat=3):
        out += problem.density((distance + np.dot(direction, point) * dx) / file.time)
    return out / samples**3


def _require_time(file):
    if not file.time > 0.0:
        raise bad_plotfile(f"{file.path}: time {file.time}; the Sod solution needs a time > 0")


def sod_l1(file, normal=(1.0, 0.0, 0.0)):
    _require_time(file)
    return l1_of_leaves(file, file.leaves.field(DENSITY), sod_exact(file, normal))


def sod_reference_norm(file):
    """Returns the density L1 of the x tube as Octo-Tiger's own tests print it, for comparison.

    Octo-Tiger computes the exact average of a cell from 1, 2, 4 … points along an edge. It stops
    when the cell's error changes by less than a tenth, at the latest at as many points as a
    sub-grid has cells (source: its grid.cpp, compute_analytic). This is coarser than `sod_exact`,
    by a quarter at 32³.
    """
    _require_time(file)
    most = file.cells // 2  # both set-ups of Octo-Tiger have two sub-grids along an edge
    problem = riemann_problem(gamma=float(file.metadata.get("gamma", 1.4)))
    if not file.is_uniform:
        raise bad_plotfile(f"{file.path}: Octo-Tiger's norm is defined for cells of one size only")
    density = file.field(DENSITY)
    if not np.array_equal(density, np.broadcast_to(density[:1, :1], density.shape)):
        raise bad_plotfile(f"{file.path}: the density varies across the tube")
    centres, dx = file.centres(), 2.0 * file.hi[0] / file.cells
    error = [_settled(problem, file.time, x, dx, u, most) for x, u in zip(centres, density[0, 0])]
    return math.fsum(error) / file.cells


def _settled(problem, time, centre, dx, value, most):
    """Returns |value - exact|, with the exact average from twice as many midpoints each time, until
    it changes by less than a tenth."""
    exact = float(problem.density(centre / time))
    points = 2
    while points <= most and exact != value:
        before = abs(value - exact)
        offset = ((np.arange(points) + 0.5) / points - 0.5) * dx
        exact = float(np.mean(problem.density((centre + offset) / time)))
        if abs(abs(value - exact) / before - 1.0) < 0.1:
            break
        points *= 2
    return abs(value - exact)


def linear_wave_exact(file, amplitude, speed=1.0, axis=0):
    """Returns one right-going wavelength across the domain by leaf: a sine at time 0, mean density
    1."""
    return file.leaves.of_lines(
        axis,
        lambda edges: linear_wave_average(
            edges,
            file.time,
            amplitude=amplitude,
            speed=speed,
            wavelength=file.hi[0] - file.lo[0],
        ),
    )


def linear_wave_l1(file, amplitude=1e-6, speed=1.0, axis=0):
    """Returns the density L1 in units of the amplitude: 0 is exact, 2/pi a wave that vanished."""
    exact = linear_wave_exact(file, amplitude, speed, axis)
    return l1_of_leaves(file, file.leaves.field(DENSITY), exact) / amplitude


def _direction(polar, azimuth):
    a, b = math.radians(polar), math.radians(azimuth)
    return math.sin(a) * math.cos(b), math.sin(a) * math.sin(b), math.cos(a)


def uniform_flow_difference(file, speed=1.0, polar=90.0, azimuth=0.0):
    """Returns the largest difference of any conserved density from a flow with rho = p = 1, and
    its field. Angular momentum is not compared."""
    gamma = float(file.metadata.get("gamma", 1.4))
    velocity = [speed * n for n in _direction(polar, azimuth)]
    exact = {DENSITY: 1.0, "egas": 1.0 / (gamma - 1.0) + 0.5 * speed * speed, "species0": 1.0,
             "tau": (1.0 / (gamma - 1.0)) ** (1.0 / gamma), **dict(zip(("sx", "sy", "sz"), velocity))}
    return max((float(np.abs(file.leaves.field(n) - v).max()), n) for n, v in exact.items())


def vortex_l1(file, strength=5.0, radius=None, speed=1.0, azimuth=0.0):
    """Returns the density L1 against the vortex that moves with the flow."""
    radius = radius or 0.2 * file.hi[0]
    exact = file.leaves.of_levels(lambda edges: isentropic_vortex_average(
        edges, file.time, strength=strength, radius=radius,
        velocity=[speed * n for n in _direction(90.0, azimuth)],
        gamma=float(file.metadata.get("gamma", 1.4)))[None])
    return l1_of_leaves(file, file.leaves.field(DENSITY), exact)


def _mode(file, momentum, across, k, weight):
    """Returns the amplitude of exp(i k x) in a velocity, weighted along the axis `across`
    (0 is x)."""
    leaves = file.leaves
    velocity = leaves.field(momentum) / leaves.field(DENSITY)
    # The mean of a wave over a cell is smaller than its value by this factor.
    half = 0.5 * k * leaves.dx[:, None, None, None]
    wave = np.exp(-1j * k * leaves.coordinate(0)) / (np.sin(half) / half)
    w = weight(leaves.coordinate(across))
    values = 2.0 * w * wave * velocity
    found = complex(leaves.mean(values.real), leaves.mean(values.imag))
    return abs(found) / leaves.mean(np.broadcast_to(w, velocity.shape))


def shear_modes(file, amplitude=0.01, width=0.025):
    """Returns the amplitude of the mode of McNally et al. (2012) in v_y: in the file, and by the
    linearised equations."""
    edge = file.hi[1] - file.lo[1]
    k = 4.0 * math.pi / edge
    gamma = float(file.metadata.get("gamma", 5.0 / 3.0))
    found = _mode(file, "sy", 1, k, linear.shear_weight(edge))
    return found, linear.shear_growth(file.time, edge, amplitude, width, gamma)


def layer_modes(file, amplitude=0.01, width=0.1, gravity=0.5):
    """Returns the amplitude of the mode of one wavelength in v_z: in the file, and by the linearised
    equations."""
    edge = file.hi[2] - file.lo[2]
    gamma = float(file.metadata.get("gamma", 5.0 / 3.0))
    found = _mode(file, "sz", 2, 2.0 * math.pi / edge, linear.layer_weight(edge))
    return found, linear.layer_growth(file.time, edge, amplitude, width, gravity, gamma)


def blast_time(file, offset=None, radius=BLAST_RADIUS):
    """Returns the time of the point explosion that the blast of the file is compared with."""
    if offset is None:
        offset = BLAST_TIME_OFFSET * (radius / BLAST_RADIUS) ** 2.5
    return file.time + offset


def density_on(file, cells):
    """Returns the cell averages of the density on a mesh of cells³ cells, which must be that of one
    of the file's levels."""
    if cells not in [level.cells for level in file.levels]:
        raise bad_plotfile(f"{file.path}: {file.cells}³ cells do not merge into {cells}³")
    return file.leaves.averages(file.leaves.field(DENSITY), cells)


def _density_l1(file, exact, cells=None):
    """Returns the density L1 against `exact(cells)`, averages over a mesh of cells³ cells: on that
    mesh, or on the leaves, each by its own cells."""
    if cells is not None:
        return l1_norm(density_on(file, cells), exact(cells))
    leaves = file.leaves
    return l1_of_leaves(file, leaves.field(DENSITY),
                        leaves.of_levels(lambda edges: exact(len(edges) - 1)))


def blast_l1(file, time, gamma=None, energy=1.0, cells=None):
    """Returns the density L1 against the similarity solution; both are averages over cells³ cells
    (default: those of the file's leaves)."""
    gamma = float(file.metadata.get("gamma", 1.4)) if gamma is None else gamma
    solution = sedov_solution(gamma)
    return _density_l1(
        file, lambda n: solution.density_average(n, file.hi[0], time, energy), cells)


def ball_l1(file, radius, gamma=None, energy=1.0, cells=None, samples=4):
    """Returns the density L1 against the blast from a ball of that radius."""
    gamma = float(file.metadata.get("gamma", 1.4)) if gamma is None else gamma
    profile = _ball_profile(file.time, radius, gamma, energy)
    return _density_l1(file, lambda n: _ball_average(profile, n, file.hi[0], samples), cells)


def _ball_average(profile, cells, half_edge, samples):
    half = cells // 2  # one octant suffices, by symmetry
    dx = 2.0 * half_edge / cells
    x = (np.arange(half * samples) + 0.5) * (dx / samples)
    exact = np.empty((half, half, half))
    for k in range(half):
        z = x[k * samples : (k + 1) * samples]
        r = np.sqrt(z[:, None, None] ** 2 + x[None, :, None] ** 2 + x[None, None, :] ** 2)
        fine = np.interp(r, *profile)
        exact[k] = fine.reshape(samples, half, samples, half, samples).mean(axis=(0, 2, 4))
    return mirrored(exact)


@functools.lru_cache(maxsize=4)
def _ball_profile(time, radius, gamma, energy):
    faces, density = ball_blast(time, radius, gamma, energy)
    return 0.5 * (faces[1:] + faces[:-1]), density


def box_references(file, radius, gamma, energy):
    """Returns two densities of a ball's blast in a periodic box by `reflecting_box`, as averages
    over half as many cells along an edge as the file's finest: calculated with the file's cells,
    and with these larger ones."""
    half = file.cells // 2
    fine, coarse = (octant_density(file.time, n, radius, file.hi[0], gamma, energy)
                    for n in (half, half // 2))
    n = len(coarse)
    return mirrored(fine.reshape(n, 2, n, 2, n, 2).mean(axis=(1, 3, 5))), mirrored(coarse)


def reference_error(fine, coarse):
    """Returns the density L1 of the finer of two calculations with cells of dx and 2 dx, from
    their difference and the order."""
    return l1_norm(coarse, fine) / (2.0**REFERENCE_ORDER - 1.0)


def order(errors, sizes):
    """Returns the slope of log error against log size by least squares; nan if an error is 0."""
    if min(errors) <= 0.0 or not all(math.isfinite(e) for e in errors):
        return math.nan
    return float(-np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def same_mesh(a, b):
    """Raises `bad_plotfile` if two files do not describe the same cells."""
    if [level.boxes for level in a.levels] != [level.boxes for level in b.levels]:
        raise bad_plotfile(f"{a.path} and {b.path}: the meshes differ")
    if (a.lo, a.hi) != (b.lo, b.hi):
        raise bad_plotfile(f"{a.path} and {b.path}: the domains differ")


def different_values(a, b):
    """Returns the number of values that differ in any bit (-0 differs from 0; a nan equals a nan of
    the same bits)."""
    return int(np.count_nonzero(a.astype("<f8").view("<u8") != b.astype("<f8").view("<u8")))


def difference(a, b):
    """Returns the largest |a - b| relative to the largest |a|; nan if a or b contains a nan."""
    scale = np.abs(a).max()
    return float(np.abs(a - b).max() / (scale if scale > 0.0 else 1.0))
