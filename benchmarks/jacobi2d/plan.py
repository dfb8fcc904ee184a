# SPDX-License-Identifier: Apache-2.0
"""The settings of each figure.

The experiment is that of Choi's thesis (University of Illinois, 2022), figure 6.22: strong scaling
of Jacobi2D with a scheduler on the GPU, compared with a hand-written NVSHMEM version. A second
figure shows, at several sizes, whether more strips than schedulers pay.
"""

from dataclasses import dataclass

from panels import Figure, Panel

FIGURES = ("strong", "overdecomposition")
HOST_DRIVEN = {"host-driven": [],
               "host-driven, graphs, odf 8": ["--odf", "8", "--graphs"]}
ASYNCHRONOUS = {f"resident asynchronous, odf {odf}": ["--resident", "asynchronous", "--odf", str(odf)]
                for odf in (1, 2, 4)}
RESIDENT = {"resident synchronous": ["--resident", "synchronous"], **ASYNCHRONOUS}
NVSHMEM, CUDA = "NVSHMEM by hand", "CUDA by hand"
PROGRAMS = {NVSHMEM: "bench_jacobi2d_nvshmem", CUDA: "bench_jacobi2d_plain_cuda"}
ALONE = "the update alone"
METRIC = "iteration_ms"


@dataclass(frozen=True)
class Setting:
    """One run on some GPUs, or on as many workers of the host."""

    gpus: int
    grid: int
    way: str
    backend: str = "host"
    extra: tuple = ()  # for resident strips

    def by_hand(self):
        return self.way in PROGRAMS

    def program(self):
        return PROGRAMS.get(self.way, "jacobi2d")

    def flags(self):
        if self.by_hand():  # the fastest of several processes counts, as for the other programs
            return ["--gpus", str(self.gpus), "--repetitions", "1", "--warmups", "0"]
        flags = ["--backend", self.backend, "--workers", self.gpus, "--no-progress"]
        flags += ["--devices", self.gpus] * (self.backend != "host")
        if self.way in RESIDENT:
            return [*map(str, flags), *RESIDENT[self.way], *self.extra]
        return [*map(str, flags), *HOST_DRIVEN[self.way]]

    def name(self):
        way = self.way.replace(", ", "-").replace(" ", "-").lower()
        return f"{self.grid}-gpus{self.gpus}-{way}"


@dataclass(frozen=True)
class Alone:
    """The update without any exchange, as measured by a run of the hand-written CUDA program."""

    of: Setting

    def name(self):
        return self.of.name() + "-alone"

    def choose(self, measured):
        return {METRIC: measured[self.of.name()]["kernel_min_ns"] * 1e-6}


class Plan:
    def __init__(self, gpus, grids, strong_grids, backend, programs, extra=()):
        """`programs`: the hand-written programs that exist; `extra`: options of resident strips."""
        self.gpus = gpus
        self.grids = grids
        self.strong_grids = strong_grids
        self.backend = backend
        self.programs = programs
        self.extra = tuple(extra)
        self.across = "workers" if backend == "host" else "GPUs"

    def setting(self, gpus, grid, way):
        return Setting(gpus, grid, way, self.backend, self.extra)

    def panels(self, title, curves):
        """Returns panels of curves over the GPUs, or of bars if there is one point on each
        curve."""
        if len(self.gpus) > 1:
            by_hand = (*PROGRAMS, ALONE)
            return [Panel(title, self.across, self.gpus, curves, dashed=by_hand),
                    Panel(f"{title}, level if it scales", self.across, self.gpus, curves,
                          dashed=by_hand, per_place=True)]
        labels = [label.replace(", ", "\n").replace("resident ", "resident\n")
                  .replace(" by hand", "\nby hand").replace(" alone", "\nalone") for label in curves]
        return [Panel(f"{title}, {self.count(self.gpus[0])}", "", labels,
                      {"": [points[0] for points in curves.values()]}, logarithmic=False)]

    def count(self, n):
        return f"{n} {self.across if n > 1 else self.across[:-1]}"

    def strong(self):
        panels = []
        for grid in self.strong_grids:
            curves = {way: [self.setting(n, grid, way) for n in self.gpus]
                      for way in (*HOST_DRIVEN, *RESIDENT, *self.programs)}
            if CUDA in self.programs:
                curves[ALONE] = [Alone(s) for s in curves[CUDA]]
            panels += self.panels(f"{grid}²", curves)
        return Figure("strong", "Strong scaling (thesis, figure 6.22)", panels,
                      "thesis: NVSHMEM a little slower than synchronous strips, asynchronous ones "
                      "60 µs slower",
                      metric=METRIC, unit="iteration")

    def overdecomposition(self):
        panels = [Panel(self.count(n), "cells along a side",
                        self.grids,
                        {label: [self.setting(n, grid, way) for grid in self.grids]
                         for label, way in zip(("odf 1", "odf 2", "odf 4"), ASYNCHRONOUS)},
                        speedups=True)
                  for n in self.gpus]
        return Figure("overdecomposition",
                      "More strips than schedulers: asynchronous resident strips", panels,
                      "thesis: 2 on each GPU do not pay", metric=METRIC, unit="iteration")

    def figure(self, name):
        return getattr(self, name)()


def efficiency(figure, measured):
    """Returns the parallel efficiency of each curve relative to its first point, as lines of
    text."""
    lines = []
    for panel in figure.panels:
        if panel.per_place or not panel.logarithmic:
            continue
        for label, curve in panel.curves.items():
            work = [measured[point.name()][METRIC] * n for point, n in zip(curve, panel.at)]
            lines.append(f"    {panel.title + ', ' + label:44}" +
                         "".join(f"{100 * work[0] / w:8.1f}%" for w in work))
    return ["  efficiency", *lines] if lines else []


def where_it_pays(figure, measured, least=1.02):
    """Returns a sentence that names the grids where odf 2 or 4 is faster by more than noise."""
    found = []
    for panel in figure.panels:
        (_, reference), *others = panel.curves.items()
        for i, grid in enumerate(panel.at):
            ratio, label = max((measured[reference[i].name()][METRIC] /
                                measured[curve[i].name()][METRIC], label)
                               for label, curve in others)
            if ratio >= least:
                found.append(f"{grid}² on {panel.title} ({label}: {ratio:.2f})")
    return "overdecomposition pays: " + (", ".join(found) or "nowhere")


def beside_by_hand(plan, measured):
    """Returns lines of text that compare our best resident strips with hand-written programs."""
    lines = []
    for grid in plan.strong_grids:
        for n in plan.gpus:
            ours, way = min((measured[plan.setting(n, grid, way).name()][METRIC], way)
                            for way in RESIDENT)
            others = [f"; {by_hand} {measured[plan.setting(n, grid, by_hand).name()][METRIC] / ours:.3f}"
                      " of ours" for by_hand in plan.programs]
            lines.append(f"{grid}², {plan.count(n)}: {ours:.4g} ms ({way})" + "".join(others))
    return lines
