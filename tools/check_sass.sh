#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the machine code of resident programs. Their kernels must not call, jump by a table, use
# local memory or trap (nvcc emits a trap for code that cannot run on a device). They must acquire
# messages: by a 128-bit load and an invalidation of the caches. The assembler drops loads whose
# values are unused, also these.
#   tools/check_sass.sh OBJECT...
set -euo pipefail
[[ $# -gt 0 ]] || { sed -n '3,7s/^# *//p' "$0" >&2; exit 2; }
command -v cuobjdump >/dev/null || { echo "check_sass: no cuobjdump; it is part of the CUDA toolkit" >&2; exit 2; }
for object in "$@"; do cuobjdump -sass "$object"; done | awk '
  /Function : / { of_scheduler = /run_schedulers/; name = $3; kernels += of_scheduler }
  of_scheduler && /^ *\/\*[0-9a-f]+\*\/ +[@A-Z]/ {
    if (is_load && /CCTL\.IVALL/ && !seen[kernels]++) ++acquiring
    is_load = /LDG?\.E\.128\.STRONG/
  }
  of_scheduler && /[ \t](CALL|BRXU?|JMXU?|LDL|STL|BPT)[. ]/ {
    sub(/^[ \t]*/, "")
    if (++found <= 10) print substr($0, 1, 60) " in " name
  }
  END {
    printf "%d kernels of resident schedulers, %d instructions that may not be there, %d that do not acquire\n",
           kernels, found, kernels - acquiring
    exit kernels == 0 || found != 0 || acquiring != kernels
  }'
