# SPDX-License-Identifier: Apache-2.0
"""The data model of figures: panels with curves."""

from dataclasses import dataclass


@dataclass
class Panel:
    """Curves over one quantity. The speed-up of a curve is the first curve divided by it.

    `dashed` names the curves of competitors. With `speedups`, the speed-ups are drawn instead of
    times. With `per_place`, times are multiplied by their places, so that perfect scaling is a
    level line.
    """

    title: str
    across: str  # the quantity on the horizontal axis
    at: list
    curves: dict  # label -> settings, one for each place in `at`
    logarithmic: bool = True
    dashed: tuple = ()
    speedups: bool = False
    per_place: bool = False


@dataclass
class Figure:
    """Panels side by side; `metric` is the time that is drawn, in ms per `unit`."""

    name: str
    title: str
    panels: list
    published: str = ""
    metric: str = "step_ms"
    unit: str = "time step"

    def settings(self):
        """Yields the settings place by place, so that compared settings run one after the other."""
        for panel in self.panels:
            for i in range(len(panel.at)):
                for curve in panel.curves.values():
                    yield curve[i]


def powers(most):
    values = [1]
    while values[-1] * 2 <= most:
        values.append(values[-1] * 2)
    return values
