# SPDX-License-Identifier: Apache-2.0
"""Runs one test process under a time limit and judges how it ended: for chaos.py and soak.py."""

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass

# Tests that chaos mode can change. Two workers suffice for most orders. Devices other than the host
# choose their order themselves. Floods are the same in any order, and UCX takes none from a seed. Of
# long programs what says the least for its time is left out.
CHAOS_FILTERS = {"test_core": "*2_workers*", "test_device": "host_stream*",
                 "test_objects": "*/2_workers*:*/2_ranks_of_2_workers-*back_pressure*",
                 "test_contract": "*host_*-*under_chaos*",
                 "test_resident": "*/four_schedulers:*/two_ranks",
                 "test_sedov_app": "*bits_of_a_blast/*_2:*later_step*/*_2-*kokkos*"}


def split(entry):
    """PROGRAM[=FILTER] as a pair; the filter is empty where there is none."""
    program, _, pattern = entry.partition("=")
    return program, pattern


def chaos_filter(program, pattern):
    """The GoogleTest filter of a run with a chaos seed."""
    return pattern or CHAOS_FILTERS.get(os.path.basename(program), "*")


@dataclass(frozen=True)
class outcome:
    """How a process ended; its output has stdout and stderr in one."""
    ok: bool
    seconds: float
    output: str


def kill_all(process):
    """Kills a process and those of its session, as far as they have not ended yet."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def ask_what_waits(process):
    """SIGQUIT has a runtime print its suspended coroutines; other programs end by it."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGQUIT)
        process.communicate(timeout=2)  # what it reads is kept for the next call


def run(command, timeout, environment=None):
    """One run, with `environment` on top of this process's. After `timeout` seconds it is asked
    what it waits for, and then killed with all processes that it started."""
    started = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        ok = process.returncode == 0
        if process.returncode < 0:
            output += f"\nended by {signal.Signals(-process.returncode).name}"
    except subprocess.TimeoutExpired:
        ask_what_waits(process)
        kill_all(process)
        output = process.communicate()[0] + f"\nno end after {timeout:g} s"
        ok = False
    except BaseException:  # an interrupt of the user: the process has a session of its own
        kill_all(process)
        process.wait()
        raise
    if ok and "0 tests from 0 test suites ran" in output:
        ok, output = False, output + "\nthe filter matches no test"
    return outcome(ok, time.monotonic() - started, output)
