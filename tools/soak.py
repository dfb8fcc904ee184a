#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats tests in shuffled order on a disturbed machine and counts the failures of each test.

A target is a GoogleTest program, PROGRAM[=FILTER], or a build folder, FOLDER[=REGEX], whose tests
ctest runs. Rounds use the conditions in turn: `plain`; `busy`, with other programs that keep cores
busy; `one-core`, with all threads on one core; `chaos`, with the round's number as seed of chaos
mode; and combinations, such as `busy+chaos`. The number of the round is also the seed of the
shuffled order of a GoogleTest program; ctest chooses its order itself. Each failure prints the
command that repeats it. The exit status is 0 if every run passed.
"""

import argparse
import collections
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import trial

CONDITIONS = "plain,busy,chaos,busy+chaos,one-core,busy+one-core"
LARGEST_SEED = 99999  # of GoogleTest
MOST_TEXT = 3000      # characters of a failed test's output
# A program that computes until its parent process ends, for whatever reason that ends.
SPINNER = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n  for _ in range(10**6): pass"


class googletest:
    """Runs a GoogleTest program, all tests of a round in one process."""

    def __init__(self, program, pattern):
        self.path, self.pattern = program, pattern
        self.name = os.path.basename(program)

    def command(self, seed, condition):
        pattern = self.pattern
        if "chaos" in condition:
            pattern = trial.chaos_filter(self.path, pattern)
        return [self.path, "--gtest_shuffle", f"--gtest_random_seed={(seed - 1) % LARGEST_SEED + 1}",
                f"--gtest_filter={pattern or '*'}"]

    def failures(self, output):
        """Returns the failed tests, and the test that ran when the process ended, with their
        output."""
        found = {}
        parts = re.split(r"\[ RUN      \] (\S+)", output)
        for name, text in zip(parts[1::2], parts[2::2]):
            end = re.search(r"\[ +(OK|FAILED|SKIPPED) +\] " + re.escape(name) + r"\b.*\(\d+ ms\)",
                            text)
            if end is None or end.group(1) == "FAILED":
                found[name] = text[:end.start()] if end else text
        return found


class ctest:
    """Runs the tests of a build folder, each in a process of its own, as many at once as there are
    cores unless CTEST_PARALLEL_LEVEL is set."""

    # The tests of programs that use the seed of chaos mode.
    CHAOS = ["-L", "^(core|device|contract|net|objects|resident)$"]

    def __init__(self, folder, pattern):
        self.path, self.pattern = folder, pattern
        self.name = os.path.basename(os.path.normpath(folder)) + " (ctest)"
        os.environ.setdefault("CTEST_PARALLEL_LEVEL", str(len(os.sched_getaffinity(0))))

    def command(self, seed, condition):
        return ["ctest", "--test-dir", self.path, "--schedule-random", "--output-on-failure",
                "--no-tests=error", *(["-R", self.pattern] if self.pattern else []),
                *(self.CHAOS if "chaos" in condition else []),
                *(["--parallel", "1"] if "one-core" in condition else [])]

    def failures(self, output):
        """Returns the tests in ctest's list of failures, with their output. Newer versions of ctest
        print the labels of a test after its name."""
        summary = output.partition("The following tests FAILED:")[2]
        names = re.findall(r"^\s*\d+ - (.+?) \([^()]*\)(?:\s+\S.*)?$", summary, re.MULTILINE)
        return {name: self.text_of(name, output) for name in names}

    @staticmethod
    def text_of(name, output):
        shown = re.search(r"Test +#\d+: " + re.escape(name) + r" [^\n]*\n(.*?)(?=^ *(?:\d+/\d+ Test|Start) |\Z)",
                          output, re.MULTILINE | re.DOTALL)
        return shown.group(1) if shown else ""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET[=FILTER]",
                        help="a GoogleTest program, or a build folder for all that ctest knows")
    parser.add_argument("--rounds", type=int, default=30, help="how many rounds [%(default)s]")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="start no run after so many; rounds left out are no failure")
    parser.add_argument("--first", type=int, default=1, help="the first round [%(default)s]")
    parser.add_argument("--conditions", default=CONDITIONS, help="of rounds in turn [%(default)s]")
    parser.add_argument("--spinners", type=int, default=2, help="where it is busy [%(default)s]")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds a run may take")
    options = parser.parse_args()
    options.conditions = options.conditions.split(",")
    for condition in options.conditions:
        if not set(condition.split("+")) <= {"plain", "busy", "one-core", "chaos"}:
            parser.error(f"there is no condition '{condition}'")
    options.targets = [target_of(*trial.split(entry), parser.error) for entry in options.targets]
    return options


def target_of(path, pattern, refuse):
    if os.path.isdir(path):
        return ctest(path, pattern)
    if not os.access(path, os.X_OK):
        refuse(f"{path} is neither a program nor a build folder (build it first)")
    return googletest(path, pattern)


@contextlib.contextmanager
def spinning(count, prefix):
    """Runs `count` programs that only compute while the body of the `with` statement runs."""
    spinners = [subprocess.Popen([*prefix, sys.executable, "-c", SPINNER]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


class soak:
    """The rounds and their results."""

    def __init__(self, options):
        self.options = options
        self.deadline = time.monotonic() + options.seconds
        self.runs = collections.Counter()
        self.failed_runs = collections.Counter()
        self.seconds = collections.Counter()
        self.failed = {}  # (target, test): commands that repeat it

    def run(self):
        for number in range(self.options.first, self.options.first + self.options.rounds):
            condition = self.options.conditions[(number - 1) % len(self.options.conditions)]
            for target in self.options.targets:
                if time.monotonic() > self.deadline:
                    return
                self.run_one(target, number, condition)

    def run_one(self, target, number, condition):
        parts = condition.split("+")
        core = min(os.sched_getaffinity(0))
        prefix = ["taskset", "-c", str(core)] if "one-core" in parts else []
        command = prefix + target.command(number, parts)
        seed = {"STARLING_CHAOS": str(number)} if "chaos" in parts else {}
        print(f"soak: round {number}, {condition}: {target.name} ", end="", flush=True)
        with spinning(self.options.spinners if "busy" in parts else 0, prefix):
            result = trial.run(command, self.options.timeout, seed)
        self.runs[target.name] += 1
        self.failed_runs[target.name] += not result.ok
        self.seconds[target.name] += result.seconds
        print(f"{'passed' if result.ok else 'FAILED'} in {result.seconds:.0f} s; so far "
              f"{sum(self.failed_runs.values())} of {sum(self.runs.values())} runs failed", flush=True)
        if not result.ok:
            self.note(target, number, condition, command, seed, result.output)

    def note(self, target, number, condition, command, seed, output):
        named = target.failures(output) or {f"the end of {target.name}": output}
        again = (f"{sys.argv[0]} --first {number} --rounds 1 --conditions {condition} "
                 f"{shlex.quote(target.path + (target.pattern and '=' + target.pattern))}")
        assignments = [f"{name}={value}" for name, value in seed.items()]
        for name, text in named.items():
            self.failed.setdefault((target.name, name), []).append(again)
            text = text if len(text) <= MOST_TEXT else "…" + text[-MOST_TEXT:]
            print(f"soak: FAILED {name}; repeat with\n  {again}\nwhich runs\n  "
                  f"{' '.join(assignments + [shlex.join(command)])}\n{text.strip()}", flush=True)

    def report(self):
        """Prints the tables. Returns true if at least one run was made and all runs passed."""
        print(f"\n{'target':24} {'runs':>6} {'failed':>6} {'s/run':>8}")
        for target in self.options.targets:
            runs = self.runs[target.name]
            print(f"{target.name:24} {runs:6} {self.failed_runs[target.name]:6} "
                  f"{self.seconds[target.name] / max(runs, 1):8.1f}")
        if self.failed:
            print("\nwhat failed, how often, and the command that repeats the last time:")
        for (target, name), commands in sorted(self.failed.items(), key=lambda f: -len(f[1])):
            print(f"{len(commands):6} of {self.runs[target]}  {name}\n          {commands[-1]}")
        return bool(self.runs) and not self.failed


def main():
    rounds = soak(parse())
    for number in (signal.SIGINT, signal.SIGTERM):  # also ends the current run
        signal.signal(number, signal.default_int_handler)
    try:
        rounds.run()
    except KeyboardInterrupt:
        print("\nsoak: interrupted")
        rounds.report()
        return 130
    return 0 if rounds.report() else 1


if __name__ == "__main__":
    sys.exit(main())
