#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy on the C++ sources of a configured build folder.
#   tools/tidy.sh BUILD [JOBS] [PATTERN]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?build folder}
jobs=${2:-$(nproc)}
pattern=${3:-/(src|apps|examples|benchmarks)/.*\.cpp$}

# Version 16 handles C++20 coroutines and concepts better than 14.
tool=$(command -v clang-tidy-16 || command -v clang-tidy || true)
[[ -n $tool ]] || { echo "tidy: clang-tidy not found (make deps)" >&2; exit 1; }
mapfile -t files < <(python3 - "$build/compile_commands.json" "$pattern" <<'PY'
import json, re, sys
entries = json.load(open(sys.argv[1]))
names = {entry["file"] for entry in entries}
print("\n".join(sorted(name for name in names if re.search(sys.argv[2], name))))
PY
)
echo "tidy: ${#files[@]} files with $("$tool" --version | grep -o 'version [0-9.]*')"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$jobs" \
  "$tool" -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option
echo "tidy: done"
