#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Sedov application, runs 15 steps of 64³, judges the files it wrote and draws them.
#   tools/sedov_demo.sh BUILD JOBS [sedov's flags]...
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?build folder}
jobs=${2:?jobs}
shift 2
results=sedov_results
python=python3
[[ -x .venv/bin/python3 ]] && python=.venv/bin/python3
export PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg

mkdir -p "$build"
log=$build/configure.log
cmake --preset sedov -B "$build" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep -E '^-- (Starling|  CUDA)' "$log" || true
cmake --build "$build" -j "$jobs" --target sedov

rm -rf "$results"
mkdir -p "$results"
"$build/bin/sedov" --problem blast --level 3 --steps 15 --output "$results" "$@"

mapfile -t plots < <(find "$results" -mindepth 1 -maxdepth 1 -type d -name 'plt*' | sort)
if [[ ${#plots[@]} -lt 2 ]]; then
  echo "sedov: expected a first and a last plotfile in $results" >&2
  exit 1
fi
first=${plots[0]}
last=${plots[-1]}
status=0
verify=apps/sedov/verify
"$python" $verify/draw.py "$last" -o "$results/sedov.png" >/dev/null || status=1
"$python" $verify/verify.py conservation "$first" "$last" --json "$results/conservation.json" ||
  status=1
"$python" $verify/verify.py symmetry "$last" --json "$results/symmetry.json" || status=1
echo
echo "plotfiles: $first … $last   (yt opens them)"
echo "picture:   $PWD/$results/sedov.png"
exit $status
