#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles tests for 64-bit ARM and runs them under qemu-user. Needs Debian, and root to install
# missing packages.
#   tools/test_aarch64.sh BUILD_FOLDER [GROUP]...    groups of tests, `core device contract objects`
#                                                    by default
# JOBS=N: the number of compilers and tests at once
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?tools/test_aarch64.sh BUILD_FOLDER [GROUP]...}
shift
groups=("$@")
[[ ${#groups[@]} -gt 0 ]] || groups=(core device contract objects)
jobs=${JOBS:-$(nproc)}

packages=(g++-aarch64-linux-gnu qemu-user libhwloc-dev:arm64 libfmt-dev:arm64 libgtest-dev:arm64
  libgmock-dev:arm64)
all_installed() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || return
  done
}
if ! all_installed; then
  if [[ $(id -u) -ne 0 ]]; then
    echo "test-aarch64: these are missing; a Debian's root installs them with" >&2
    echo "  dpkg --add-architecture arm64 && apt-get update && apt-get install ${packages[*]}" >&2
    exit 1
  fi
  echo "test-aarch64: installing ${packages[*]}"
  dpkg --add-architecture arm64
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "${packages[@]}" >/dev/null
fi

# Some tests start their own program again, so the kernel must be able to run its binaries with
# qemu.
binfmt=/proc/sys/fs/binfmt_misc
register_qemu() {
  [[ -e $binfmt/register ]] || mount -t binfmt_misc binfmt_misc "$binfmt"
  printf '%s' ':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$(command -v qemu-aarch64)"':' \
    >"$binfmt/register"
}
if [[ ! -e $binfmt/qemu-aarch64 ]] && ! register_qemu; then
  echo "test-aarch64: the kernel cannot be told of qemu-aarch64: install qemu-user-binfmt as root" >&2
  exit 1
fi

cmake --preset aarch64 -B "$build"
cmake --build "$build" -j "$jobs" --target "${groups[@]/#/test_}"
# The excluded test expects an empty stderr, but qemu reports the signal that ends the child there.
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error \
  -L "^($(tr ' ' '|' <<<"${groups[*]}"))\$" -LE '^(nightly|compiler)$' -E '^core\.sigquit_in_a_forked_child$'
