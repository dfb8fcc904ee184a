#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that only a machine with a GPU can do: builds with the cuda preset and runs the tests that
# need a device, compute-sanitizer, the GPU benchmarks and the Sedov application in both placements,
# compared bit by bit with the host (needs Python with numpy).
#   tools/gpu_check.sh [stage]...   stages: build tests memcheck racecheck bench sedov levels jacobi3d
#                                   jacobi2d resident ranks osu
#   (default: all)
#   and quick: the device tests as whole programs, in a fraction of the time of `tests`;
#   figures: the published experiment
# Writes logs and reports to $OUT (default ./gpu_results) and prints a table at the end. Needs no
# network: libraries that the system lacks are taken from .deps/ (make offline-deps).
set -uo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-gpu_results}
build=${BUILD:-build/cuda}
jobs=${JOBS:-$(nproc)}
mkdir -p "$out"
stages=("$@")
[[ ${#stages[@]} -gt 0 ]] || stages=(build tests memcheck racecheck bench sedov levels jacobi3d jacobi2d resident ranks osu)
# Libraries in .deps/ depend on other libraries in .deps/.
offline=$PWD/.deps/usr/lib/$(uname -m)-linux-gnu
[[ -d $offline ]] && export LD_LIBRARY_PATH=$offline${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
python=python3
[[ -x .venv/bin/python3 ]] && python=.venv/bin/python3
rows=()
failed=0

# run <name> <limit in s> <command>...: writes the output to $out/<name>.log and the verdict to the
# table. With MUST, a line of the output has to match it, since a filter may match no test.
run() {
  local name=$1 limit=$2 began=$SECONDS code note=""
  shift 2
  timeout --kill-after=10 "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  [[ $code -ne 0 ]] || grep -qE "${MUST:-}" "$out/$name.log" || code=1
  case $code in
    0) verdict=ok ;;
    124 | 137) verdict="no end after $limit s"; failed=1 ;;
    *) verdict="failed ($code)"; failed=1 ;;
  esac
  note=$(grep -hE "${NOTE:-^$}" "$out/$name.log" | tail -n 1 | cut -c 1-70)
  rows+=("$(printf '%-28s %5d s  %-22s %s' "$name" $((SECONDS - began)) "$verdict" "$note")")
  echo "${rows[-1]}"
  if [[ $code -ne 0 ]]; then
    grep -A 8 ': Failure$' "$out/$name.log" | head -n 60  # the failures that GoogleTest reports
    tail -n 25 "$out/$name.log"
  fi
  return $code
}

stage_build() {
  # Benchmarks of libraries that this machine lacks are left out by CMake.
  NOTE='CUDA: ' run configure 60 cmake --preset cuda -B "$build" -DSTARLING_BUILD_EXAMPLES=ON \
    ${CONFIGURE:-} &&
    NOTE='^\[' run build 300 cmake --build "$build" -j "$jobs" --target ${TARGETS:-all}
}

stage_quick() {
  local program
  for program in contract gpu stars_app jacobi3d_app jacobi2d_app; do
    MUST='^\[=+\] [1-9]' NOTE='PASSED|FAILED' run "quick-$program" 120 "$build/bin/test_$program" \
      --gtest_brief=1 --gtest_filter='*cuda*'
  done
}

stage_tests() {
  NOTE='tests passed|tests failed' run tests 300 ctest --test-dir "$build" --output-on-failure \
    -j "$jobs" -L '^(device|contract|gpu|stars_app|jacobi3d_app|jacobi2d_app|objects|example)$' --no-tests=error
}

# sanitizer <tool> <limit>: runs the device tests, one program at a time, under compute-sanitizer.
sanitizer() {
  local tool=$1 limit=$2 program
  for program in ${PROGRAMS:-contract gpu stars_app jacobi3d_app jacobi2d_app}; do
    [[ -x $build/bin/test_$program ]] || continue
    MUST='^\[=+\] [1-9]' NOTE='ERROR SUMMARY|RACECHECK SUMMARY' run "$tool-$program" "$limit" \
      compute-sanitizer --tool "$tool" --error-exitcode 99 "${@:3}" \
      "$build/bin/test_$program" --gtest_brief=1 --gtest_filter="${SANITIZE_FILTER:-*}"
  done
}

# Leaves out tests that provoke device errors on purpose, which are named *fault*: they would be
# reported.
stage_memcheck() {
  SANITIZE_FILTER=${SANITIZE_FILTER:-'*cuda*:-*fault*'} sanitizer memcheck 120 --leak-check no \
    --report-api-errors no
}

# Also leaves out tests that expect progress within a tenth of a second (stall_query), repeated
# blast waves, and resident schedulers (see stage_resident); of the contract suite it runs only
# tests in which threads of a block share memory.
stage_racecheck() {
  local blast='*cuda*bits_of_a_blast/resident*:*cuda*one_point_on_a_face/resident:*cuda*blast/aggregated:*level_kernels*/cuda'
  local sharing='*group*/cuda*:*scratch*/cuda*:*reduc*/cuda*'
  SANITIZE_FILTER=${SANITIZE_FILTER:-"*cuda*:-*fault*:*stall_query*:*jacobi2d_resident*"} \
    PROGRAMS="gpu jacobi3d_app jacobi2d_app" sanitizer racecheck 240
  SANITIZE_FILTER="$sharing:-*fault*:*stall_query*" PROGRAMS=contract sanitizer racecheck 200
  SANITIZE_FILTER=$blast PROGRAMS=stars_app sanitizer racecheck 200
}

# The benchmarks that no later stage runs; those that measure the host alone are left out.
stage_bench() {
  local name
  # Some settings only: all of them take minutes.
  local -A some=([completion_starling]="--threads 1,4,16 --streams 1,16,128 --repetitions 2")
  for name in completion_starling aggregation_starling overlap_plain_cuda; do
    # shellcheck disable=SC2086 # several words
    NOTE='ok$|WRONG' run "bench-$name" 90 "$build/bin/bench_$name" ${some[$name]:-} --json "$out/$name.json"
  done
}

stage_sedov() {
  local way
  local -A ways=([staged]="--residency staged --streams 64 --aggregate 1"
    [aggregated]="--residency staged"
    [resident]="--residency resident" [graph]="--residency resident --graph step"
    [one-point]="--residency resident --graph step --quadrature centre")
  for way in staged aggregated resident graph one-point; do
    # shellcheck disable=SC2086 # several words
    NOTE='[0-9] ms|step_ms' run "sedov-$way" 60 "$build/bin/stars" --problem blast --level 3 \
      --steps 15 ${ways[$way]} --starling-backend cuda --output "$out/sedov-$way"
  done
  # Host and CUDA, staged and resident, must give the same bits; 23 040 launches of each kernel in
  # 15 steps.
  NOTE='FAILED|launches_.*flux' run sedov-bits-launches 200 "$python" -B \
    apps/stars/verify/suite.py "$build/bin/stars" --backend cuda --only placements \
    --only launches --output "$out/sedov-verification"
}

# Checks that the reports of <program>-<kind>… have one checksum, or one value of the configuration
# <key>: the decomposition must not change it.
one_checksum() {
  # shellcheck disable=SC2016
  NOTE='checksum' run "$1-$2-checksums" 20 "$python" -c '
import json, sys
key, *files = sys.argv[1:]
found = {json.load(open(f))["config"][key] for f in files}
print("checksum:", *found)
assert len(found) == 1' "${3:-checksum}" "$out/$1-$2"*.json
}

# The blast on a mesh that follows it, in sub-grids of 8³ and 16³ cells: the same bits on the host
# and on the GPU, in all placements, on 1, 2, 4 and 8 ranks; then the rate beside that of a uniform
# mesh, with GPUS above 1 also on all GPUs; then restarts of files of the host on the GPU, and jobs of
# which ranks are killed (needs pytest).
stage_levels() {
  local edge way level job="$build/bin/starling launch -n" launch="$build/bin/starling launch -n 2"
  local common="$build/bin/stars --problem blast --no-plots --no-restart-file"
  local cuda="--backend cuda" host="--backend host" two="--workers 2"
  for edge in 8 16; do
    level=$((edge == 8 ? 5 : 4))
    local small="--sub-grid $edge --level $level --min-level $((level - 4)) --steps 60"
    local -A ways=([host]="$common $host --residency resident" [resident]="$common $cuda --residency resident"
      [plain]="$common $cuda --residency resident --kernels plain"
      [graphs]="$common $cuda --residency resident --graph step" [staged]="$common $cuda --residency staged"
      [ranks]="$launch $common $cuda $two --residency resident"
      [ranks-even]="$launch $common $cuda $two --residency resident --balance none"
      [ranks-staged]="$launch $common $cuda $two --residency staged"
      [ranks-4-staged]="$job 4 $common $cuda $two --residency staged"
      [ranks-8]="$job 8 $common $cuda $two --residency resident")
    for way in host resident plain graphs staged ranks ranks-even ranks-staged ranks-4-staged ranks-8; do
      # shellcheck disable=SC2086 # several words
      NOTE='cell_updates_per_s' run "levels-bits$edge-$way" 100 ${ways[$way]} $small \
        --output "$out/levels" --json "$out/levels-bits$edge-$way.json"
    done
    one_checksum levels "bits$edge" state_fnv1a
    local -A meshes=([uniform-128]="--level $((level - 1)) --steps 60"
      [follows-256]="--level $level --min-level $((level - 3)) --steps 400"
      [follows-512]="--level $((level + 1)) --min-level $((level - 3)) --steps 400")
    for way in uniform-128 follows-256 follows-512; do
      # shellcheck disable=SC2086
      NOTE='cell_updates_per_s' run "levels-rate$edge-$way" 100 $common $cuda --residency resident \
        --sub-grid "$edge" ${meshes[$way]} --output "$out/levels" --json "$out/levels-rate$edge-$way.json"
    done
  done
  NOTE='passed|failed' run levels-kill 200 env "STARS=$build/bin/stars" "STARLING=$build/bin/starling" \
    STARS_BACKEND=cuda "$python" -B -m pytest -q -p no:cacheprovider apps/stars/tests/kill
  [[ ${GPUS:-1} -gt 1 ]] || return 0
  for way in none time; do
    # shellcheck disable=SC2086
    NOTE='cell_updates_per_s' run "levels-rate8-follows-512-$way-gpus" 100 "$build/bin/starling" launch \
      -n "$GPUS" $common $cuda $two --residency resident --level 6 --min-level 2 --steps 400 --balance "$way" --output "$out/levels" \
      --json "$out/levels-rate8-follows-512-$way-gpus.json"
  done
}

# Jacobi3D on a small grid, where launches dominate, and on the largest that fits into memory, where
# bandwidth does; compared with a hand-written program and the kernel alone. GPUS: the number of
# GPUs.
stage_jacobi3d() {
  local way gpus=${GPUS:-1}
  local small="--grid 192 192 192 --iterations 2000 --warmup 300" large="--grid 1536 1536 1536 --iterations 30"
  local -A ways=([small]="$small" [small-odf8]="$small --odf 8"
    [small-odf8-graphs]="$small --odf 8 --graphs" [small-odf8-C]="$small --odf 8 --fusion C"
    [small-odf8-C-graphs]="$small --odf 8 --fusion C --graphs"
    [small-overlap]="$small --overlap --fusion B" [large-overlap]="$large --overlap"
    [large-staged-overlap]="$large --exchange staged --overlap"
    [bits-overlap]="--grid 160 160 160 --iterations 20 --problem random --verify --odf 4 --overlap"
    [large]="$large" [large-odf4]="$large --odf 4" [large-odf16]="$large --odf 16"
    [large-staged]="$large --odf 4 --exchange staged"
    [large-synchronous]="$large --odf 4 --exchange staged --wait synchronous"
    [bits]="--grid 160 160 160 --iterations 20 --problem random --verify"
    [bits-C-graphs]="--grid 160 160 160 --iterations 20 --problem random --verify --fusion C --graphs")
  for way in bits bits-C-graphs bits-overlap small small-overlap small-odf8 small-odf8-graphs small-odf8-C small-odf8-C-graphs \
    large large-odf4 large-odf16 large-overlap large-staged large-staged-overlap large-synchronous; do
    # shellcheck disable=SC2086 # several words
    NOTE='iteration_ms' run "jacobi3d-$way" 100 "$build/bin/jacobi3d" --backend cuda \
      --workers "$gpus" --devices "$gpus" ${ways[$way]} --json "$out/jacobi3d-$way.json"
  done
  # Kernels and copies, with times measured on the device.
  run jacobi3d-traced 100 "$build/bin/jacobi3d" --backend cuda --workers "$gpus" --devices "$gpus" \
    --grid 768 768 768 --iterations 20 --odf 4 --exchange staged --trace "$out/timeline.json" &&
    NOTE='^CUDA device 0' run timeline 60 "$python" tools/timeline.py "$out/timeline.json"
  one_checksum jacobi3d small
  one_checksum jacobi3d large
  for way in "$small" "$large" "$large --overlap" "$large --exchange staged"; do
    # shellcheck disable=SC2086
    NOTE='^step' run "by-hand${way//[^a-z0-9]/}" 100 "$build/bin/bench_overlap_plain_cuda" \
      --gpus "$gpus" $way --repetitions 3
  done
  # shellcheck disable=SC2086
  NOTE='^step' run kernel-alone 100 "$build/bin/bench_overlap_stream" --backend cuda $large \
    --repetitions 3
}

stage_jacobi2d() {
  local way gpus=${GPUS:-1} grid="--grid 8192 8192 --iterations 1000 --warmup 100"
  local -A ways=([rows]="$grid" [rows-odf8]="$grid --odf 8" [rows-odf8-graphs]="$grid --odf 8 --graphs"
    [rows-odf8-staged]="$grid --odf 8 --exchange staged"
    [rows-resident]="$grid --resident asynchronous"
    [rows-resident-synchronous]="$grid --resident synchronous"
    [rows-resident-odf2]="$grid --resident asynchronous --odf 2"
    [rows-resident-two]="$grid --resident asynchronous --schedulers 264 --scheduler-threads 320")
  for way in rows rows-odf8 rows-odf8-graphs rows-odf8-staged rows-resident \
    rows-resident-synchronous rows-resident-odf2 rows-resident-two; do
    # shellcheck disable=SC2086 # several words
    NOTE='iteration_ms' run "jacobi2d-$way" 100 "$build/bin/jacobi2d" --backend cuda \
      --workers "$gpus" --devices "$gpus" ${ways[$way]} --json "$out/jacobi2d-$way.json"
  done
  # The hand-written programs, which also measure the update alone; on one GPU and on all given
  # GPUs.
  local count program
  for program in plain_cuda nvshmem; do
    [[ -x $build/bin/bench_jacobi2d_$program ]] || { echo "jacobi2d: no bench_jacobi2d_$program was built"; continue; }
    for count in 1 $([[ $gpus -eq 1 ]] || echo "$gpus"); do
      # First a small problem, which checks the bits of rows received from other GPUs; then the full
      # grid.
      NOTE='ok$|WRONG' run "by-hand-$program-bits-$count" 100 "$build/bin/bench_jacobi2d_$program" \
        --gpus "$count" --grid 500 300 --problem random --iterations 60 --repetitions 1
      # shellcheck disable=SC2086
      NOTE='GB/s' run "by-hand-$program-$count" 100 "$build/bin/bench_jacobi2d_$program" \
        --gpus "$count" $grid --repetitions 3 --json "$out/jacobi2d-rows-$program-$count.json"
      run "by-hand-$program-wrong-$count" 100 sh -c '"$@"; test $? -eq 3' sh \
        "$build/bin/bench_jacobi2d_$program" --gpus "$count" --grid 500 300 --iterations 60 \
        --repetitions 1 --warmups 0 --only step --break-answer step
    done
  done
  one_checksum jacobi2d rows
}

# Schedulers that run on the GPU: their tests, also under compute-sanitizer (racecheck is slow where
# threads share much), their machine code, and the cost of messages.
stage_resident() {
  local program="$build/bin/test_resident --gtest_brief=1" tool filter
  # Without tests of kernels beside schedulers, which the tools may serialise.
  local -A filters=([memcheck]='*/gpu:*/gpu_with_warps:-*beside*' [synccheck]='*/gpu*:-*beside*')
  # shellcheck disable=SC2086 # several words
  MUST='^\[=+\] [1-9]' NOTE='PASSED|FAILED' run resident-tests 120 $program --gtest_filter='*gpu*:-*beside*'
  # In a run of its own, because it would hang if schedulers and streams waited for each other.
  # shellcheck disable=SC2086
  MUST='^\[=+\] [1-9]' NOTE='PASSED|FAILED' run resident-beside 60 $program --gtest_filter='*beside*gpu*'
  # The same protocol between ranks that reach each other by NVSHMEM only.
  if [[ -x $build/bin/test_resident_nvshmem ]]; then
    MUST='^\[=+\] [1-9]' NOTE='PASSED|FAILED' run resident-nvshmem 120 env NVSHMEM_REMOTE_TRANSPORT=none \
      "$build/bin/test_resident_nvshmem" --gtest_brief=1 --gtest_filter='*nvshmem*:-*beside*'
  else
    echo 'resident: no test_resident_nvshmem was built'
  fi
  # No racecheck: it supports barriers only, and receiver warps synchronise by acquire and release.
  for tool in memcheck synccheck; do
    # shellcheck disable=SC2086
    MUST='^\[=+\] [1-9]' NOTE='SUMMARY' run "resident-$tool" 150 compute-sanitizer --tool "$tool" --error-exitcode 99 \
      $program --gtest_filter="${filters[$tool]}"
  done
  NOTE='schedulers' run resident-sass 200 tools/check_sass.sh \
    "$build"/tests/CMakeFiles/test_resident.dir/resident/{programs,wide_programs}.cu.o
  NOTE='ok$|WRONG' run bench-resident 120 "$build/bin/bench_resident_starling" --place device \
    --devices "${GPUS:-1}" --json "$out/resident.json"
  # As many schedulers as fit: MANY, by default seven on each of 132 multiprocessors.
  MUST='reached' NOTE='ns, goal' run bench-resident-many 60 "$build/bin/bench_resident_starling" --place device \
    --devices "${GPUS:-1}" --threads 32 --schedulers "${MANY:-924}" --only to_all --json "$out/resident-many.json"
  # Many messages, of which none may be lost, with one credit and with the usual number. STORM and
  # STORM_OF_ONE are the numbers of messages.
  local some="--place device --devices ${GPUS:-1} --repetitions 1 --warmups 0"
  # shellcheck disable=SC2086
  NOTE='messages/s|WRONG' run resident-storm 100 "$build/bin/bench_resident_storm_starling" $some \
    --only usual_rings --messages "${STORM:-100000000}" --json "$out/resident-storm.json"
  # shellcheck disable=SC2086
  NOTE='messages/s|WRONG' run resident-storm-of-one 100 "$build/bin/bench_resident_storm_starling" $some \
    --only credits_of_one --messages "${STORM_OF_ONE:-10000000}" --json "$out/resident-storm-of-one.json"
  # The same trees, searched by chares and by kernels that the host launches.
  NOTE='ok$|WRONG' run bench-tree-search 120 "$build/bin/bench_tree_search_starling" --place device \
    --devices "${GPUS:-1}" --json "$out/tree-search.json"
  NOTE='ok$|WRONG' run bench-tree-search-cuda 120 "$build/bin/bench_tree_search_plain_cuda" \
    --json "$out/tree-search-cuda.json"
}

# Several processes, each with its share of the GPUs or all on one GPU: channels between their
# devices, and Jacobi3D and Sedov unchanged; with GPUS above 1 also device memory that migrates,
# within a process and between two.
stage_ranks() {
  local way place launch="$build/bin/starling launch -n ${RANKS:-2}" gpus=${GPUS:-1}
  local migration="$build/bin/bench_device_migration_starling --backend cuda"
  if [[ $gpus -gt 1 ]]; then
    # shellcheck disable=SC2086 # several words
    NOTE='share' run migration-process 100 $migration --workers "$gpus" --starling-devices "$gpus" \
      --json "$out/device_migration-process.json"
    # shellcheck disable=SC2086
    NOTE='share' run migration-ranks 100 $launch $migration --workers 1 --starling-spin 1000 \
      --json "$out/device_migration-ranks.json"
  fi
  local small="--grid 192 192 192 --iterations 2000 --warmup 300"
  local bits="--grid 160 160 160 --iterations 20 --problem random --verify"
  local large="--grid 1536 1536 ${LARGE:-768} --iterations 30 --warmup 10"
  local -A ways=([bits]="$bits" [bits-overlap]="$bits --odf 4 --overlap" [bits-graphs]="$bits --graphs"
    [bits-staged]="$bits --exchange staged" [small]="$small" [small-overlap]="$small --overlap --fusion B"
    [small-graphs]="$small --graphs" [large]="$large" [large-overlap]="$large --overlap --fusion B"
    [large-odf2]="$large --odf 2" [large-odf4]="$large --odf 4" [large-staged]="$large --exchange staged")
  for way in map stage; do
    STARLING_PEER_MEMORY=$way NOTE='wrong' run "ranks-channels-$way" 60 $launch \
      "$build/bin/test_device_channel" --starling-backend cuda --starling-workers 1
  done
  for way in bits bits-overlap bits-graphs bits-staged small small-overlap small-graphs \
    large large-overlap large-odf2 large-odf4 large-staged; do
    # shellcheck disable=SC2086 # several words
    NOTE='iteration_ms' run "ranks-$way" 100 $launch "$build/bin/jacobi3d" --backend cuda \
      --workers 1 ${ways[$way]} --json "$out/ranks-$way.json"
    # The same within one process, and between processes by way of pinned memory.
    # shellcheck disable=SC2086
    NOTE='iteration_ms' run "process-$way" 100 "$build/bin/jacobi3d" --backend cuda \
      --workers "$gpus" --devices "$gpus" ${ways[$way]} --json "$out/ranks-$way-alone.json"
    # shellcheck disable=SC2086
    STARLING_PEER_MEMORY=stage NOTE='iteration_ms' run "ranks-$way-by-host" 100 $launch \
      "$build/bin/jacobi3d" --backend cuda --workers 1 ${ways[$way]} \
      --json "$out/ranks-$way-by-host.json"
  done
  for way in bits small large; do one_checksum ranks "$way"; done
  for way in bits_2 bits_4; do
    # shellcheck disable=SC2086
    for place in staged resident; do
      NOTE='state_fnv1a' run "ranks-sedov-$place-$way" 100 $build/bin/starling launch -n ${way#bits_} \
        "$build/bin/stars" --problem blast --level 3 --steps 5 --residency "$place" \
        --starling-backend cuda --starling-workers 2 --json "$out/sedov-$place-$way.json" --output "$out/s-$place-$way"
    done
  done
}

# The cost of moving device memory between two chares of two processes and of one, and between two
# devices without a runtime.
stage_osu() {
  # Enough messages that one late wake-up does not affect the time of a GPU.
  local way launch="$build/bin/starling launch -n 2" program="$build/bin/bench_osu_starling_channels"
  local often="--scale 5 --repetitions 3 --window-mib 4096" rarely="--scale 0.5 --repetitions 3" scale
  for way in channel borrow offer staging; do
    scale=$often
    [[ $way != staging ]] || scale=$rarely
    # shellcheck disable=SC2086
    NOTE='ok$|WRONG' run "osu-ranks-$way" 100 $launch "$program" --backend cuda --memory device \
      --by "$way" $scale --json "$out/osu-ranks-$way.json"
    # shellcheck disable=SC2086
    NOTE='ok$|WRONG' run "osu-process-$way" 100 "$program" --backend cuda --memory device --workers 2 \
      --by "$way" $scale --json "$out/osu-process-$way.json"
  done
  # shellcheck disable=SC2086
  NOTE='ok$|WRONG' run osu-plain 100 "$build/bin/bench_osu_plain_cuda" $often --json "$out/osu-plain.json"
}

# The published experiment. It takes minutes, so it is not among the default stages.
stage_figures() {
  NOTE='one state' run figures 500 "$python" -B benchmarks/figures/figures.py "$build/bin/stars" \
    --backend cuda --steps 10 --output "$out/figures"
}

{ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo "no nvidia-smi"
  nvcc --version | tail -n 1
  cmake --version | head -n 1
  c++ --version | head -n 1; } 2>&1 | tee "$out/machine.log"

for stage in "${stages[@]}"; do
  if [[ $(type -t "stage_$stage") != function ]]; then
    echo "gpu_check: no stage '$stage'" >&2
    exit 2
  fi
  "stage_$stage" || { [[ $stage != build ]] || break; }
done

printf '\n%-28s %7s  %-22s %s\n' stage time verdict note
printf '%s\n' "${rows[@]}"
exit $failed
