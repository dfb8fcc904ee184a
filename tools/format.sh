#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks (default) or rewrites (--write) the style of all C++ and CUDA sources.
set -euo pipefail
cd "$(dirname "$0")/.."

# The project uses version 14; other versions format slightly differently.
tool=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $tool ]]; then
  echo "format: clang-format-14 not found (make deps)" >&2
  exit 1
fi
version=$("$tool" --version | sed -E 's/.*version ([0-9]+).*/\1/')
[[ $version == 14 ]] || echo "format: warning: clang-format $version, the project uses 14" >&2

folders=()
for folder in include src apps examples benchmarks tests python; do
  [[ -d $folder ]] && folders+=("$folder")
done
mapfile -d '' files < <(find "${folders[@]}" -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z)
if [[ ${1:-} == --write ]]; then
  "$tool" -i "${files[@]}"
  echo "format: ${#files[@]} files written"
elif "$tool" --dry-run -Werror --ferror-limit=3 "${files[@]}"; then
  echo "format: ${#files[@]} files, all in style"
else
  echo "format: run 'make format'" >&2
  exit 1
fi
