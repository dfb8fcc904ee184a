# SPDX-License-Identifier: Apache-2.0
"""What figures are made of."""

from dataclasses import dataclass


@dataclass
class Panel:
    """Curves over one quantity. The first one is divided into each other for the speed-up.

    `dashed` names curves of others than ours. With `speedups` these are drawn, and not the times;
    with `per_place` times are multiplied by their places: a level line scales perfectly.
    """

    title: str
    across: str  # what the horizontal axis is
    at: list
    curves: dict  # label -> settings, one for each place in `at`
    logarithmic: bool = True
    dashed: tuple = ()
    speedups: bool = False
    per_place: bool = False


@dataclass
class Figure:
    """Panels beside each other; `metric` is what is drawn, in ms, of what `unit` names."""

    name: str
    title: str
    panels: list
    published: str = ""
    metric: str = "step_ms"
    unit: str = "time step"

    def settings(self):
        """Place by place, so that what is compared runs side by side in time."""
        for panel in self.panels:
            for i in range(len(panel.at)):
                for curve in panel.curves.values():
                    yield curve[i]


def powers(most):
    values = [1]
    while values[-1] * 2 <= most:
        values.append(values[-1] * 2)
    return values
