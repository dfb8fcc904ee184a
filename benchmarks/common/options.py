# SPDX-License-Identifier: Apache-2.0
"""Options that several benchmark drivers have."""

import argparse


def numbers(text):
    """Parses an option with ascending numbers, such as numbers of GPUs, one for each point."""
    values = [int(x) for x in text.split(",")]
    if min(values) < 1 or values != sorted(set(values)):
        raise argparse.ArgumentTypeError(f"{text}: ascending numbers from 1 with commas, as 1,2,4")
    return values


def add_figures(parser, names):
    """Adds `--figures`, a list of some of `names`, all by default."""

    def some(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name}: there are {', '.join(names)}")
        return chosen

    everything = ",".join(names)
    parser.add_argument("--figures", type=some, default=everything,
                        help=f"with commas [{everything}]")
