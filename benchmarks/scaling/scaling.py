#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs jacobi3d on an increasing number of ranks of this host and draws strong and weak scaling:
staged, and with halos that move from device to device, each at its best overdecomposition.

Every run must pass its checks, and runs of one grid must end in the same state, bit by bit.
Finished runs are not repeated. The exit code is 0 if every run was right.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))

import draw  # noqa: E402
from options import add_figures, numbers  # noqa: E402
from plan import FIGURES, Plan, efficiency  # noqa: E402
from runner import Runner, WrongRun  # noqa: E402


def powers_of_two(text):
    values = numbers(text)
    if any(n & (n - 1) for n in values):
        raise argparse.ArgumentTypeError(f"{text}: powers of two, so that the grid can grow")
    return values


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where jacobi3d and starling are")
    parser.add_argument("--output", default="scaling", help="folder [%(default)s]")
    parser.add_argument("--backend", default="host", help="[%(default)s]")
    parser.add_argument("--ranks", type=powers_of_two, default=[1, 2], help="[1,2]")
    parser.add_argument("--odf", type=numbers, default=[1, 2, 4], help="[1,2,4]")
    parser.add_argument("--sizes", type=numbers,
                        help="sides of the cubes [128 on the host, else 192,768,1536]")
    parser.add_argument("--cells", type=float, default=4e10,
                        help="updates of cells in a timed run, on the host a hundredth [%(default)g]")
    add_figures(parser, FIGURES)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each [%(default)s]")
    args = parser.parse_args(arguments)
    args.is_host = args.backend == "host"
    if args.sizes is None:
        args.sizes = [128] if args.is_host else [192, 768, 1536]
    if args.is_host:
        args.cells /= 100
    return args


def iterations(args, size):
    """Returns the number of iterations, which is the same for all runs of a size."""
    return min(2000, max(20, int(args.cells / size**3)))


def measure(args, size, settings, folder):
    """Runs the settings of one size; the checksums of runs of one grid must be equal."""
    program, starling = (str(pathlib.Path(args.folder) / name) for name in ("jacobi3d", "starling"))
    n = iterations(args, size)
    # Each rank has its share of the devices; its single worker uses the first of them.
    common = ["--backend", args.backend, "--workers", 1, "--iterations", n, "--warmup", n // 4,
              "--no-progress"]
    measured = {}
    for problem in dict.fromkeys(s.problem() for s in settings):
        runner = Runner(program, folder, common, args.repeat, metric="iteration_ms",
                        digest="checksum", launcher=lambda setting: setting.launcher(starling))
        runner.run_all([s for s in settings if s.problem() == problem])
        measured |= runner.measured
    return measured


def main(arguments=None):
    args = parse(arguments)
    folder = pathlib.Path(args.output)
    measured = {}
    try:
        for size in args.sizes:
            plan = Plan(args.ranks, args.odf, [size])
            settings = [s for name in args.figures for point in plan.figure(name).settings()
                        for s in point.of]
            measured |= measure(args, size, settings, folder)
    except WrongRun as error:
        print(error, file=sys.stderr)
        return 1
    for name in args.figures:
        figure = Plan(args.ranks, args.odf, args.sizes).figure(name)
        for point in figure.settings():
            measured[point.name()] = point.choose(measured, figure.metric)
        draw.draw(figure, measured, f"{args.backend}, a worker for each rank, best of odf "
                  f"{', '.join(map(str, args.odf))}", folder / f"{name}.png")
        print("\n" + draw.table(figure, measured) + "\n" + efficiency(figure, measured))
    (folder / "measured.json").write_text(json.dumps(measured, indent=1))
    print(f"\npictures: {folder}/*.png; runs of one grid ended in one state")
    return 0


if __name__ == "__main__":
    sys.exit(main())
