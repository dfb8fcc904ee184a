# SPDX-License-Identifier: Apache-2.0
"""The settings of each figure.

The experiment is that of Daiß et al., "Stellar Mergers with HPX-Kokkos and SYCL", figures 4 to 7:
the blast wave on 64³ cells, 512 sub-grids of 8³, with every kernel and transfer of the staged
placement.
"""

from dataclasses import dataclass, replace

from panels import Figure, Panel, powers


@dataclass(frozen=True)
class Setting:
    """One set of options of the program."""

    backend: str
    completion: str = "word"
    streams: int = 16
    aggregate: int = 1
    workers: int = 1
    barriers: bool = False
    memory: str = "kept"

    def flags(self):
        flags = ["--backend", self.backend, "--completion", self.completion,
                 "--streams", self.streams, "--aggregate", self.aggregate,
                 "--workers", self.workers, "--work-memory", self.memory]
        return [str(f) for f in flags + (["--starling-barriers", "on"] if self.barriers else [])]

    def name(self):
        parts = [self.backend, self.completion, f"s{self.streams}", f"a{self.aggregate}",
                 f"w{self.workers}"]
        if self.barriers:
            parts.append("barriers")
        if self.memory != "kept":
            parts.append(self.memory)
        return "-".join(parts)


class Plan:
    """All figures for a backend on a machine with `workers` cores."""

    def __init__(self, backend, workers, best=(4, 32), most_streams=128, most_aggregate=128):
        self.base = Setting(backend, workers=workers)
        self.workers = workers
        self.best = best
        self.streams = powers(most_streams)
        self.aggregates = powers(most_aggregate)

    def three_panels(self, ways):
        """Returns panels over the streams, the largest number of sub-grids in a launch, and the
        workers; `ways`: label -> changes to a setting."""

        def panel(title, across, at, make):
            return Panel(title, across, at,
                         {label: [replace(make(x), **way) for x in at]
                          for label, way in ways.items()})

        streams, aggregate = self.best
        return [
            panel("no aggregation", "streams", self.streams,
                  lambda x: replace(self.base, streams=x)),
            panel("one stream", "sub-grids in a launch, at most", self.aggregates,
                  lambda x: replace(self.base, streams=1, aggregate=x)),
            panel(f"{streams} streams, at most {aggregate} in a launch", "workers",
                  powers(self.workers),
                  lambda x: replace(self.base, streams=streams, aggregate=aggregate, workers=x)),
        ]

    def completion(self, number, on, title, published):
        ways = {"blocking": {"completion": "block"}, on: {"completion": on}}
        return Figure(f"figure{number}", title, self.three_panels(ways), published)

    def figure4(self):
        return self.completion(
            4, "callback", "Completion by callback (SYCL: host task) against blocking",
            "paper: callbacks slower than blocking in most settings, faster with few workers only")

    def figure5(self):
        return self.completion(
            5, "word", "Completion by polling against blocking",
            "paper: polling 1.11 (A100) to 1.15 (MI100) times as fast in the best setting")

    def figure6(self):
        ways = {"barriers kept": {"barriers": True}, "barriers removed": {}}
        return Figure("figure6", "Barriers between operations of in-order streams",
                      self.three_panels(ways),
                      "paper: 1.06 to 1.12 times as fast without, in the best setting")

    def figure7(self, backends):
        streams, aggregate = self.best
        at = powers(self.workers)

        def curve(backend):
            # The host uses one stream and no aggregation, because its streams are tasks.
            tuned = {} if backend == "host" else {"streams": streams, "aggregate": aggregate}
            return [replace(self.base, backend=backend, workers=w, **tuned) for w in at]

        return Figure("figure7", "Backends side by side",
                      [Panel("best setting of each", "workers", at,
                             {backend: curve(backend) for backend in backends})],
                      "paper: 86.6 ms at best (CUDA, A100)")

    def ablation(self):
        steps = {
            "1 stream,\nfresh memory": {"streams": 1, "memory": "fresh"},
            "+ memory\nrecycled": {"streams": 1, "memory": "recycled"},
            "+ work space\nkept": {"streams": 1},
            "16 streams": {"streams": 16},
            "1 stream,\n16 in a launch": {"streams": 1, "aggregate": 16},
            "16 streams,\n16 in a launch": {"streams": 16, "aggregate": 16},
        }
        return Figure(
            "ablation", "What each means is worth",
            [Panel(f"{self.workers} workers", "", list(steps),
                   {"step": [replace(self.base, **way) for way in steps.values()]},
                   logarithmic=False)],
            "published (A100, 64 threads): 2937, 1012, 691, 136.5, 238, 85.7 ms")

    def figures(self, names, backends):
        made = {"4": self.figure4, "5": self.figure5, "6": self.figure6,
                "7": lambda: self.figure7(backends), "ablation": self.ablation}
        return [made[name]() for name in names]
