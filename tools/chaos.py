#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs under many seeds of chaos mode (STARLING_CHAOS).

Each run is one process with one seed: the scheduler, the host streams and the loopback network
take their order and delays from it. A failure prints the command that repeats it. Programs take
turns, so that a time limit cuts all of them short alike. The filters below leave out tests that no
seed changes; PROGRAM=FILTER gives one program a GoogleTest filter of its own.
"""

import argparse
import concurrent.futures
import itertools
import os
import subprocess
import sys
import time


# Two workers suffice for most orders. Devices other than the host choose their order themselves.
# Floods are the same in any order, and UCX takes none from a seed.
FILTERS = {"test_core": "*2_workers*", "test_device": "host_stream*",
           "test_objects": "*/2_workers*:*/2_ranks_of_2_workers-*back_pressure*",
           "test_contract": "*host_*-*under_chaos*"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", metavar="PROGRAM[=FILTER]")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds [%(default)s]")
    parser.add_argument("--first", type=int, default=1, help="the first seed [%(default)s]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a run may take")
    parser.add_argument("--at-most", type=float, default=float("inf"),
                        help="stop starting runs after this many seconds; what was not run is "
                             "reported and is no failure, unless --at-least asks for it")
    parser.add_argument("--at-least", type=int, default=1, metavar="RUNS",
                        help="fewer runs of a program are a failure [%(default)s]")
    options = parser.parse_args()
    options.filters = {}
    for entry in options.programs:
        program, _, pattern = entry.partition("=")
        options.filters[program] = pattern or FILTERS.get(os.path.basename(program), "*")
    return options


def run(program, seed, options, deadline):
    """One run: None when it was not started, else (ok, seconds, tests run, output)."""
    if time.monotonic() > deadline:
        return None
    environment = dict(os.environ, STARLING_CHAOS=str(seed))
    command = [program, "--gtest_filter=" + options.filters[program], "--gtest_brief=1"]
    started = time.monotonic()
    try:
        done = subprocess.run(command, env=environment, timeout=options.timeout, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ok, output = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as error:
        partial = error.stdout or b""
        ok = False
        output = partial.decode(errors="replace") if isinstance(partial, bytes) else partial
        output += f"\nno end after {options.timeout:g} s"
    if ok and "0 tests from 0 test suites ran" in output:
        ok, output = False, output + "\nthe filter matches no test"
    return ok, time.monotonic() - started, output


def main():
    options = parse()
    for program in options.filters:
        if not os.access(program, os.X_OK):
            sys.exit(f"chaos: {program} is not a program (build it first)")
    seeds = range(options.first, options.first + options.seeds)
    work = list(itertools.product(seeds, options.filters))
    deadline = time.monotonic() + options.at_most
    counts = {program: [0, 0, 0.0] for program in options.filters}  # passed, failed, seconds
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda item: run(item[1], item[0], options, deadline), work)
        for (seed, program), result in zip(work, results):
            if result is None:
                continue
            ok, seconds, output = result
            counts[program][0 if ok else 1] += 1
            counts[program][2] += seconds
            if not ok:
                print(f"chaos: FAILED; repeat with\n  STARLING_CHAOS={seed} {program} "
                      f"--gtest_filter='{options.filters[program]}'\n{output[-4000:]}", flush=True)
    print(f"{'program':24} {'passed':>8} {'failed':>8} {'not run':>8} {'s/run':>8}")
    failed = 0
    for program, (passed, bad, seconds) in counts.items():
        done = passed + bad
        failed += bad
        print(f"{os.path.basename(program):24} {passed:8} {bad:8} {options.seeds - done:8} "
              f"{seconds / max(done, 1):8.2f}")
        if done < options.at_least:
            print(f"chaos: FAILED: {done} runs of {os.path.basename(program)}, "
                  f"{options.at_least} are wanted")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
