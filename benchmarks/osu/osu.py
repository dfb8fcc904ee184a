#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every way to send messages between two ranks, in turns, and compares them.

Each program checks its own answers; a failed run or a wrong answer ends the driver with code 1.
Prints a table for each measure and writes it with a picture and all numbers to a folder. Ways whose
program is not built or not installed (ucx_perftest) are left out and named.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))

import draw  # noqa: E402
import perftest  # noqa: E402
from runner import WrongRun  # noqa: E402

SIZES = {"0b": 0, "8b": 8, "128b": 128, "1k": 1 << 10, "8k": 8 << 10, "64k": 64 << 10,
         "256k": 256 << 10, "1m": 1 << 20, "4m": 4 << 20}
MEASURES = ("latency", "bandwidth", "bidirectional")
DEVICE = ("--memory", "device")
# Way: program, launcher of its ranks, flags.
WAYS = {
    "ucx": ("bench_osu_ucx", "alone", ()),
    "ucx_tags": ("bench_osu_ucx_tags", "alone", ()),
    "mpi": ("bench_osu_mpi", "mpirun", ()),
    "transport": ("bench_osu_starling", "starling", ()),
    "chares": ("bench_osu_starling_chares", "starling", ()),
    "shared": ("bench_osu_starling_chares", "starling", ("--argument", "shared_buffer")),
    "channels": ("bench_osu_starling_channels", "starling", ()),
    "device": ("bench_osu_starling_channels", "starling", DEVICE),
    "borrowed": ("bench_osu_starling_channels", "starling", (*DEVICE, "--by", "borrow")),
    "staging": ("bench_osu_starling_channels", "starling", (*DEVICE, "--by", "staging")),
    "one_process": ("bench_osu_starling_channels", "alone", (*DEVICE, "--workers", "2")),
}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="folder of the programs, BUILD/bin")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("osu"),
                        help="folder [%(default)s]")
    parser.add_argument("--ways", default=",".join((*WAYS, perftest.NAME)),
                        help="with commas [%(default)s]")
    parser.add_argument("--measures", default=",".join(MEASURES), help="[%(default)s]")
    parser.add_argument("--sizes", default=",".join(SIZES), help="[%(default)s]")
    parser.add_argument("--rounds", type=int, default=5, help="[%(default)s]")
    parser.add_argument("--repetitions", type=int, default=30,
                        help="of a question in a run [%(default)s]")
    parser.add_argument("--scale", type=float, default=0.2, help="of their lengths [%(default)s]")
    parser.add_argument("--backend", default="host", help="whose devices [%(default)s]")
    parser.add_argument("--tls", default="", help="UCX_TLS, as tcp,self [UCX' own choice]")
    parser.add_argument("--busy", type=int, default=0,
                        help="processes that only keep a core busy meanwhile [%(default)s]")
    parser.add_argument("--launcher", choices=("starling", "mpirun"), default="starling",
                        help="launcher of Starling's ranks [%(default)s]")
    parser.add_argument("--bind", choices=("none", "core"), default="none",
                        help="starling launch: core gives each rank cores of its own [%(default)s]")
    args = parser.parse_args(arguments)
    for name, known in (("ways", (*WAYS, perftest.NAME)), ("measures", MEASURES), ("sizes", SIZES)):
        chosen = getattr(args, name).split(",")
        for each in chosen:
            if each not in known:
                parser.error(f"--{name} {each}: there are {', '.join(known)}")
        setattr(args, name, chosen)
    return args


def launch(args, how):
    if how == "alone":
        return []
    if how == "mpirun" or args.launcher == "mpirun":
        return ["mpirun", "-n", "2"]
    return [str(args.programs / "starling"), "launch", "-n", "2", "--bind", args.bind, "--"]


def environment(args):
    # Without these variables Open MPI refuses to run as root and to start more ranks than cores.
    told = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    if args.tls:
        told["UCX_TLS"] = args.tls
    return {**os.environ, **told}


@contextlib.contextmanager
def busy_processes(count):
    """Runs `count` unrelated processes that compute all the time."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def run(args, way, names):
    """Runs a program once; returns (fastest, median) in ns for each question."""
    program, how, flags = WAYS[way]
    file = args.output / f"{way}.json"
    file.unlink(missing_ok=True)
    command = [*launch(args, how), str(args.programs / program), *flags, "--only", ",".join(names),
               "--repetitions", str(args.repetitions), "--scale", str(args.scale),
               "--json", str(file)]
    if "channels" in program:
        command += ["--backend", args.backend]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, env=environment(args), timeout=600)
    if done.returncode != 0:
        raise WrongRun(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    result = json.loads(file.read_text())
    failed = [name for name, holds in result["checks"].items() if not holds]
    if failed:
        raise WrongRun(f"{way}: {', '.join(failed)}")
    return {name: (result["metrics"][f"{name}_min_ns"], result["metrics"][f"{name}_ns"])
            for name in names}


def measure(args, ways, names):
    """Returns {way: {question: (fastest of all, median of medians)}}, measured in rounds."""
    samples = {way: {name: [] for name in names} for way in ways}
    for turn in range(args.rounds):
        for way in ways:
            print(f"[{turn + 1}/{args.rounds}] {way}", flush=True)
            taken = (perftest.run(names, SIZES, environment(args)) if way == perftest.NAME
                     else run(args, way, names))
            for name, pair in taken.items():
                samples[way][name].append(pair)
    return {way: {name: (min(s[0] for s in some), statistics.median(s[1] for s in some))
                  for name, some in of.items() if some}
            for way, of in samples.items()}


def shown(what, size, nanoseconds):
    """Converts to µs one way, or to GB/s, or for empty messages to millions of messages a
    second."""
    if what == "latency":
        return nanoseconds * 1e-3
    return SIZES[size] / nanoseconds if SIZES[size] else 1e3 / nanoseconds


UNITS = {"latency": "µs one way", "bandwidth": "GB/s (0b: 10⁶ messages/s)",
         "bidirectional": "GB/s both ways together (0b: 10⁶ messages/s)"}


def table(args, measured, what):
    lines = [f"{what}, {UNITS[what]}: fastest (median)",
             f"{'':12}" + "".join(f"{size:>18}" for size in args.sizes)]
    for way, of in measured.items():
        cells = []
        for size in args.sizes:
            pair = of.get(f"{what}_{size}")
            cells.append("" if pair is None else
                         f"{shown(what, size, pair[0]):.3g} ({shown(what, size, pair[1]):.3g})")
        lines.append(f"{way:12}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


def picture(args, measured, file):
    pyplot = draw.pyplot
    drawing, all_axes = pyplot.subplots(1, len(args.measures), squeeze=False, layout="constrained",
                                        figsize=(5.2 * len(args.measures), 4.2))
    sizes = [size for size in args.sizes if SIZES[size]]
    for what, axes in zip(args.measures, all_axes[0]):
        for number, (way, of) in enumerate(measured.items()):
            points = [(SIZES[s], shown(what, s, of[f"{what}_{s}"][0])) for s in sizes
                      if f"{what}_{s}" in of]
            if points:
                axes.plot(*zip(*points), marker="o", markersize=3, label=way,
                          color=draw.COLOURS[number % len(draw.COLOURS)],
                          linestyle=("-", "--", ":")[number // len(draw.COLOURS)])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks([SIZES[s] for s in sizes], sizes, fontsize=7)
        axes.set_title(what, fontsize=10)
        axes.set_ylabel(UNITS[what].split(" (")[0])
        axes.grid(which="major", linewidth=0.3)
        axes.legend(fontsize=7)
    drawing.savefig(file, dpi=130)
    pyplot.close(drawing)


def is_there(args, way):
    if way == perftest.NAME:
        return shutil.which(perftest.NAME) is not None
    return (args.programs / WAYS[way][0]).exists()


def main(arguments=None):
    args = parse(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    ways = [way for way in args.ways if is_there(args, way)]
    for way in args.ways:
        if way not in ways:
            print(f"left out: {way} is not there")
    if not ways:
        print("nothing to run: build the target `benchmarks`", file=sys.stderr)
        return 1
    names = [f"{what}_{size}" for size in args.sizes for what in args.measures]
    try:
        with busy_processes(args.busy):
            measured = measure(args, ways, names)
    except (WrongRun, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 1
    told = "\n\n".join(table(args, measured, what) for what in args.measures)
    print("\n" + told)
    (args.output / "table.txt").write_text(told + "\n")
    (args.output / "measured.json").write_text(json.dumps(measured, indent=1))
    picture(args, measured, args.output / "osu.png")
    print(f"\npicture: {args.output}/osu.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
