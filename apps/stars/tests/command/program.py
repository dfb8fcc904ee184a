# SPDX-License-Identifier: Apache-2.0
"""Runs stars and its verification for the tests. The environment variable STARS holds the path of
the program."""

import os
import pathlib
import subprocess
import sys

STARS = os.environ["STARS"]
VERIFY = pathlib.Path(__file__).parents[2] / "verify" / "verify.py"


def stars(*arguments, code=0, cwd=None, before=None):
    command = [STARS, "--backend", "host", "--no-progress", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=250,
                          preexec_fn=before)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def verify(*arguments):
    command = [sys.executable, str(VERIFY), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=250).returncode


def last_plot(folder):
    return sorted(pathlib.Path(folder).glob("plt*"))[-1]
