# SPDX-License-Identifier: Apache-2.0
"""Options that several drivers have."""

import argparse


def numbers(text):
    """Of an option, such as a number of GPUs for each point of a curve."""
    values = [int(x) for x in text.split(",")]
    if min(values) < 1 or values != sorted(set(values)):
        raise argparse.ArgumentTypeError(f"{text}: ascending numbers from 1 with commas, as 1,2,4")
    return values


def add_figures(parser, names):
    """`--figures`: some of `names`, all by default; in the parsed arguments a list."""

    def some(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name}: there are {', '.join(names)}")
        return chosen

    everything = ",".join(names)
    parser.add_argument("--figures", type=some, default=everything,
                        help=f"with commas [{everything}]")
