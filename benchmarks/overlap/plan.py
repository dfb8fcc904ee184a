# SPDX-License-Identifier: Apache-2.0
"""The settings of each figure.

The experiments are those of Choi's thesis (University of Illinois, 2022) with Jacobi3D: how a chare
is notified of the end of its device work (figure 3.5), fusion of kernels (5.7), graphs (5.8), and
host staging against direct exchange (5.5, 5.6), each over the overdecomposition factor.
"""

from dataclasses import dataclass

from panels import Figure, Panel

WAITS = ("synchronous", "polling", "work-request", "asynchronous")
FUSIONS = ("none", "A", "B", "C")


@dataclass(frozen=True)
class Setting:
    """One set of options of jacobi3d."""

    odf: int = 1
    exchange: str = "direct"
    fusion: str = "none"
    graphs: bool = False
    wait: str = "asynchronous"
    streams: str = "block"
    completion: str = ""  # how the scheduler detects it; "" is the program's default
    overlap: bool = False  # update a block's interior before its faces arrive

    def flags(self):
        flags = ["--odf", self.odf, "--exchange", self.exchange, "--fusion", self.fusion,
                 "--wait", self.wait, "--streams-of", self.streams]
        flags += ["--completion", self.completion] * bool(self.completion)
        flags += ["--graphs"] * self.graphs + ["--overlap"] * self.overlap
        return [str(f) for f in flags]

    def name(self):
        parts = [f"odf{self.odf}", self.exchange, f"fusion-{self.fusion}"]
        parts += ["graphs"] * self.graphs
        parts += [self.wait] * (self.exchange == "staged")
        parts += ["shared-streams"] * (self.streams == "device")
        parts += [self.completion] * bool(self.completion)
        parts += ["overlap"] * self.overlap
        return "-".join(parts)


class Plan:
    """All figures for one grid."""

    def __init__(self, odfs, callbacks):
        """`callbacks`: whether the backend has callbacks; the host backend would use words
        again."""
        self.odfs = odfs
        self.callbacks = callbacks

    def panel(self, title, ways):
        """`ways`: label -> changes to a setting."""
        return Panel(title, "blocks for each worker (odf)", self.odfs,
                     {label: [Setting(odf=odf, **way) for odf in self.odfs]
                      for label, way in ways.items()})

    def figure(self, name, title, panels, published):
        return Figure(name, title, panels, published, metric="iteration_ms", unit="iteration")

    def completion(self):
        ways = {wait: {"exchange": "staged", "wait": wait} for wait in WAITS}
        if self.callbacks:
            ways["asynchronous by callback"] = {"exchange": "staged", "completion": "callback"}
        return self.figure(
            "completion", "Ways to learn that faces have reached the host (thesis, figure 3.5)",
            [self.panel("staged exchange", ways)],
            "thesis: asynchronous up to 1.83 times as fast as synchronous, odf 4 over odf 1 1.43")

    def exchange(self):
        ways = {"staged": {"exchange": "staged"}, "direct": {},
                "staged, interior ahead": {"exchange": "staged", "overlap": True},
                "direct, interior ahead": {"overlap": True}}
        shared = {label: {**way, "streams": "device"} for label, way in ways.items()}
        return self.figure("exchange", "Staged and direct exchange (thesis, figures 5.5, 5.6)",
                           [self.panel("streams of each block", ways),
                            self.panel("streams of each device", shared)],
                           "thesis: direct 1.61 times as fast at best, with overdecomposition")

    def fusion(self):
        ways = {f"fusion {f}": {"fusion": f} for f in FUSIONS}
        return self.figure("fusion", "Fusion of kernels (thesis, figure 5.7)",
                           [self.panel("direct exchange", ways)],
                           "thesis: C 1.2 times as fast as none at odf 1, 1.51 times at odf 8")

    def graphs(self):
        panels = [self.panel(f"fusion {f}", {"kernels": {"fusion": f},
                                             "graphs": {"fusion": f, "graphs": True}})
                  for f in FUSIONS]
        return self.figure("graphs", "Graphs (thesis, figure 5.8)", panels,
                           "thesis: 1.5 times as fast at odf 8 without fusion, little with C")

    def figures(self, names):
        return [getattr(self, name)() for name in names]


def best(settings, measured):
    """Returns the time and the name of the fastest setting."""
    return min(((measured[s.name()]["iteration_ms"], s.name()) for s in settings))
