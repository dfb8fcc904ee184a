# SPDX-License-Identifier: Apache-2.0
"""UCX's own benchmark ucx_perftest for comparison: both sides on this host, over a TCP port."""

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
    """Tries for some seconds, because the server does not report that it listens."""
    limit = time.monotonic() + 10
    while True:
        done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=60,
                              env=environment)
        if done.returncode == 0 or time.monotonic() > limit:
            return done
        time.sleep(0.05)


def ask(test, size, iterations, environment):
    """Returns the values of the last line of numbers, by column name."""
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
    """Returns ns by question, for questions that ucx_perftest has, as a pair of the same number:
    the median for latencies, the mean for bandwidths."""
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
