#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a plotfile: the density in the plane z = 0 with the outlines of the sub-grids, if there are
several levels, and its profile with the exact profile."""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import judge
import matplotlib
import movie
import numpy as np
from analytic import riemann_problem, sedov_solution
from plotfile import bad_plotfile, plotfile

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)
from matplotlib.collections import LineCollection  # noqa: E402
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
CELLS = {"rasterized": True, "linewidths": 0, "zorder": 3}
ONE_LEVEL = "#2f5d9e"
MOST_CELLS = 256  # along an edge, of arrays of the whole domain
EXACT = {"color": "#d1495b", "linewidth": 1.5, "zorder": 2}
AVERAGED = {"color": "#e9a03b", "linewidth": 1.5, "zorder": 2}


@dataclass(frozen=True)
class view:
    """What pictures of a movie have in common; None: each picture has its own."""

    limit: float = None  # of the colours
    half_width: float = None  # of the blast's surroundings


def _slice(
    figure, axes, file, values, label, shown, half_width, colours="inferno", symmetric=False
):
    """Draws values by leaf in the plane z = 0, and the outlines of the leaves of several levels."""
    plane = file.leaves.middle_plane(values)
    limit = shown.limit
    if limit is None and symmetric:
        limit = np.abs(plane).max()
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
    if not file.is_uniform:
        _outlines(axes, file)
    axes.set(xlim=(-half_width, half_width), ylim=(-half_width, half_width))
    axes.set(xlabel="x", ylabel="y", title=f"{label[0].upper()}{label[1:]}, plane z = 0")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    bar = figure.colorbar(image, ax=axes, shrink=0.82, aspect=28, pad=0.025)
    bar.outline.set_linewidth(0.6)
    return image


def _level_colours(file):
    """Returns the colours of the levels that have leaves, from the coarsest level on."""
    levels = np.unique(file.leaves.level).tolist()
    if len(levels) == 1:
        return {levels[0]: ONE_LEVEL}
    shades = plt.get_cmap("cool")(np.linspace(0.0, 1.0, len(levels)))
    return dict(zip(levels, shades))


def _outlines(axes, file):
    """Draws the outlines of the leaves at the plane z = 0, the finest level on top."""
    leaves = file.leaves
    shown = np.logical_or(*leaves.at_middle(2))
    for level, colour in _level_colours(file).items():
        own = np.flatnonzero(shown & (leaves.level == level))
        ends = (leaves.edges(axis)[own][:, [0, -1]] for axis in (0, 1))
        squares = [
            [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
            for (x0, x1), (y0, y1) in zip(*(np.atleast_2d(e) for e in ends))
        ]
        axes.add_collection(LineCollection(squares, colors=[colour], linewidths=0.5, alpha=0.8))
        count = int((leaves.level == level).sum())
        axes.plot([], [], color=colour, lw=1.5, label=f"level {level}: {count} sub-grids")
    box = {"frameon": True, "facecolor": "black", "framealpha": 0.6, "edgecolor": "none"}
    axes.legend(loc="upper right", fontsize=7, labelcolor="white", handlelength=1.0, **box)


def _radius(file, cells):
    """Returns the distances from the origin of the cells of a uniform mesh."""
    c = file.hi[0] * ((2.0 * np.arange(cells) + 1.0) / cells - 1.0)
    return np.sqrt(c[:, None, None] ** 2 + c[:, None] ** 2 + c**2)


def _binned(radius, data, cells):
    """Returns the mean radius and mean value in shells of half a cell's width."""
    shell = (radius * cells).astype(int).ravel()
    count = np.bincount(shell)
    held = count > 0
    means = (np.bincount(shell, values.ravel())[held] / count[held] for values in (radius, data))
    return tuple(means)


def _scatter(axes, file, x, y, level=None):
    """Draws points; `level` has the level of each, by default there is one colour only."""
    size = float(np.clip(2.5e4 / x.size, 0.6, 9.0))
    alpha = float(np.clip(3e4 / x.size, 0.15, 0.9))
    colours = {0: ONE_LEVEL} if level is None else _level_colours(file)
    for number, colour in colours.items():
        own = slice(None) if level is None else level == number
        axes.scatter(x[own], y[own], s=size, alpha=alpha, color=colour, **CELLS)
        # A separate marker for the legend, since the markers of the cells are too faint there.
        label = "all cells" if len(colours) == 1 else f"level {number}"
        axes.scatter([], [], s=14, color=colour, label=label)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))


def _levels_of(file, values):
    """Returns the level of each cell, in the shape of values by leaf."""
    return np.broadcast_to(file.leaves.level[:, None, None, None], values.shape)


def _two_rows(figure, cell):
    grid = cell.subgridspec(2, 1, height_ratios=(2.1, 1.0), hspace=0.06)
    upper = figure.add_subplot(grid[0])
    lower = figure.add_subplot(grid[1], sharex=upper)
    upper.tick_params(labelbottom=False)
    return upper, lower


def _shock_radius(file, options):
    solution = sedov_solution(float(file.metadata.get("gamma", 1.4)))
    return solution.shock_radius(judge.blast_time(file, options.time_offset))


def _half_width(file, options):
    """Returns half the edge of the surroundings of a blast."""
    shock = _shock_radius(file, options)
    return min(file.hi[0], max(2.0 * shock, 8.0 * file.levels[-1].dx[0]))


def _blast(figure, grid, file, options, shown):
    gamma = float(file.metadata.get("gamma", 1.4))
    solution = sedov_solution(gamma)
    time = judge.blast_time(file, options.time_offset)
    shock = _shock_radius(file, options)
    half_width = shown.half_width or _half_width(file, options)
    density, radius = file.leaves.field(judge.DENSITY), file.leaves.radius()
    left = figure.add_subplot(grid[0])
    # All levels are seen in the whole domain only.
    width = half_width if file.is_uniform else file.hi[0]
    _slice(figure, left, file, density, "density", shown, width)
    circle = plt.Circle((0, 0), shock, fill=False, color="#5fd0f5", lw=1.2, ls=(0, (4, 3)))
    left.add_patch(circle)

    upper, lower = _two_rows(figure, grid[1])
    near = radius < half_width
    level = _levels_of(file, radius)[near]
    _scatter(upper, file, radius[near], density[near], level)
    r = np.union1d(np.linspace(0.0, half_width, 2000), [shock, np.nextafter(shock, 2.0)])
    exact_density, exact_pressure = solution.profile(r / shock)
    upper.plot(r, exact_density, label="similarity solution", **EXACT)
    cells = min(file.cells, MOST_CELLS)
    average = solution.density_average(cells, file.hi[0], time)
    shells = _binned(_radius(file, cells), average, cells)
    upper.plot(*shells, label="its cell averages", **AVERAGED)
    upper.set(ylabel="density", xlim=(0.0, half_width), ylim=(0.0, None))
    upper.set_title("Radial profile")
    upper.legend(loc="upper left")

    speed = 0.4 * shock / time
    scale = 2.0 / (gamma + 1.0) * speed * speed
    if "pressure" in file.names:
        _scatter(lower, file, radius[near], file.leaves.field("pressure")[near], level)
    lower.plot(r, scale * exact_pressure, **EXACT)
    lower.set(xlabel="r", ylabel="pressure", ylim=(0.0, None))
    return f"density L1 {judge.blast_l1(file, time, cells=cells):.2e}"


def _along_x(figure, cell, file, data, exact, ylabel, exact_label):
    """Draws the profile of all cells along x; the panel below is for their distance from the exact
    averages."""
    upper, lower = _two_rows(figure, cell)
    x = np.broadcast_to(file.leaves.coordinate(0), data.shape)
    _scatter_distinct(upper, file, x, data)
    upper.plot(*exact, label=exact_label, **EXACT)
    upper.set(ylabel=ylabel, xlim=(file.lo[0], file.hi[0]))
    upper.set_title("Profile along x")
    upper.margins(y=0.08)
    return upper, lower, x


def _scatter_distinct(axes, file, x, y):
    """Draws values by leaf without repeated points: a plane wave has n^2 copies of each."""
    points = np.stack([x.ravel(), y.ravel(), _levels_of(file, y).ravel()])
    x, y, level = np.unique(points, axis=1)
    _scatter(axes, file, x, y, level)


def _error_panel(lower, file, x, error):
    lower.axhline(0.0, color="0.6", lw=0.8)
    _scatter_distinct(lower, file, x, error)
    lower.set(xlabel="x", ylabel="cells − exact")


def _sod(figure, grid, file, options, shown):
    density = file.leaves.field(judge.DENSITY)
    left = figure.add_subplot(grid[0])
    _slice(figure, left, file, density, "density", shown, file.hi[0], "viridis")
    problem = riemann_problem(gamma=float(file.metadata.get("gamma", 1.4)))
    if not file.time > 0.0:
        raise bad_plotfile(f"{file.path}: time {file.time}; the Sod solution needs a time > 0")
    s = np.linspace(file.lo[0], file.hi[0], 4001)
    exact = (s, problem.density(s / file.time))
    panel = (file, density, exact, "density", "exact solution")
    upper, lower, x = _along_x(figure, grid[1], *panel)
    upper.legend(loc="upper right")
    _error_panel(lower, file, x, density - judge.sod_exact(file, (1, 0, 0)))
    return f"density L1 {judge.sod_l1(file):.2e}"


def _linear_wave(figure, grid, file, options, shown):
    amplitude = options.amplitude
    wave = _shown_values("linear-wave", file, options)
    label = "(density − 1) / amplitude"
    left = figure.add_subplot(grid[0])
    _slice(figure, left, file, wave, label, shown, file.hi[0], "RdBu_r", symmetric=True)
    x = np.linspace(file.lo[0], file.hi[0], 1001)
    phase = 2.0 * np.pi * (x - file.time) / (file.hi[0] - file.lo[0])
    panel = (file, wave, (x, np.sin(phase)), label, "exact solution")
    upper, lower, where = _along_x(figure, grid[1], *panel)
    upper.legend(loc="upper left")
    exact = (judge.linear_wave_exact(file, amplitude) - 1.0) / amplitude
    _error_panel(lower, file, where, wave - exact)
    return f"L1 / amplitude {judge.linear_wave_l1(file, amplitude):.2e}"


def _plain(figure, grid, file, options, shown):
    """Draws a problem without an exact solution: the density along the x axis and against the
    distance from the origin."""
    density = file.leaves.field(judge.DENSITY)
    _slice(figure, figure.add_subplot(grid[0]), file, density, "density", shown, file.hi[0])
    cell = grid[1].subgridspec(2, 1, hspace=0.12)
    upper, lower = figure.add_subplot(cell[0]), figure.add_subplot(cell[1])
    upper.plot(*_beside_x_axis(file, density), color=ONE_LEVEL, lw=1.0)
    upper.set(xlabel="x", ylabel="density", title="Along the x axis")
    upper.set(xlim=(file.lo[0], file.hi[0]))
    radius = file.leaves.radius()
    _scatter(lower, file, radius.ravel(), density.ravel(), _levels_of(file, density).ravel())
    lower.set(xlabel="r", ylabel="density", xlim=(0.0, None))
    if not file.is_uniform:
        lower.legend(fontsize=8)
    return ""


def _beside_x_axis(file, values):
    """Returns x and the values of the cells that touch the x axis with y > 0 and z > 0."""
    leaves = file.leaves
    if len(leaves) == 1:
        middle = leaves.edge // 2
        return leaves.centres(0)[0], values[0, middle, middle]
    own = leaves.at_middle(1)[1] & leaves.at_middle(2)[1]
    x, y = leaves.centres(0)[own].ravel(), values[own, 0, 0].ravel()
    order = np.argsort(x)
    return x[order], y[order]


PAINTERS = {"blast": _blast, "sod": _sod, "linear-wave": _linear_wave}


def _size_of(file):
    if file.is_uniform:
        return f"{file.cells}³ cells"
    levels = np.unique(file.leaves.level)
    return f"{len(file.leaves)} sub-grids of levels {levels[0]}–{levels[-1]}"


def _problem_of(file, options):
    return options.problem or file.metadata.get("problem", "")


def _shown_values(problem, file, options):
    """Returns the values by leaf that the picture of the plane shows."""
    density = file.leaves.field(judge.DENSITY)
    return (density - 1.0) / options.amplitude if problem == "linear-wave" else density


def draw(file, target, options, shown=view()):
    """Writes the picture of an open plotfile to `target`."""
    problem = _problem_of(file, options)
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(10.6, 4.7), layout="constrained")
        try:
            grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.12), wspace=0.04)
            remark = PAINTERS.get(problem, _plain)(figure, grid, file, options, shown)
            parts = [_size_of(file), f"step {file.step}", f"t = {file.time:.5g}", remark]
            title = TITLES.get(problem, problem or file.path.name)
            figure.suptitle(f"{title}  ·  " + "  ·  ".join(p for p in parts if p), fontsize=11.5)
            figure.savefig(target)
        finally:
            plt.close(figure)


def _common_view(files, options):
    """Returns the view that shows all of several files."""
    limit, half_width = 0.0, None
    for file in files:
        problem = _problem_of(file, options)
        values = _shown_values(problem, file, options)
        limit = max(limit, float(np.abs(file.leaves.middle_plane(values)).max()))
        if problem == "blast":
            half_width = max(half_width or 0.0, _half_width(file, options))
    return view(limit, half_width)


def draw_movie(paths, target, options):
    """Writes a movie of plotfiles in the order of their steps, with the same colours in all
    pictures. A plotfile that cannot be drawn is left out, and stderr has the reason."""
    movie.check_target(target)
    files = sorted((plotfile(path) for path in paths), key=lambda file: file.step)
    shown = _common_view(files, options)
    with tempfile.TemporaryDirectory() as folder:
        drawn = 0
        for file in files:
            try:
                draw(file, Path(folder) / f"{drawn:05}.png", options, shown)
                drawn += 1
            except bad_plotfile as error:
                print(f"draw: left out: {error}", file=sys.stderr)
        if drawn == 0:
            raise bad_plotfile("no plotfile could be drawn")
        movie.write(Path(folder), target)


def _target(args):
    if args.output:
        return args.output
    first = str(args.plotfile[0]).rstrip("/")
    if not args.movie:
        return Path(first + ".png")
    return Path(first).parent / ("movie" + movie.default_suffix())


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plotfile", nargs="+")
    parser.add_argument(
        "-o", "--output", type=Path, help="default: PLOTFILE.png; movie.mp4 or movie.gif"
    )
    parser.add_argument(
        "--movie", action="store_true", help="make a .mp4 (ffmpeg) or .gif (pillow) of all files"
    )
    parser.add_argument("--problem", choices=sorted(PAINTERS), help="if the file does not say")
    parser.add_argument("--time-offset", type=float, help="age of the blast at the start")
    parser.add_argument("--amplitude", type=float, default=1e-6, help="of the acoustic wave")
    args = parser.parse_args(arguments)
    if len(args.plotfile) > 1 and not args.movie:
        parser.error("several plotfiles are drawn with --movie only")
    target = _target(args)
    try:
        if args.movie:
            draw_movie(args.plotfile, target, args)
        else:
            draw(plotfile(args.plotfile[0]), target, args)
    except (bad_plotfile, OSError, ValueError) as error:
        print(f"draw: {error}", file=sys.stderr)
        return 2
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
