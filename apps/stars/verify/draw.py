#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a plotfile: the density in the plane z = 0, and its profile with the exact profile."""

import argparse
import sys
from pathlib import Path

import judge
import matplotlib
import numpy as np
from analytic import riemann_problem, sedov_solution
from plotfile import bad_plotfile, plotfile

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
from matplotlib.ticker import MaxNLocator  # noqa: E402

TITLES = {
    "blast": "Sedov–Taylor blast wave",
    "sod": "Sod shock tube",
    "linear-wave": "Acoustic wave",
}
STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "legend.frameon": False,
    "mathtext.fontset": "dejavusans",
    "savefig.dpi": 160,
}
CELLS = {"color": "#2f5d9e", "rasterized": True, "linewidths": 0, "zorder": 3}
EXACT = {"color": "#d1495b", "linewidth": 1.5, "zorder": 2}
AVERAGED = {"color": "#e9a03b", "linewidth": 1.5, "zorder": 2}


def _middle_plane(data):
    """Returns the plane z = 0, which lies between two layers of cells, as the mean of both."""
    n = data.shape[0] // 2
    return 0.5 * (data[n - 1] + data[n])


def _slice(figure, axes, file, data, label, half_width, colours="inferno", symmetric=False):
    plane = _middle_plane(data)
    limit = np.abs(plane).max() if symmetric else None
    extent = (file.lo[0], file.hi[0], file.lo[1], file.hi[1])
    image = axes.imshow(
        plane,
        origin="lower",
        extent=extent,
        cmap=colours,
        vmin=-limit if symmetric else 0.0,
        vmax=limit,
        interpolation="nearest",
    )
    axes.set(xlim=(-half_width, half_width), ylim=(-half_width, half_width))
    axes.set(xlabel="x", ylabel="y", title=f"{label[0].upper()}{label[1:]}, plane z = 0")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    bar = figure.colorbar(image, ax=axes, shrink=0.82, aspect=28, pad=0.025)
    bar.outline.set_linewidth(0.6)
    return image


def _radius(file):
    c = file.centres()
    return np.sqrt(c[:, None, None] ** 2 + c[:, None] ** 2 + c**2)


def _binned(radius, data, cells):
    """Returns the mean radius and mean value in shells of half a cell's width."""
    shell = (radius * cells).astype(int).ravel()
    count = np.bincount(shell)
    held = count > 0
    means = (np.bincount(shell, values.ravel())[held] / count[held] for values in (radius, data))
    return tuple(means)


def _scatter(axes, x, y, label):
    size = float(np.clip(2.5e4 / x.size, 0.6, 9.0))
    alpha = float(np.clip(3e4 / x.size, 0.15, 0.9))
    axes.scatter(x, y, s=size, alpha=alpha, **CELLS)
    # A separate marker for the legend, since the markers of the cells are too faint there.
    axes.scatter([], [], s=14, color=CELLS["color"], label=label)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))


def _two_rows(figure, cell):
    grid = cell.subgridspec(2, 1, height_ratios=(2.1, 1.0), hspace=0.06)
    upper = figure.add_subplot(grid[0])
    lower = figure.add_subplot(grid[1], sharex=upper)
    upper.tick_params(labelbottom=False)
    return upper, lower


def _blast(figure, grid, file, options):
    gamma = float(file.metadata.get("gamma", 1.4))
    solution = sedov_solution(gamma)
    time = judge.blast_time(file, options.time_offset)
    shock = solution.shock_radius(time)
    half_width = min(file.hi[0], max(2.0 * shock, 8.0 * file.levels[-1].dx[0]))
    density = file.field(judge.DENSITY)
    left = figure.add_subplot(grid[0])
    _slice(figure, left, file, density, "density", half_width)
    circle = plt.Circle((0, 0), shock, fill=False, color="#5fd0f5", lw=1.2, ls=(0, (4, 3)))
    left.add_patch(circle)

    upper, lower = _two_rows(figure, grid[1])
    radius = _radius(file)
    shown = radius < half_width
    _scatter(upper, radius[shown], density[shown], "all cells")
    r = np.union1d(np.linspace(0.0, half_width, 2000), [shock, np.nextafter(shock, 2.0)])
    exact_density, exact_pressure = solution.profile(r / shock)
    upper.plot(r, exact_density, label="similarity solution", **EXACT)
    average = solution.density_average(file.cells, file.hi[0], time)
    upper.plot(*_binned(radius, average, file.cells), label="its cell averages", **AVERAGED)
    upper.set(ylabel="density", xlim=(0.0, half_width), ylim=(0.0, None))
    upper.set_title("Radial profile")
    upper.legend(loc="upper left")

    speed = 0.4 * shock / time
    scale = 2.0 / (gamma + 1.0) * speed * speed
    if "pressure" in file.names:
        _scatter(lower, radius[shown], file.field("pressure")[shown], "all cells")
    lower.plot(r, scale * exact_pressure, **EXACT)
    lower.set(xlabel="r", ylabel="pressure", ylim=(0.0, None))
    return f"density L1 {judge.blast_l1(file, time):.2e}"


def _along_x(figure, cell, file, data, exact, ylabel, exact_label):
    """Draws the profile of all cells along x; the panel below is for their distance from the exact
    averages."""
    upper, lower = _two_rows(figure, cell)
    x = np.broadcast_to(file.leaves.coordinate(0), data.shape)
    _scatter(upper, *_distinct(x, data), "all cells")
    upper.plot(*exact, label=exact_label, **EXACT)
    upper.set(ylabel=ylabel, xlim=(file.lo[0], file.hi[0]))
    upper.set_title("Profile along x")
    upper.margins(y=0.08)
    return upper, lower, x


def _distinct(x, y):
    """Removes repeated points: a plane wave has n^2 copies of each."""
    return np.unique(np.stack([x.ravel(), y.ravel()]), axis=1)


def _error_panel(lower, x, error):
    lower.axhline(0.0, color="0.6", lw=0.8)
    _scatter(lower, *_distinct(x, error), "all cells")
    lower.set(xlabel="x", ylabel="cells − exact")


def _sod(figure, grid, file, options):
    plane = file.field(judge.DENSITY)
    _slice(figure, figure.add_subplot(grid[0]), file, plane, "density", file.hi[0], "viridis")
    density = file.leaves.field(judge.DENSITY)
    problem = riemann_problem(gamma=float(file.metadata.get("gamma", 1.4)))
    if not file.time > 0.0:
        raise bad_plotfile(f"{file.path}: time {file.time}; the Sod solution needs a time > 0")
    s = np.linspace(file.lo[0], file.hi[0], 4001)
    exact = (s, problem.density(s / file.time))
    panel = (file, density, exact, "density", "exact solution")
    upper, lower, x = _along_x(figure, grid[1], *panel)
    upper.legend(loc="upper right")
    _error_panel(lower, x, density - judge.sod_exact(file, (1, 0, 0)))
    return f"density L1 {judge.sod_l1(file):.2e}"


def _linear_wave(figure, grid, file, options):
    amplitude = options.amplitude
    plane = (file.field(judge.DENSITY) - 1.0) / amplitude
    label = "(density − 1) / amplitude"
    left = figure.add_subplot(grid[0])
    _slice(figure, left, file, plane, label, file.hi[0], "RdBu_r", symmetric=True)
    wave = (file.leaves.field(judge.DENSITY) - 1.0) / amplitude
    x = np.linspace(file.lo[0], file.hi[0], 1001)
    phase = 2.0 * np.pi * (x - file.time) / (file.hi[0] - file.lo[0])
    panel = (file, wave, (x, np.sin(phase)), label, "exact solution")
    upper, lower, where = _along_x(figure, grid[1], *panel)
    upper.legend(loc="upper left")
    exact = (judge.linear_wave_exact(file, amplitude) - 1.0) / amplitude
    _error_panel(lower, where, wave - exact)
    return f"L1 / amplitude {judge.linear_wave_l1(file, amplitude):.2e}"


def _plain(figure, grid, file, options):
    """Draws a problem without an exact solution: the density along the x axis."""
    density = file.field(judge.DENSITY)
    _slice(figure, figure.add_subplot(grid[0]), file, density, "density", file.hi[0])
    right = figure.add_subplot(grid[1])
    n = file.cells // 2
    right.plot(file.centres(), density[n, n], color=CELLS["color"])
    right.set(xlabel="x", ylabel="density", title="Along the x axis", xlim=(file.lo[0], file.hi[0]))
    return ""


PAINTERS = {"blast": _blast, "sod": _sod, "linear-wave": _linear_wave}


def draw(file, target, options):
    """Writes the picture of an open plotfile to `target`."""
    problem = options.problem or file.metadata.get("problem", "")
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(10.6, 4.7), layout="constrained")
        grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.12), wspace=0.04)
        remark = PAINTERS.get(problem, _plain)(figure, grid, file, options)
        parts = [f"{file.cells}³ cells", f"step {file.step}", f"t = {file.time:.5g}", remark]
        title = TITLES.get(problem, problem or file.path.name)
        figure.suptitle(f"{title}  ·  " + "  ·  ".join(p for p in parts if p), fontsize=11.5)
        figure.savefig(target)
        plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plotfile")
    parser.add_argument("-o", "--output", type=Path, help="default: PLOTFILE.png")
    parser.add_argument("--problem", choices=sorted(PAINTERS), help="if the file does not say")
    parser.add_argument("--time-offset", type=float, help="age of the blast at the start")
    parser.add_argument("--amplitude", type=float, default=1e-6, help="of the acoustic wave")
    args = parser.parse_args(arguments)
    target = args.output or Path(str(args.plotfile).rstrip("/") + ".png")
    try:
        draw(plotfile(args.plotfile), target, args)
    except (bad_plotfile, OSError, ValueError) as error:
        print(f"draw: {error}", file=sys.stderr)
        return 2
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
