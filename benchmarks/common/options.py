# SPDX-License-Identifier: Apache-2.0
"""Options that several drivers have."""

import argparse


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
