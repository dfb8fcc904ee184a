# SPDX-License-Identifier: Apache-2.0
"""Compiles code that must not compile: one_error.py LINES PATTERN COMMAND...

The compiler must report exactly one error, in at most LINES lines, and PATTERN must match the
output.
"""
import re
import subprocess
import sys

most, pattern, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
said = subprocess.run(command, capture_output=True, text=True)
lines = said.stderr.splitlines()
errors = [line for line in lines if " error: " in line]
wrong = []
if said.returncode == 0:
    wrong.append("it compiles")
if len(errors) != 1:
    wrong.append(f"{len(errors)} errors instead of one")
if len(lines) > most:
    wrong.append(f"{len(lines)} lines, more than {most}")
if not re.search(pattern, said.stderr):
    wrong.append(f"no '{pattern}'")
if wrong:
    print("; ".join(wrong) + ":\n" + said.stderr)
sys.exit(1 if wrong else 0)
