#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs jacobi3d over overdecomposition and every option, draws figures, and compares the best run
with hand-written programs.

Every run must pass its checks and end in the same grid, bit by bit. Finished runs are not repeated,
so a folder can be completed later. The exit code is 0 if every run was right.
"""

import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))

import draw  # noqa: E402
from options import add_figures  # noqa: E402
from plan import Plan, best  # noqa: E402
from runner import Runner, WrongRun  # noqa: E402

FIGURES = ("completion", "exchange", "fusion", "graphs")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jacobi3d", help="the program")
    parser.add_argument("--output", default="overlap", help="folder [%(default)s]")
    parser.add_argument("--backend", default="host", help="[%(default)s]")
    parser.add_argument("--workers", type=int, default=1, help="[%(default)s]")
    parser.add_argument("--grid", type=int, nargs=3, default=[192, 192, 192],
                        metavar=("X", "Y", "Z"), help="cells [192 192 192]")
    parser.add_argument("--devices", type=int, default=1, help="[%(default)s]")
    parser.add_argument("--iterations", type=int,
                        help="timed, after a fifth as many [100 on the host, else 2000]")
    parser.add_argument("--odf", default="1,2,4,8,16", help="with commas [%(default)s]")
    add_figures(parser, FIGURES)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each [%(default)s]")
    parser.add_argument("--by-hand", action="append", default=[], metavar="COMMAND",
                        help="a program to compare with, without --grid, --iterations and --json; "
                        "may be given several times")
    args = parser.parse_args(arguments)
    if args.iterations is None:
        args.iterations = 100 if args.backend == "host" else 2000
    try:
        args.odfs = [int(x) for x in args.odf.split(",")]
    except ValueError:
        args.odfs = []
    if not args.odfs or min(args.odfs) < 1:
        parser.error(f"--odf {args.odf}: numbers from 1 with commas, as 1,2,4")
    return args


def by_hand(command, args, folder, number):
    """Returns ms per step of a hand-written program: the fastest of its own repetitions."""
    file = folder / f"by_hand_{number}.json"
    full = [*command.split(), "--grid", *map(str, args.grid), "--iterations", str(args.iterations),
            "--json", str(file)]
    done = subprocess.run(full, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode != 0:
        raise WrongRun(f"{' '.join(full)}\nended with {done.returncode}:\n{done.stdout}")
    return json.loads(file.read_text())["metrics"]["step_min_ns"] * 1e-6


def compare(args, settings, runner):
    """Returns lines of text that compare hand-written programs with our best run."""
    ours, name = best(settings, runner.measured)
    lines = [f"best: {ours:.4g} ms per iteration ({name})"]
    for number, command in enumerate(args.by_hand):
        time = by_hand(command, args, runner.folder, number)
        lines.append(f"by hand: {time:.4g} ms ({command}); {time / ours:.3f} of ours")
    return "\n".join(lines)


def main(arguments=None):
    args = parse(arguments)
    figures = Plan(args.odfs, args.backend != "host").figures(args.figures)
    settings = [setting for figure in figures for setting in figure.settings()]
    common = ["--backend", args.backend, "--workers", args.workers, "--grid", *args.grid,
              "--devices", args.devices, "--iterations", args.iterations,
              "--warmup", max(2, args.iterations // 5), "--no-progress"]
    runner = Runner(args.jacobi3d, args.output, common, args.repeat, metric="iteration_ms",
                    digest="checksum")
    try:
        runner.run_all(settings)
        told = compare(args, settings, runner)
    except WrongRun as error:
        print(error, file=sys.stderr)
        return 1
    grid = "×".join(map(str, args.grid))
    subtitle = f"{args.backend}, {grid} cells, {args.workers} worker(s)"
    for figure in figures:
        draw.draw(figure, runner.measured, subtitle, runner.folder / f"{figure.name}.png")
        print("\n" + draw.table(figure, runner.measured))
    (runner.folder / "measured.json").write_text(json.dumps(runner.measured, indent=1))
    print(f"\n{told}\npictures: {runner.folder}/*.png; all {len(runner.measured)} settings ended "
          "in one grid")
    return 0


if __name__ == "__main__":
    sys.exit(main())
