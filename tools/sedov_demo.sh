#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Sedov application, runs 15 steps on 64³ cells, checks the files it writes and draws
# them.
#   tools/sedov_demo.sh BUILD JOBS [flags of stars]...
# Runs and prints all checks, also after a failed one; the script fails if any check failed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?build folder}
jobs=${2:?jobs}
shift 2
results=sedov_results
python=python3
[[ -x .venv/bin/python3 ]] && python=.venv/bin/python3
export PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg

# Without a GPU the run is on the host, and compiling CUDA kernels would take most of the build
# time.
host_only=()
[[ $(nvidia-smi -L 2>/dev/null || true) == *GPU* ]] || host_only=(-DSTARLING_CUDA=OFF)

mkdir -p "$build"
log=$build/configure.log
cmake --preset sedov -B "$build" "${host_only[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep -E '^-- (Starling|  CUDA)' "$log" || true
cmake --build "$build" -j "$jobs" --target stars

rm -rf "$results"
mkdir -p "$results"
status=0
code=0
"$build/bin/stars" --problem blast --level 3 --steps 15 --output "$results" "$@" || code=$?
# Code 1: a check of the program failed, but its files exist. Other codes leave nothing to check.
[[ $code -le 1 ]] || exit "$code"
[[ $code -eq 0 ]] || status=1

mapfile -t plots < <(find "$results" -mindepth 1 -maxdepth 1 -type d -name 'plt*' | sort)
if [[ ${#plots[@]} -lt 2 ]]; then
  echo "sedov: expected a first and a last plotfile in $results" >&2
  exit 1
fi
first=${plots[0]}
last=${plots[-1]}

if ! "$python" -c 'import numpy, matplotlib' 2>/dev/null; then
  echo "sedov: NOT JUDGED, NOT DRAWN: $python has no numpy or no matplotlib (make deps)" >&2
  echo "plotfiles: $first … $last"
  exit $status
fi

verify() { "$python" apps/stars/verify/verify.py "$@" --json "$results/$1.json" || status=1; }
verify conservation "$first" "$last"
verify symmetry "$last"
# 1.235e-3 is measured; the closest wrong scheme, a wrong γ, has 1.65e-3.
verify blast-profile "$last" --max-l1 1.3e-3
picture="not drawn"
if "$python" apps/stars/verify/draw.py "$last" -o "$results/sedov.png" >"$results/draw.log" 2>&1; then
  picture=$PWD/$results/sedov.png
else
  tail -n 5 "$results/draw.log" >&2
  status=1
fi
echo
echo "plotfiles: $first … $last   (yt opens them)"
echo "picture:   $picture"
[[ $status -eq 0 ]] || echo "sedov: a check FAILED" >&2
exit $status
