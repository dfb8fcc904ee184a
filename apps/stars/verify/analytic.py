# SPDX-License-Identifier: Apache-2.0
"""Exact solutions that the simulation is compared with; this module reads no simulation code.

All quantities are dimensionless code units. Functions are pure and take or return numpy arrays.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def cell_average(profile, edges, breakpoints=()):
    """Returns the averages of `profile(x)` over the cells between consecutive `edges`.

    A cell that holds a breakpoint (where the profile or its slope jumps) is split there, so that
    the 8-point Gauss rule is applied to smooth pieces only. Returns len(edges) - 1 values.
    """
    edges = np.asarray(edges, dtype=float)
    inside = [b for b in breakpoints if edges[0] < b < edges[-1]]
    points = np.union1d(edges, inside)
    half = 0.5 * np.diff(points)
    middle = 0.5 * (points[1:] + points[:-1])
    values = profile(middle[:, None] + half[:, None] * _NODES)
    pieces = half * (values @ _WEIGHTS)
    cell = np.searchsorted(edges, middle, side="right") - 1
    return np.bincount(cell, weights=pieces, minlength=len(edges) - 1) / np.diff(edges)


def mirrored(octant):
    """Returns an array of the octant towards the upper corner of a cube as one of the whole
    cube."""
    for axis in range(3):
        octant = np.concatenate([np.flip(octant, axis), octant], axis)
    return octant


@dataclass(frozen=True)
class gas_state:
    """Density, normal velocity and pressure of one side of a Riemann problem."""

    density: float
    velocity: float
    pressure: float

    def sound_speed(self, gamma):
        return math.sqrt(gamma * self.pressure / self.density)


SOD_LEFT = gas_state(1.0, 0.0, 1.0)
SOD_RIGHT = gas_state(0.125, 0.0, 0.1)


def _pressure_function(p, side, gamma):
    """Returns the velocity change across the wave next to `side` at middle pressure p, and its
    slope."""
    c = side.sound_speed(gamma)
    if p > side.pressure:
        a = 2.0 / ((gamma + 1.0) * side.density)
        b = (gamma - 1.0) / (gamma + 1.0) * side.pressure
        root = math.sqrt(a / (p + b))
        jump = p - side.pressure
        return jump * root, root * (1.0 - 0.5 * jump / (p + b))
    ratio = p / side.pressure
    power = (gamma - 1.0) / (2.0 * gamma)
    slope = ratio ** (-(gamma + 1.0) / (2.0 * gamma)) / (side.density * c)
    return 2.0 * c / (gamma - 1.0) * (ratio**power - 1.0), slope


class riemann_problem:
    """Exact solution of the one-dimensional Riemann problem of an ideal gas (no vacuum)."""

    def __init__(self, left=SOD_LEFT, right=SOD_RIGHT, gamma=1.4):
        self.left, self.right, self.gamma = left, right, gamma
        self.pressure = self._middle_pressure()
        f_left, _ = _pressure_function(self.pressure, left, gamma)
        f_right, _ = _pressure_function(self.pressure, right, gamma)
        self.velocity = 0.5 * (left.velocity + right.velocity + f_right - f_left)
        self.density_left = self._middle_density(left)
        self.density_right = self._middle_density(right)
        self.speeds = self._wave_speeds()

    def _middle_pressure(self):
        drift = self.right.velocity - self.left.velocity
        p = 0.5 * (self.left.pressure + self.right.pressure)
        for _ in range(100):
            fl, dl = _pressure_function(p, self.left, self.gamma)
            fr, dr = _pressure_function(p, self.right, self.gamma)
            new = max(p - (fl + fr + drift) / (dl + dr), 1e-3 * p)
            if abs(new - p) <= 4e-16 * p:
                return new
            p = new
        return p

    def _middle_density(self, side):
        ratio = self.pressure / side.pressure
        if ratio > 1.0:
            g = (self.gamma - 1.0) / (self.gamma + 1.0)
            return side.density * (ratio + g) / (g * ratio + 1.0)
        return side.density * ratio ** (1.0 / self.gamma)

    def _side_speeds(self, side, middle_density, sign):
        """Returns (head, tail) of the wave next to `side`; sign: -1 on the left, +1 on the
        right."""
        if self.pressure > side.pressure:
            flow = side.density * side.velocity - middle_density * self.velocity
            speed = flow / (side.density - middle_density)
            return speed, speed
        c_middle = math.sqrt(self.gamma * self.pressure / middle_density)
        return side.velocity + sign * side.sound_speed(self.gamma), self.velocity + sign * c_middle

    def _wave_speeds(self):
        left_head, left_tail = self._side_speeds(self.left, self.density_left, -1.0)
        right_head, right_tail = self._side_speeds(self.right, self.density_right, 1.0)
        return left_head, left_tail, self.velocity, right_tail, right_head

    def _fan_density(self, s, side, sign):
        g = self.gamma
        c = side.sound_speed(g)
        base = 2.0 / (g + 1.0) - sign * (g - 1.0) / ((g + 1.0) * c) * (side.velocity - s)
        return side.density * np.maximum(base, 0.0) ** (2.0 / (g - 1.0))

    def density(self, s):
        """Returns the density along the rays s = x / t."""
        s = np.asarray(s, dtype=float)
        head_l, tail_l, contact, tail_r, head_r = self.speeds
        fan_left = self._fan_density(s, self.left, -1.0)
        fan_right = self._fan_density(s, self.right, 1.0)
        out = np.where(s < head_l, self.left.density, fan_left)
        out = np.where(s >= tail_l, self.density_left, out)
        out = np.where(s >= contact, self.density_right, out)
        out = np.where(s >= tail_r, fan_right, out)
        return np.where(s >= head_r, self.right.density, out)

    def density_average(self, edges, t):
        """Returns cell averages of the density at time t (t > 0), with the diaphragm at x = 0."""
        breakpoints = [t * s for s in self.speeds]
        return cell_average(lambda x: self.density(x / t), edges, breakpoints)


class sedov_solution:
    """Spherical point explosion in a uniform cold gas (Sedov-Taylor), by quadrature of its ODE.

    With V = (5/2) v t / r, Z = (25/4) c^2 t^2 / r^2 and G = rho / rho0 as functions of xi = r / R,
    V decreases from 2/(gamma + 1) at the shock to 1/gamma in the centre. In ln xi the equations are
    singular there, so the independent variable is w = ln(gamma V - 1), in which both ln xi and ln G
    are plain integrals of functions of w.
    """

    PANELS = 4000
    DEPTH = 120.0

    def __init__(self, gamma):
        self.gamma = gamma
        self.shock_compression = (gamma + 1.0) / (gamma - 1.0)
        shock_w = math.log(gamma * 2.0 / (gamma + 1.0) - 1.0)
        w = np.linspace(shock_w, shock_w - self.DEPTH, self.PANELS + 1)
        half = 0.5 * np.diff(w)
        nodes = w[:-1, None] + half[:, None] * (1.0 + _NODES)
        dlnxi, dlng = self._slopes(nodes)
        self._w = w
        self._ln_xi = np.concatenate([[0.0], np.cumsum(half * (dlnxi @ _WEIGHTS))])
        ln_g = np.concatenate([[0.0], np.cumsum(half * (dlng @ _WEIGHTS))])
        self._ln_g = ln_g + math.log(self.shock_compression)
        self._integrate(half)
        pressure = self._scaled_pressure(np.exp(self._ln_g), self._w, np.exp(self._ln_xi))
        self._pressure = pressure / pressure[0]
        self.central_pressure = float(self._pressure[-1])
        # np.interp requires ascending abscissae.
        self._table = (
            self._ln_xi[::-1].copy(),
            self._ln_g[::-1].copy(),
            self._pressure[::-1].copy(),
            self._w[::-1].copy(),
        )

    def _speeds(self, w):
        """Returns V and gamma V - 1; computed from V, the latter would cancel near the centre."""
        excess = np.exp(w)
        return (1.0 + excess) / self.gamma, excess

    def _slopes(self, w):
        """Returns d ln xi / dw and d ln G / dw."""
        g = self.gamma
        v, excess = self._speeds(w)
        # dV/dlnxi carries a factor 1/a with a ~ -g/excess; multiplied by excess it is regular.
        a_excess = excess * (-1.0 / (1.0 - v) + 2.0 / v - (g - 1.0) / (1.0 - v)) - g
        slope = (3.0 * (g - 1.0) * v - (5.0 - 2.0 * v)) / ((1.0 - v) * a_excess)
        dlnxi = 1.0 / (g * slope)
        v_prime = slope * excess
        return dlnxi, (v_prime + 3.0 * v) / (1.0 - v) * dlnxi

    def _z(self, w):
        v, excess = self._speeds(w)
        return self.gamma * (self.gamma - 1.0) * (1.0 - v) * v * v / (2.0 * excess)

    def _scaled_pressure(self, g, w, xi):
        return g * self._z(w) * xi * xi

    def _integrate(self, half):
        """Computes the energy constant alpha and the integral of the mass check on the same panels,
        from the shock inwards."""
        nodes = self._w[:-1, None] + half[:, None] * (1.0 + _NODES)
        dlnxi, dlng = self._slopes(nodes)
        # ln xi and ln G at the nodes: integrate the interpolant of each panel exactly.
        partial = _partial_integrals()
        ln_xi = self._ln_xi[:-1, None] + half[:, None] * (dlnxi @ partial.T)
        ln_g = self._ln_g[:-1, None] + half[:, None] * (dlng @ partial.T)
        xi, g = np.exp(ln_xi), np.exp(ln_g)
        v, _ = self._speeds(nodes)
        energy = g * (0.5 * v * v + self._z(nodes) / (self.gamma * (self.gamma - 1.0))) * xi**5
        mass = 3.0 * g * xi**3
        self.alpha = -16.0 * math.pi / 25.0 * float(half @ ((energy * dlnxi) @ _WEIGHTS))
        self.mass_integral = -float(half @ ((mass * dlnxi) @ _WEIGHTS))
        self.xi0 = self.alpha**-0.2

    def shock_radius(self, t, energy=1.0, density=1.0):
        return self.xi0 * (energy * t * t / density) ** 0.2

    def profile(self, xi):
        """Returns rho / rho0 and p / p_shock at xi = r / R; (1, 0) outside the shock."""
        ln_xi = np.log(np.maximum(np.asarray(xi, dtype=float), 1e-300))
        abscissae, ln_g, pressure, _ = self._table
        # Towards the centre G is a power of xi; its table ends far inside the innermost cell.
        below = (ln_g[1] - ln_g[0]) / (abscissae[1] - abscissae[0]) * (ln_xi - abscissae[0])
        g = np.exp(np.interp(ln_xi, abscissae, ln_g) + np.minimum(below, 0.0))
        p = np.interp(ln_xi, abscissae, pressure)
        outside = ln_xi > 0.0
        return np.where(outside, 1.0, g), np.where(outside, 0.0, p)

    def gas(self, r, t, energy=1.0):
        """Returns density, radial velocity and pressure at radii r > 0, in gas of density 1."""
        radius = self.shock_radius(t, energy)
        speed = 0.4 * radius / t
        density, pressure = self.profile(r / radius)
        w = np.interp(np.log(r / radius), self._table[0], self._table[3])
        velocity = np.where(r > radius, 0.0, 0.4 * self._speeds(w)[0] * r / t)
        return density, velocity, pressure * (2.0 * speed * speed / (self.gamma + 1.0))

    def density(self, r, t, energy=1.0, density=1.0):
        return density * self.profile(np.asarray(r) / self.shock_radius(t, energy, density))[0]

    def density_average(self, cells, xscale, t, energy=1.0):
        """Returns cell averages [z][y][x] over the cube [-xscale, xscale]^3 of cells^3 cells
        (even).

        One octant is computed and mirrored. Cells that the shock may cross get 12^3 sample points,
        the remaining cells 3^3.
        """
        half = cells // 2
        dx = 2.0 * xscale / cells
        centre = (np.arange(half) + 0.5) * dx
        radius = self.shock_radius(t, energy)
        octant = self._sampled(*np.meshgrid(centre, centre, centre, indexing="ij"), dx, 3, radius)
        z, y, x = np.meshgrid(centre, centre, centre, indexing="ij")
        near = np.abs(np.sqrt(x * x + y * y + z * z) - radius) < dx
        octant[near] = self._sampled(z[near], y[near], x[near], dx, 12, radius)
        return mirrored(octant)

    def _sampled(self, z, y, x, dx, samples, radius):
        offset = ((np.arange(samples) + 0.5) / samples - 0.5) * dx
        total = np.zeros_like(x)
        for oz in offset:
            for oy in offset:
                for ox in offset:
                    r = np.sqrt((x + ox) ** 2 + (y + oy) ** 2 + (z + oz) ** 2)
                    total += self.profile(r / radius)[0]
        return total / samples**3


@lru_cache(maxsize=1)
def _partial_integrals():
    """Returns a matrix P with (P f)_i = integral from -1 to node i of the interpolant of f."""
    rows = []
    for node in _NODES:
        s = 0.5 * (node + 1.0)
        points = -1.0 + s * (1.0 + _NODES)
        basis = [_lagrange(j, points) for j in range(len(_NODES))]
        rows.append([s * float(_WEIGHTS @ b) for b in basis])
    return np.array(rows)


def _lagrange(j, points):
    others = np.delete(_NODES, j)
    return np.prod((points[:, None] - others) / (_NODES[j] - others), axis=1)


def linear_wave_average(edges, t, *, amplitude, density=1.0, speed=1.0, wavelength=2.0, phase=0.0):
    """Returns cell averages of density (1 + amplitude sin(2 pi (x - speed t) / wavelength +
    phase)).

    This is a right-going acoustic eigenmode of small amplitude: exact to first order in
    `amplitude`.
    """
    k = 2.0 * math.pi / wavelength
    edges = np.asarray(edges, dtype=float)
    argument = k * (edges - speed * t) + phase
    # The average of a sine is a difference of cosines; written as a product it has no cancellation.
    half = 0.5 * k * np.diff(edges)
    middle = 0.5 * (argument[1:] + argument[:-1])
    return density * (1.0 + amplitude * np.sin(middle) * np.sin(half) / half)


def isentropic_vortex_average(edges, t, *, strength, radius, velocity, gamma):
    """Returns cell averages [y][x] of the density of a vortex that moves with a uniform flow of
    density and pressure 1 and `velocity` (x, y) through a periodic square with these edges.

    C.-W. Shu, NASA/CR-97-206253 (1998): with x and y in units of the radius, the swirl is
    strength / (2 pi) exp((1 - r^2) / 2) times r, and p / rho^gamma is 1 everywhere.
    """
    edges = np.asarray(edges, dtype=float)
    period = edges[-1] - edges[0]
    half = 0.5 * np.diff(edges)
    points = (0.5 * (edges[1:] + edges[:-1]))[:, None] + half[:, None] * _NODES

    def squares(shift):
        away = (points - shift + 0.5 * period) % period - 0.5 * period
        return (away / radius) ** 2

    x, y = squares(velocity[0] * t), squares(velocity[1] * t)
    depth = (gamma - 1.0) * strength**2 / (8.0 * gamma * math.pi**2)
    r = y[:, :, None, None] + x[None, None, :, :]
    density = (1.0 - depth * np.exp(1.0 - r)) ** (1.0 / (gamma - 1.0))
    return np.einsum("jbia,b,a->ji", density, 0.5 * _WEIGHTS, 0.5 * _WEIGHTS)
