#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The complete verification (`make verify`): runs the program, checks its files, prints one table.

It checks Sod's tube in Octo-Tiger's published norm, the order of convergence of the linear wave
and the vortex, the growth of instabilities, the order of the blast against the similarity
solution, a blast in a periodic box against an independent calculation, the blast's norms that
Octo-Tiger prints (in sub-grids of 8³ and, if stars_16 is beside the program, of 16³ cells), the
equality of all ways to place the work
(with nine points on a face and with one; for CUDA also on the host), bit by bit, and the number of
kernel launches of the staged placement. The exit code is 0 if every check held.
"""

import argparse
import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import time

import verify
from report import report

# The density L1 that Octo-Tiger prints, by level.
PUBLISHED_SOD = {1: 8.616107e-3, 2: 4.603921e-3}
PARTS = ("sod", "linear_wave", "vortex", "instabilities", "placements", "launches", "blast",
         "blast_periodic", "blast_norms")
KERNELS = 5
# Ways of placing and launching the same work.
WAYS = {"staged": ("staged", "--aggregate", 1), "aggregated": ("staged", "--aggregate", 16),
        "resident": ("resident",), "graph": ("resident", "--graph", "step")}
# Sub-grids of 64³ cells × stages × steps.
LAUNCHES = 512 * 3 * 15


class suite:
    def __init__(self, args):
        self.program = str(args.stars)
        self.folder = pathlib.Path(args.output)
        self.backend = args.backend
        self.flags = args.flags
        self.deepest = args.deepest
        self.out = report("verification", program=self.program, backend=args.backend)

    def stars(self, name, problem, level, *flags, backend=None, placement=None):
        """Runs the program and returns the last plotfile."""
        backend = backend or self.backend
        # The faster placement of each backend; a separate check shows that both give the same bits.
        placement = placement or ("staged" if backend == "host" else "resident")
        where = self.folder / name
        shutil.rmtree(where, ignore_errors=True)
        command = [self.program, "--backend", backend, "--residency", placement, "--no-progress",
                   "--no-restart-file", "-o", where, "--problem", problem, "--level", level,
                   *flags, *self.flags]
        command = [str(word) for word in command]
        began = time.monotonic()
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"{name:24} {time.monotonic() - began:8.1f} s", flush=True)
        # 1: a check of the program failed, which appears in the table.
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
        self.out.equal(f"{name}: exit code of the program", done.returncode, 0)
        return str(max(where.glob("plt*"), default=where))

    def judge(self, name, *arguments, keep=()):
        """Calls verify.py; adds its verdict and the values whose names contain one of `keep`."""
        file = self.folder / f"{name.replace(' ', '_')}.json"
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = verify.main([*map(str, arguments), "--json", str(file)])
        if code != 0:
            print(text.getvalue())
        if code == 2:
            sys.exit(2)
        for what, value in json.loads(file.read_text())["metrics"].items():
            if any(word in what for word in keep):
                self.out.note(f"{name}: {what}", value)
        self.out.equal(f"{name}: verify.py", code, 0)

    def sod(self):
        for level, limit in PUBLISHED_SOD.items():
            n = 8 << level
            last = self.stars(f"sod{n}", "sod", level, "--steps", 0, "--stop-time", 0.1)
            self.judge(f"sod {n}³", "sod", last, "--norm", "octo-tiger", "--max-l1", limit,
                       keep=["Octo-Tiger"])

    def linear_wave(self):
        waves = [self.stars(f"wave{8 << level}", "linear-wave", level, "--steps", 0,
                            "--stop-time", 2) for level in (1, 2, 3)]
        # At 16³ the limiter flattens the crest, so the order of the finer pair is checked.
        self.judge("wave, all", "linear-wave", *waves, "--min-order", 1, keep=["L1", "order 16"])
        self.judge("wave", "linear-wave", *waves[1:], keep=["order 32"])

    def vortex(self):
        files = [self.stars(f"vortex{8 << level}", "vortex", level, "--azimuth", 30, "--steps", 0,
                            "--stop-time", 0.2) for level in (1, 2, 3)]
        self.judge("vortex", "vortex", *files, "--azimuth", 30, keep=["L1", "order"])

    def instabilities(self):
        last = self.stars("rayleigh-taylor", "rayleigh-taylor", 2, "--steps", 0, "--stop-time", 2)
        self.judge("Rayleigh-Taylor", "rayleigh-taylor", last, "--max-difference", 0.02,
                   keep=["difference"])
        shear = ["--width", 0.05]
        last = self.stars("kelvin-helmholtz", "kelvin-helmholtz", 3, *shear, "--xscale", 0.5,
                          "--steps", 0, "--stop-time", 0.3)
        self.judge("Kelvin-Helmholtz", "kelvin-helmholtz", last, *shear, "--max-difference", 0.01,
                   keep=["difference"])

    def placements(self):
        for quadrature in ("nine-point", "centre"):
            runs = {}
            for backend in dict.fromkeys(["host", self.backend]):
                for way, (placement, *flags) in WAYS.items():
                    name = f"{backend}-{way}-{quadrature}"
                    runs[name] = self.stars(name, "blast", 2, "--steps", 4, "--quadrature",
                                            quadrature, *flags, backend=backend,
                                            placement=placement)
            (first, reference), *others = runs.items()
            for name, path in others:
                self.judge(f"bits of {name} = {first}", "compare", reference, path)

    def launches(self):
        counts = self.folder / "launches.json"
        self.stars("launches", "blast", 3, "--steps", 15, "--aggregate", 1, "--no-plots", "--json",
                   counts, "--starling-summary", placement="staged")
        found = {name: int(count) for name, count in
                 json.loads(counts.read_text())["metrics"].items() if name.startswith("launches_")}
        self.out.equal("kernels of the staged step", len(found), KERNELS)
        for name, count in found.items():
            self.out.equal(name, count, LAUNCHES)

    def blast(self):
        blasts = [self.stars(f"blast{8 << level}", "blast", level, "--radius", 0.109375,
                             "--steps", 0, "--stop-time", 0.1)
                  for level in range(2, self.deepest + 1)]
        self.judge("blast", "blast", *blasts, keep=["L1", "order"])

    def blast_periodic(self):
        """Before the fronts reach the faces, and after they have met their images there."""
        last = self.stars("periodic", "blast", 3, "--boundary", "periodic", "--radius", 0.109375,
                          "--steps", 0, "--stop-time", 1.5, "--plot-every", 150)
        for when, file in (("inside", pathlib.Path(last).with_name("plt00150")), ("met", last)):
            self.judge(f"periodic blast, {when}", "blast-periodic", file,
                       keep=["time", "L1", "asymmetry"])

    def blast_norms(self):
        """Octo-Tiger's 8³ and 16³ sub-grids with levels up to 3, refined by its rules."""
        for level in (3, 4):
            n = 8 << level
            stop = ["--steps", 0, "--stop-time", 0.01]
            refined = self.stars(f"norms{n}", "blast", level, "--min-level", level - 2, *stop)
            self.judge(f"blast norms {n}³", "blast-norms", refined, keep=["L1", "L2"])
            if level == 3:
                uniform = self.stars(f"uniform{n}", "blast", level, *stop)
                self.judge(f"blast levels {n}³", "blast-levels", refined, uniform, keep=["over"])
        name = "blast norms 128³ in 16³ sub-grids"
        if not pathlib.Path(self.program).with_name("stars_16").exists():
            self.out.note(name, "NOT JUDGED: build stars_16")
            return
        large = self.stars("norms128-16", "blast", 3, "--sub-grid", 16, "--min-level", 1, *stop)
        self.judge(name, "blast-norms", large, keep=["L1", "L2"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stars", help="the program")
    parser.add_argument("--output", default="stars_verification", help="folder [%(default)s]")
    parser.add_argument("--backend", default="host", help="host or cuda [%(default)s]")
    parser.add_argument("--only", choices=PARTS, action="append",
                        help="leave out the others")
    parser.add_argument("--deepest", type=int, default=4,
                        help="level of the finest blast, 8·2^level cells [%(default)s]")
    parser.add_argument("flags", nargs="*", help="after --: more flags for the program")
    args = parser.parse_args()
    work = suite(args)
    work.folder.mkdir(parents=True, exist_ok=True)
    for part in args.only or PARTS:
        getattr(work, part)()
    print(work.out.table())
    work.out.write_json(work.folder / "verification.json")
    return 0 if work.out.passed else 1


if __name__ == "__main__":
    sys.exit(main())
