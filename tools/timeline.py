#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the overlap of kernels and copies in a timeline (--starling-trace FILE): for each device
the time in which kernels ran, the time in which copies ran, and how much of the copies was hidden
behind kernels.

Times are lengths of unions: two simultaneous kernels count once.
"""

import argparse
import json
import sys


def unions(spans):
    """Returns disjoint intervals that cover the same time, in order."""
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common(one, other):
    """Returns the time that is covered by both of two lists of disjoint intervals."""
    total, i, j = 0.0, 0, 0
    while i < len(one) and j < len(other):
        begin, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        total += max(0.0, end - begin)
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return total


def devices(events):
    """Returns device -> kind -> spans in us, and the streams of the device that had operations."""
    names = {e["pid"]: e["args"]["name"] for e in events
             if e.get("ph") == "M" and e.get("name") == "process_name"}
    found = {}
    for e in events:
        if e.get("ph") != "X" or e["cat"] not in ("kernel", "copy"):
            continue
        device = found.setdefault(names[e["pid"]], {"kernel": [], "copy": [], "streams": set()})
        device[e["cat"]].append((e["ts"], e["ts"] + e["dur"]))
        device["streams"].add(e["tid"])
    return found


def row(name, device):
    kernels, copies = unions(device["kernel"]), unions(device["copy"])
    busy = length(kernels) + length(copies) - common(kernels, copies)
    begin = min(interval[0] for interval in kernels[:1] + copies[:1])
    end = max(interval[1] for interval in kernels[-1:] + copies[-1:])
    hidden = common(kernels, copies) / length(copies) if copies else 0.0
    side_by_side = sum(e - b for b, e in device["kernel"]) / max(length(kernels), 1e-9)
    return (f"{name:<24}{len(device['streams']):>8}{length(kernels) * 1e-3:>12.3f}"
            f"{side_by_side:>14.2f}{length(copies) * 1e-3:>12.3f}{hidden:>10.1%}"
            f"{1 - busy / max(end - begin, 1e-9):>8.1%}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="written by --starling-trace")
    file = parser.parse_args(arguments).file
    try:
        with open(file, encoding="utf-8") as text:
            events = json.load(text)["traceEvents"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"timeline: {file}: {error!r}", file=sys.stderr)
        return 2
    found = devices(events)
    if not found:
        print(f"timeline: {file}: no kernels and no copies", file=sys.stderr)
        return 1
    print(f"{'device':<24}{'streams':>8}{'kernels ms':>12}{'side by side':>14}{'copies ms':>12}"
          f"{'hidden':>10}{'idle':>8}")
    for name in sorted(found):
        print(row(name, found[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
