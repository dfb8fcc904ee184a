#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the published experiment and draws its figures from the reports of the runs.

Every run must conserve mass and energy and end in the same state, bit by bit. Finished runs are not
repeated, so a folder can be completed later. The exit code is 0 if every run was right.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))

import draw  # noqa: E402
from options import add_figures  # noqa: E402
from plan import Plan  # noqa: E402
from runner import Runner, WrongRun  # noqa: E402

FIGURES = ("4", "5", "6", "7", "ablation")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stars", help="the program")
    parser.add_argument("--output", default="figures", help="folder [%(default)s]")
    parser.add_argument("--backend", default="host", help="of figures 4 to 6 [%(default)s]")
    parser.add_argument("--backends", help="of figure 7, with commas [host and the backend]")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)),
                        help="at most [cores: %(default)s]")
    add_figures(parser, FIGURES)
    parser.add_argument("--steps", type=int, default=15, help="of each run [%(default)s]")
    parser.add_argument("--level", type=int, default=3, help="8·2^level cells [%(default)s]")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each [%(default)s]")
    parser.add_argument("--best", default="4,32",
                        help="streams and sub-grids in a launch [%(default)s; paper: 128,8]")
    parser.add_argument("--most", default="128,128", help="of both [%(default)s]")
    args = parser.parse_args(arguments)
    pair = {}
    for option in ("best", "most"):
        try:
            pair[option] = tuple(int(x) for x in getattr(args, option).split(","))
        except ValueError:
            pair[option] = ()
        if len(pair[option]) != 2 or min(pair[option]) < 1:
            parser.error(f"--{option} {getattr(args, option)}: two numbers with a comma, as 128,8")
    args.best, args.most = pair["best"], pair["most"]
    args.backends = (args.backends or ",".join(dict.fromkeys(["host", args.backend]))).split(",")
    return args


def main(arguments=None):
    args = parse(arguments)
    plan = Plan(args.backend, args.workers, args.best, *args.most)
    figures = plan.figures(args.figures, args.backends)
    common = ["--residency", "staged", "--steps", args.steps, "--level", args.level, "--no-plots",
              "--no-restart-file", "--no-progress", "-o", pathlib.Path(args.output) / "work"]
    runner = Runner(args.stars, args.output, common, args.repeat)
    try:
        runner.run_all(setting for figure in figures for setting in figure.settings())
    except WrongRun as error:
        print(error, file=sys.stderr)
        return 1
    cells = 8 << args.level
    subtitle = f"{args.backend}, {cells}³ cells, {args.steps} steps, {args.workers} workers"
    for figure in figures:
        draw.draw(figure, runner.measured, subtitle, runner.folder / f"{figure.name}.png")
        print("\n" + draw.table(figure, runner.measured))
    (runner.folder / "measured.json").write_text(json.dumps(runner.measured, indent=1))
    print(f"\npictures: {runner.folder}/*.png; all {len(runner.measured)} settings ended in one state")
    return 0


if __name__ == "__main__":
    sys.exit(main())
