# SPDX-License-Identifier: Apache-2.0
"""UCX' own program, as a peer: its two sides over a port of this host."""

import socket
import subprocess
import time

from runner import WrongRun

NAME = "ucx_perftest"
TESTS = {"latency": "ucp_am_lat", "bandwidth": "ucp_am_bw"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(command, environment):
    """The other side says nothing of when it listens: tried for some seconds."""
    limit = time.monotonic() + 10
    while True:
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=60,
                              env=environment)
        if done.returncode == 0 or time.monotonic() > limit:
            return done
        time.sleep(0.05)


def ask(test, size, iterations, environment):
    """The last line of numbers: by name."""
    port = str(free_port())
    with subprocess.Popen([NAME, "-p", port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=environment) as other:
        try:
            done = connect([NAME, "127.0.0.1", "-p", port, "-t", test, "-s", str(size), "-n",
                            str(iterations), "-w", "10", "-f", "-v"], environment)
        finally:
            other.terminate()
    lines = [line for line in done.stdout.splitlines() if "," in line]
    if done.returncode != 0 or len(lines) < 2:
        raise WrongRun(f"{NAME} {test} {size}: {done.stdout}{done.stderr}")
    return dict(zip(lines[0].split(","), map(float, lines[-1].split(","))))


def run(names, sizes, environment):
    """ns by question, where it has one like it: twice the same, as it tells one number only. That
    is the median of a latency and the mean of all else."""
    taken = {}
    for name in names:
        what, _, size = name.partition("_")
        if what not in TESTS or sizes[size] == 0:
            continue
        iterations = max(20, min(20_000, (64 << 20) // sizes[size]))
        said = ask(TESTS[what], sizes[size], iterations, environment)
        ns = (1e3 * said["50.0_percentile_lat"] if what == "latency"
              else 1e9 / said["overall_mr"])
        taken[name] = (ns, ns)
    return taken
