# SPDX-License-Identifier: Apache-2.0
"""Runs one test process under a time limit and judges how it ended; used by chaos.py and
soak.py."""

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass

# The tests that depend on a chaos seed. Two workers suffice for most orders. Left out: devices
# other than the host, which choose their order themselves; floods, which are the same in any order;
# UCX, which uses no seed; and the slowest tests of long programs that add least.
CHAOS_FILTERS = {"test_core": "*2_workers*", "test_device": "host_stream*",
                 "test_objects": "*/2_workers*:*/2_ranks_of_2_workers-*back_pressure*",
                 "test_contract": "*host_*-*under_chaos*",
                 "test_resident": "*/four_schedulers:*/two_ranks",
                 "test_stars_app": "*bits_of_a_blast/*_2:*later_step*/*_2"
                                   ":*mesh_changes/staged_2_ranks*:*change_on_2_ranks*-*kokkos*"}


# The tests in which chaos mode can make elements migrate, within a rank and between ranks. In small
# sizes, as migrations take most of the time: two workers, two ranks of two, and three ranks of one,
# where messages are passed on by a rank that is neither their sender nor their receiver. In all
# sizes for tests of migration itself. Suites of other shapes are named.
MIGRATE_FILTERS = {"test_objects": "*/2_workers*:*/1_ranks_of_2_workers*:*/3_workers*:*migrat*"
                                   ":*/2_ranks_of_2_workers:*/3_ranks_of_1_worker"
                                   ":*channels_between_ranks*:*/exported_memory.*"
                                   ":device_loads.*:balanced_device_load.*:a_destroyed_section.*"
                                   "-*back_pressure*:*all_kinds_of_memory*:*beside_busy_workers*"
                                   ":*exported_memory*_ucx:*channels_of_ranks*/3_ranks*"}


def split(entry):
    """Splits PROGRAM[=FILTER] into a pair; the filter is empty if there is none."""
    program, _, pattern = entry.partition("=")
    return program, pattern


def chaos_filter(program, pattern, migrates=False):
    """Returns the GoogleTest filter of a run with a chaos seed, and with forced migrations if
    `migrates`."""
    filters = MIGRATE_FILTERS if migrates else CHAOS_FILTERS
    return pattern or filters.get(os.path.basename(program), "*")


@dataclass(frozen=True)
class outcome:
    """The end of a process: its verdict, duration and output (stdout and stderr together)."""
    ok: bool
    seconds: float
    output: str


def kill_all(process):
    """Kills the process and all processes of its session that still run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def print_waiters(process):
    """Sends SIGQUIT, on which a runtime prints its suspended coroutines; other programs end."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGQUIT)
        process.communicate(timeout=2)  # the output read so far is kept for the next call


def run(command, timeout, environment=None):
    """Runs a command with `environment` added to that of this process. After `timeout` seconds it
    is asked for its suspended coroutines, and then killed with all processes that it started."""
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
        print_waiters(process)
        kill_all(process)
        output = process.communicate()[0] + f"\nno end after {timeout:g} s"
        ok = False
    except BaseException:  # such as an interrupt, which does not reach the process's session
        kill_all(process)
        process.wait()
        raise
    if ok and "0 tests from 0 test suites ran" in output:
        ok, output = False, output + "\nthe filter matches no test"
    return outcome(ok, time.monotonic() - started, output)
