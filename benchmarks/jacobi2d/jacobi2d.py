#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs jacobi2d driven by the host and with resident strips, compares it with hand-written
programs, and draws strong scaling and the effect of overdecomposition.

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
from plan import (FIGURES, METRIC, PROGRAMS, Alone, Plan, beside_by_hand,  # noqa: E402
                  efficiency, where_it_pays)
from runner import Runner, WrongRun  # noqa: E402


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where jacobi2d and the programs by hand are")
    parser.add_argument("--output", default="jacobi2d", help="folder [%(default)s]")
    parser.add_argument("--backend", default="host", help="[%(default)s]")
    parser.add_argument("--gpus", type=numbers, help="on the host workers [1,2; of cuda 1]")
    parser.add_argument("--grids", type=numbers,
                        help="cells along a side [256,512,1024 on the host, else those of 1024,2048,4096,8192 "
                             "with 600 rows and more for each GPU]")
    parser.add_argument("--strong-grids", type=numbers, help="for strong scaling [the largest]")
    parser.add_argument("--iterations", type=int, help="[100 on the host, else 1000]")
    parser.add_argument("--resident-options", metavar="OPTIONS", default="",
                        help="for resident strips, as --scheduler-threads 512 [none]")
    add_figures(parser, FIGURES)
    parser.add_argument("--repeat", type=int, default=2, help="runs of each [%(default)s]")
    args = parser.parse_args(arguments)
    host = args.backend == "host"
    args.gpus = args.gpus or ([1, 2] if host else [1])
    # Four strips for each of 132 schedulers need this number of rows.
    args.grids = args.grids or ([256, 512, 1024] if host else
                                [n for n in (1024, 2048, 4096, 8192) if n >= 600 * max(args.gpus)])
    args.strong_grids = args.strong_grids or args.grids[-1:]
    args.iterations = args.iterations or (100 if host else 1000)
    return args


def programs_by_hand(args):
    """Returns the hand-written programs that exist, and prints the names of the missing ones."""
    there = []
    for way, program in PROGRAMS.items():
        if args.backend != "cuda":
            print(f"left out: {way}, which is for CUDA devices")
        elif not (pathlib.Path(args.folder) / program).exists():
            print(f"left out: {way}, as there is no {program} in {args.folder}")
        else:
            there.append(way)
    return there


def measure(args, grid, settings):
    """Runs the settings of one grid, whose checksums must be equal."""
    folder = pathlib.Path(args.folder)
    common = ["--grid", grid, grid, "--iterations", args.iterations,
              "--warmup", max(2, args.iterations // 10)]
    others = sorted({str(folder / s.program()) for s in settings if s.by_hand()})
    runner = Runner(folder / "jacobi2d", args.output, common, args.repeat, metric=METRIC,
                    digest="checksum", program_of=lambda s: str(folder / s.program()),
                    others=others)
    runner.run_all(settings)
    return runner.measured


def measure_all(args, figures):
    chosen = [point for figure in figures for point in figure.settings()]
    settings = [p.of if isinstance(p, Alone) else p for p in chosen]
    measured = {}
    for grid in sorted({s.grid for s in settings}):
        measured |= measure(args, grid, [s for s in settings if s.grid == grid])
    for point in chosen:
        if isinstance(point, Alone):
            measured[point.name()] = point.choose(measured)
    return measured


def main(arguments=None):
    args = parse(arguments)
    plan = Plan(args.gpus, args.grids, args.strong_grids, args.backend, programs_by_hand(args),
                args.resident_options.split())
    figures = [plan.figure(name) for name in args.figures]
    try:
        measured = measure_all(args, figures)
    except WrongRun as error:
        print(error, file=sys.stderr)
        return 1
    folder = pathlib.Path(args.output)
    subtitle = f"{args.backend}, {args.iterations} iterations"
    for figure in figures:
        draw.draw(figure, measured, subtitle, folder / f"{figure.name}.png")
        print("\n" + draw.table(figure, measured))
        if figure.name == "strong":
            print("\n".join(efficiency(figure, measured) + beside_by_hand(plan, measured)))
        else:
            print(where_it_pays(figure, measured))
    (folder / "measured.json").write_text(json.dumps(measured, indent=1))
    print(f"\npictures: {folder}/*.png; runs of one grid ended in one state")
    return 0


if __name__ == "__main__":
    sys.exit(main())
