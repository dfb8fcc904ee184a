#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the built benchmarks and prints one table per question.
#   tools/bench.sh BUILD [--smoke] [--results FOLDER] [QUESTION]...
# CMake writes BUILD/benchmarks.list: question, competitor and command of each, separated by tabs.
# --smoke, which the tests use, runs the same commands once, at a small scale, and keeps no reports.
# Every program checks its own answers. If a program fails, the remaining ones still run, and the
# script fails. The exit code is 77 if all programs needed a GPU and this machine has none.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?build folder}
shift
results=$build/results
scale=()
questions=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --smoke)
      scale=(--scale 0.002 --repetitions 1 --warmups 0)
      results=$(mktemp -d)
      trap 'rm -rf "$results"' EXIT ;;
    --results) results=${2:?folder}; shift ;;
    -*) echo "bench: unknown option $1" >&2; exit 2 ;;
    *) questions+=("$1") ;;
  esac
  shift
done
mkdir -p "$results"
[[ ${#questions[@]} -gt 0 ]] || mapfile -t questions < <(cut -f 1 "$build/benchmarks.list" | sort -u)
# Set by `make bench`.
export STARLING_COMMIT=${STARLING_COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
failed=0
ran=0

# measure NAME COMMAND...: writes the report $results/NAME.json.
measure() {
  local name=$1 code=0
  shift
  echo "== $name"
  rm -f "$results/$name.json"  # so that no report of an earlier run remains
  "$@" "${scale[@]}" --json "$results/$name.json" || code=$?
  if [[ $code -eq 77 && ! -e /dev/nvidia0 ]]; then
    echo "$name left out: it needs a GPU, and this machine has none"
  elif [[ $code -ne 0 ]]; then
    echo "bench: $name ended with code $code: $*" >&2
    rm -f "$results/$name.json"
    failed=1
  else
    ran=1
  fi
}

# tasks COMPETITOR COMMAND...: measures with one worker and with two.
tasks() {
  local competitor=$1 workers
  shift
  for workers in 1 2; do
    # The floor has one thread by definition: measured once, shown in both tables.
    if [[ $competitor == floor && $workers -eq 2 ]]; then continue; fi
    measure "tasks_${competitor}_$workers" "$@" --workers "$workers"
  done
}

tables_of_tasks() {
  local workers reports
  for workers in 1 2; do
    reports=()
    for report in "$results"/tasks_*_"$workers".json "$results"/tasks_floor_1.json; do
      if [[ -e $report && " ${reports[*]} " != *" $report "* ]]; then reports+=("$report"); fi
    done
    [[ ${#reports[@]} -gt 0 ]] || continue
    python3 tools/results.py table "${reports[@]}" | tee "$results/tasks_$workers.txt" || failed=1
  done
}

for question in "${questions[@]}"; do
  found=0
  while IFS=$'\t' read -r -a entry; do
    [[ ${entry[0]} == "$question" ]] || continue
    found=1
    competitor=${entry[1]}
    if [[ $question == tasks ]]; then
      tasks "$competitor" "${entry[@]:2}"
    else
      measure "${question}_$competitor" "${entry[@]:2}"
    fi
  done <"$build/benchmarks.list"
  if [[ $found -eq 0 ]]; then
    echo "bench: $build/benchmarks.list names no benchmark '$question'" >&2
    failed=1
  elif [[ $question == tasks ]]; then
    tables_of_tasks
  fi
done
[[ ${#scale[@]} -gt 0 ]] || echo "bench: reports in $results"
if [[ $failed -eq 0 && $ran -eq 0 ]]; then exit 77; fi
exit $failed
