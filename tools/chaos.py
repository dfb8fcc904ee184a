#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs under many seeds of chaos mode (STARLING_CHAOS).

Each run is one process with one seed: the scheduler, the host streams and the loopback network
derive their order and delays from it. A failure prints the command that repeats it. The program
with the least total time runs next, so that under a time limit all programs get the same time.
Filters (trial.py) leave out tests that do not depend on the seed, and the slowest tests of long
programs that add least; PROGRAM=FILTER gives a program its own GoogleTest filter. With --migrate,
chaos mode also makes elements of chare arrays migrate (STARLING_CHAOS_MIGRATE).
"""

import argparse
import concurrent.futures
import os
import sys
import threading
import time

import trial


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", metavar="PROGRAM[=FILTER]")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds [%(default)s]")
    parser.add_argument("--first", type=int, default=1, help="the first seed [%(default)s]")
    parser.add_argument("--migrate", type=int, default=0, metavar="PERCENT",
                        help="how often elements that can migrate are made to [%(default)s]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run may take")
    parser.add_argument("--at-most", type=float, default=float("inf"),
                        help="stop starting runs after this many seconds; runs left out are "
                             "reported and are no failure")
    parser.add_argument("--at-least", type=int, default=1, metavar="RUNS",
                        help="runs of each program that are made even after --at-most "
                             "[%(default)s]")
    options = parser.parse_args()
    options.variables = {"STARLING_CHAOS_MIGRATE": str(options.migrate)} if options.migrate else {}
    options.filters = {}
    for entry in options.programs:
        program, pattern = trial.split(entry)
        options.filters[program] = trial.chaos_filter(program, pattern, options.migrate != 0)
    return options


PROGRESS_SECONDS = 60


def excerpt(output, end=4000, most=8000):
    """Returns the failures that GoogleTest has reported, up to `most` characters of them, and the
    last `end` characters of the output."""
    kept, left = [], 0  # lines that are still kept
    for line in output[:-end].splitlines():
        left = 12 if line.endswith(": Failure") else left
        if left > 0:
            kept.append(line)
            left -= 1
            if left == 0:
                kept.append("…")
    failures = "\n".join(kept)[:most]
    return (failures + "\n" if failures else "") + output[-end:]


class plan:
    """The finished runs and the choice of the next run. Thread-safe."""

    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.at_most
        self.told = time.monotonic()
        self.lock = threading.Lock()
        self.begun = {program: 0 for program in options.filters}
        self.passed = {program: 0 for program in options.filters}
        self.failed = {program: 0 for program in options.filters}
        self.seconds = {program: 0.0 for program in options.filters}

    def done(self, program):
        return self.passed[program] + self.failed[program]

    def mean(self, program):
        return self.seconds[program] / max(self.done(program), 1)

    def time_given(self, program):
        """Returns the total seconds and the number of runs of a program; a run in progress counts
        as the mean of the finished runs."""
        running = self.begun[program] - self.done(program)
        return self.seconds[program] + running * self.mean(program), self.begun[program]

    def next(self):
        """Returns the program and seed of the next run, or None if no run or no time is left."""
        with self.lock:
            limit = self.options.seeds
            if time.monotonic() > self.deadline:
                limit = min(limit, self.options.at_least)
            left = [p for p in self.begun if self.begun[p] < limit]
            if not left:
                return None
            program = min(left, key=self.time_given)
            self.begun[program] += 1
            return program, self.options.first + self.begun[program] - 1

    def end(self, program, seed, outcome):
        with self.lock:
            (self.passed if outcome.ok else self.failed)[program] += 1
            self.seconds[program] += outcome.seconds
            if not outcome.ok:
                more = "".join(f"{k}={v} " for k, v in self.options.variables.items())
                print(f"chaos: FAILED; repeat with\n  STARLING_CHAOS={seed} {more}{program} "
                      f"--gtest_filter='{self.options.filters[program]}'\n{excerpt(outcome.output)}",
                      flush=True)
            if time.monotonic() > self.told + PROGRESS_SECONDS:
                self.told = time.monotonic()
                self.tell_progress()

    def tell_progress(self):
        parts = [f"{os.path.basename(p)} {self.done(p)} of {self.options.seeds}"
                 + (f", {self.failed[p]} failed" if self.failed[p] else "") for p in self.begun]
        print("chaos: " + "; ".join(parts), file=sys.stderr, flush=True)


def run(program, seed, options):
    command = [program, "--gtest_filter=" + options.filters[program]]
    return trial.run(command, options.timeout,
                     {"STARLING_CHAOS": str(seed), **options.variables})


def main():
    options = parse()
    for program in options.filters:
        if not os.access(program, os.X_OK):
            sys.exit(f"chaos: {program} is not a program (build it first)")
    runs = plan(options)

    def work():
        while item := runs.next():
            runs.end(*item, run(*item, options))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for worker in [pool.submit(work) for _ in range(options.jobs)]:
            worker.result()
    print(f"{'program':24} {'passed':>8} {'failed':>8} {'not run':>8} {'s/run':>8}")
    failed = 0
    for program in options.filters:
        done = runs.done(program)
        failed += runs.failed[program]
        print(f"{os.path.basename(program):24} {runs.passed[program]:8} {runs.failed[program]:8} "
              f"{options.seeds - done:8} {runs.mean(program):8.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
