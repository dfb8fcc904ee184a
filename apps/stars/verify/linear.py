# SPDX-License-Identifier: Apache-2.0
"""Growth of small perturbations of a layered gas, by the linearised equations of motion.

The base state is a plane-parallel flow: density, velocity along x and pressure depend on y only,
and gravity g acts towards lower y (dp/dy = -g rho). A perturbation is the real part of
q(y, t) exp(i k x). Its equations are integrated in time on a fine grid of their own: v on the faces
of cells, the other variables in their centres, second order in y, classical Runge-Kutta in t. No
instability is assumed: from the same start both programs must reach the same amplitude.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class layered_flow:
    """Base state as functions of y in [low, high]; `walls`: v = 0 at both ends, else periodic."""

    density: object
    velocity: object
    pressure: object
    low: float
    high: float
    gamma: float
    gravity: float = 0.0
    walls: bool = False


class perturbation:
    """Perturbation of a layered flow with wave number k along x; at the start v = start(y), u =
    along(y), and density and pressure are those of the flow."""

    def __init__(self, flow, k, start, cells=800, along=np.zeros_like):
        self.k, self.flow, self.cells = k, flow, cells
        self.dy = (flow.high - flow.low) / cells
        self.faces = flow.low + self.dy * np.arange(cells)  # lower faces
        self.centres = self.faces + 0.5 * self.dy
        self.rho, self.p = flow.density(self.centres), flow.pressure(self.centres)
        self.u = flow.velocity(self.centres)
        self.rho_face, self.u_face = flow.density(self.faces), flow.velocity(self.faces)
        self.rho_step, self.u_step = self._steps(self.rho), self._steps(self.u)
        self.time = 0.0
        zero = np.zeros(cells, complex)
        self.state = np.stack([zero, along(self.centres).astype(complex),
                               start(self.faces).astype(complex), zero])
        if flow.walls:
            self.state[2, 0] = 0.0

    def _steps(self, values):
        """Returns the difference of centred values across each lower face."""
        steps = values - np.roll(values, 1)
        if self.flow.walls:
            steps[0] = 0.0
        return steps

    def _rates(self, state):
        rho, u, v, p = state
        upper = np.roll(v, -1)  # at the upper face of each cell; at a wall 0 as at the lower one
        divergence = 1j * self.k * u + (upper - v) / self.dy

        def carried(step):
            """Returns v times the slope of a base value, as the mean over the faces of a cell."""
            return 0.5 * (v * step + upper * np.roll(step, -1)) / self.dy

        turn = -1j * self.k
        middle = 0.5 * (rho + np.roll(rho, 1))
        weight = self.flow.gravity / self.rho_face
        out = np.empty_like(state)
        out[0] = turn * self.u * rho - carried(self.rho_step) - self.rho * divergence
        out[1] = turn * (self.u * u + p / self.rho) - carried(self.u_step)
        out[2] = turn * self.u_face * v - (p - np.roll(p, 1)) / (self.dy * self.rho_face)
        out[2] -= weight * middle
        falling = 0.5 * (self.rho_face * v + np.roll(self.rho_face * v, -1)) * self.flow.gravity
        out[3] = turn * self.u * p + falling - self.flow.gamma * self.p * divergence
        if self.flow.walls:
            out[2, 0] = 0.0
        return out

    def advance(self, time):
        """Advances to a time and returns v(y) at the faces, complex."""
        speed = float(np.max(np.abs(self.u) + np.sqrt(self.flow.gamma * self.p / self.rho)))
        limit = 1.0 / (speed * (1.0 / self.dy + self.k))
        steps = max(1, int(np.ceil((time - self.time) / limit)))
        dt = (time - self.time) / steps
        for _ in range(steps):
            a = self._rates(self.state)
            b = self._rates(self.state + 0.5 * dt * a)
            c = self._rates(self.state + 0.5 * dt * b)
            d = self._rates(self.state + dt * c)
            self.state = self.state + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        self.time = time
        return self.state[2]

    def amplitude(self, weight):
        """Returns |sum of w v| / sum of w at the faces, for a weight w(y)."""
        w = weight(self.faces)
        return float(np.abs(np.sum(w * self.state[2])) / np.sum(w))


def shear_layers(edge, width, gamma=5.0 / 3.0):
    """Returns the flow of McNally, Lyra and Passy (2012), ApJS 201, 18, stretched to a domain of
    that edge around the origin."""

    def share(y):
        depth = 0.25 - np.abs(y / edge)
        tail = 0.5 * np.exp(-np.abs(depth) / width)
        return np.where(depth < 0.0, tail, 1.0 - tail)

    return layered_flow(
        density=lambda y: 1.0 + share(y),
        velocity=lambda y: 0.5 - share(y),
        pressure=lambda y: np.full_like(y, 2.5),
        low=-0.5 * edge,
        high=0.5 * edge,
        gamma=gamma,
    )


def shear_weight(edge):
    """Returns the weight by which McNally et al. measure the mode: it decays from both layers."""
    return lambda y: np.exp(-4.0 * np.pi * np.abs(np.abs(y / edge) - 0.25))


def shear_growth(time, edge, amplitude, width, gamma=5.0 / 3.0, cells=800):
    """Returns the amplitude of v_y in the mode of McNally et al. at a time."""
    flow = shear_layers(edge, width, gamma)
    mode = perturbation(flow, 4.0 * np.pi / edge, lambda y: np.full_like(y, amplitude), cells)
    mode.advance(time)
    return mode.amplitude(shear_weight(edge))


def heavy_layers(edge, width, gravity, gamma=5.0 / 3.0):
    """Returns a gas at rest between walls, in a domain of that edge around the origin: density 2
    above and 1 below y = 0, p = 5/2 there."""
    scale = width * edge

    def pressure(y):
        weight = 1.5 * y + 0.5 * scale * np.log(np.cosh(y / scale))
        return 2.5 - gravity * weight

    return layered_flow(
        density=lambda y: 1.5 + 0.5 * np.tanh(y / scale),
        velocity=np.zeros_like,
        pressure=pressure,
        low=-0.5 * edge,
        high=0.5 * edge,
        gamma=gamma,
        gravity=gravity,
        walls=True,
    )


def layer_weight(edge):
    """Returns a weight that decays from the interface like the growing mode."""
    return lambda y: np.exp(-2.0 * np.pi * np.abs(y / edge))


def layer_growth(time, edge, amplitude, width, gravity, gamma=5.0 / 3.0, cells=400):
    """Returns the amplitude of v_y in the mode of one wavelength in the domain at a time; at the
    start v_y is amplitude cos(k x) cos(k y / 2) and v_x makes the flow free of divergence."""
    k = 2.0 * np.pi / edge
    mode = perturbation(heavy_layers(edge, width, gravity, gamma), k,
                        lambda y: amplitude * np.cos(0.5 * k * y), cells,
                        lambda y: -0.5j * amplitude * np.sin(0.5 * k * y))
    mode.advance(time)
    return mode.amplitude(layer_weight(edge))
