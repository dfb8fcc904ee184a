#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the built benchmarks and prints one table per question.
#   tools/bench.sh BUILD [RESULTS]
# Every program checks its own answers; one that fails makes this fail, after all have run.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?build folder}
results=${2:-$build/results}
mkdir -p "$results"
# What is printed is of this run.
rm -f "$results"/*.json
STARLING_COMMIT=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
export STARLING_COMMIT
failed=0

for workers in 1 2; do
  reports=()
  for program in "$build"/bin/bench_tasks_*; do
    [[ -x $program ]] || continue
    competitor=${program##*/bench_tasks_}
    # The floor is one thread by definition: measured once, shown in both tables.
    if [[ $competitor == floor && $workers != 1 ]]; then
      if [[ -s $results/tasks_floor_1.json ]]; then reports+=("$results/tasks_floor_1.json"); fi
      continue
    fi
    report=$results/tasks_${competitor}_$workers.json
    echo "== tasks: $competitor, $workers worker(s)"
    if "$program" --workers "$workers" --json "$report" >"${report%.json}.log" 2>&1; then
      reports+=("$report")
    else
      tail -n 20 "${report%.json}.log"
      rm -f "$report"
      failed=1
    fi
  done
  if [[ ${#reports[@]} -gt 0 ]]; then
    python3 tools/bench_table.py "${reports[@]}" | tee "$results/tasks_$workers.txt" || failed=1
  fi
done

for program in "$build"/bin/bench_*; do
  name=${program##*/bench_}
  if [[ $name == tasks_* || ! -x $program ]]; then continue; fi
  launch=()
  case $name in
    osu_mpi)
      # Open MPI refuses more ranks than cores and the administrator, unless it is told.
      launch=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n 2) ;;
    osu_starling*) launch=("$build/bin/starling" launch -n 2 --) ;;
  esac
  echo "== $name"
  "${launch[@]}" "$program" --json "$results/$name.json" || failed=1
done
echo "bench: reports in $results"
exit $failed
