# SPDX-License-Identifier: Apache-2.0
"""The settings of each figure.

The experiments are those of Choi's thesis (University of Illinois, 2022), figures 5.5 and 5.6: weak
and strong scaling of Jacobi3D with and without GPU-aware communication, each point at the best
overdecomposition factor. A rank here corresponds to a node in the thesis.
"""

from dataclasses import dataclass

from panels import Figure, Panel

FIGURES = ("strong", "weak")
WAYS = {"staged": ["--exchange", "staged"],
        "direct": [],
        "direct, interior ahead": ["--overlap", "--fusion", "B"]}


@dataclass(frozen=True)
class Setting:
    """One run of jacobi3d on some ranks."""

    ranks: int
    grid: tuple
    way: str
    odf: int

    def launcher(self, starling):
        return [starling, "launch", "-n", str(self.ranks)]

    def flags(self):
        return ["--grid", *map(str, self.grid), "--odf", str(self.odf), *WAYS[self.way]]

    def problem(self):
        return "x".join(map(str, self.grid))

    def name(self):
        way = self.way.replace(", ", "-").replace(" ", "-")
        return f"{self.problem()}-ranks{self.ranks}-{way}-odf{self.odf}"


@dataclass(frozen=True)
class Best:
    """The fastest of some settings, as a point of a figure."""

    of: tuple

    def name(self):
        return "best-" + self.of[0].name()

    def choose(self, measured, metric):
        return min((measured[s.name()] for s in self.of), key=lambda m: m[metric])


def grown(block, ranks):
    """Returns a grid of one block for each rank: the sides double one after the other."""
    sides = list(block)
    axis = 2
    while ranks > 1:
        sides[axis] *= 2
        ranks //= 2
        axis = (axis + 2) % 3
    return tuple(sides)


class Plan:
    def __init__(self, ranks, odfs, sizes):
        """`sizes`: side lengths of the cubes: of the whole grid (strong) or of a rank's block
        (weak)."""
        self.ranks = ranks
        self.odfs = odfs
        self.sizes = sizes

    def panel(self, title, grid_of):
        curves = {way: [Best(tuple(Setting(n, grid_of(n), way, odf) for odf in self.odfs))
                        for n in self.ranks] for way in WAYS}
        return Panel(title, "ranks", self.ranks, curves)

    def figure(self, name):
        def constant(size):
            return lambda _: (size,) * 3

        def growing(size):
            return lambda ranks: grown((size,) * 3, ranks)
        grid_of, title, published = {
            "strong": (constant, "Strong scaling (thesis, figure 5.6)",
                       "thesis: direct with odf 2 fastest at all scales"),
            "weak": (growing, "Weak scaling (thesis, figure 5.5)",
                     "thesis, 1536³ a node, 512 nodes: 1.61 times as fast as staged at odf 1")}[name]
        panels = [self.panel(f"{size}³" + (" for each rank" if name == "weak" else ""),
                             grid_of(size)) for size in self.sizes]
        return Figure(name, title, panels, published, metric="iteration_ms", unit="iteration")


def efficiency(figure, measured, metric="iteration_ms"):
    """Returns the parallel efficiency of each curve relative to its first point, as lines of
    text."""
    weak = figure.name == "weak"
    lines = []
    for panel in figure.panels:
        for label, curve in panel.curves.items():
            times = [measured[point.name()][metric] for point in curve]
            shares = [times[0] / t * (1 if weak else panel.at[0] / n)
                      for t, n in zip(times, panel.at)]
            lines.append(f"    {panel.title + ', ' + label:44}" +
                         "".join(f"{100 * s:8.1f}%" for s in shares))
    return "\n".join(["  efficiency over ranks " + ", ".join(map(str, figure.panels[0].at)), *lines])
