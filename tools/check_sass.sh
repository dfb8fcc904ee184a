#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the compiler made of resident programs: in their kernels nothing may be called, jump by a
# table, use local memory or trap (which is what nvcc makes of code that it cannot have on a device).
#   tools/check_sass.sh OBJECT...
set -euo pipefail
[[ $# -gt 0 ]] || { sed -n '3,5s/^# *//p' "$0" >&2; exit 2; }
command -v cuobjdump >/dev/null || { echo "check_sass: no cuobjdump; it is part of the CUDA toolkit" >&2; exit 2; }
for object in "$@"; do cuobjdump -sass "$object"; done | awk '
  /Function : / { of_scheduler = /run_schedulers/; name = $3; kernels += of_scheduler }
  of_scheduler && /[ \t](CALL|BRXU?|JMXU?|LDL|STL|BPT)[. ]/ {
    sub(/^[ \t]*/, "")
    if (++found <= 10) print substr($0, 1, 60) " in " name
  }
  END {
    printf "%d kernels of resident schedulers, %d instructions that may not be there\n", kernels, found
    exit kernels == 0 || found != 0
  }'
