#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, and says first what that is.
#   tools/deps.sh [run|test|dev|docs]...   run: build and run; test: also the tests and benchmarks;
#                                          dev: also style and names; docs: the manual
#   tools/deps.sh --list [set]...          only prints the package names
# Where nothing can be installed, .deps/ (make offline-deps) stands in for the libraries: then only
# compilers, make, CMake, Ninja and Python must be there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages_run=(g++ make cmake ninja-build libhwloc-dev libhdf5-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev python3 python3-venv)
packages_test=(ccache git libgtest-dev libgmock-dev libtbb-dev libtrilinos-kokkos-dev)
packages_dev=(clang-format-14 clang-tidy)
packages_docs=(doxygen graphviz)

list_only=no
if [[ ${1:-} == --list ]]; then
  list_only=yes
  shift
fi
sets=("$@")
[[ ${#sets[@]} -gt 0 ]] || sets=(run test dev)

wanted=()
for set in "${sets[@]}"; do
  case $set in
    run) wanted+=("${packages_run[@]}") ;;
    test) wanted+=("${packages_test[@]}") ;;
    dev) wanted+=("${packages_dev[@]}") ;;
    docs) wanted+=("${packages_docs[@]}") ;;
    *) echo "deps: unknown set '$set' (run, test, dev or docs)" >&2; exit 2 ;;
  esac
done
if [[ $list_only == yes ]]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

offline=no
[[ -e .deps/complete ]] && offline=yes

# Returns 1 where it cannot install, after saying so.
install_packages() {
  local root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "deps: missing: $*" >&2
      echo "deps: neither root nor sudo: ask an administrator to run" >&2
      echo "        apt-get install $*" >&2
      return 1
    fi
    root=(sudo)
    # With .deps/ there is another way: no reason to ask for a password.
    [[ $offline == no ]] || root+=(-n)
  fi
  echo "deps: installing $*"
  "${root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
      install --no-install-recommends "$@" >/dev/null
}

require_tools() {
  local missing=() tool
  for tool in c++ make cmake ninja python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  if [[ ${#missing[@]} -gt 0 ]]; then
    echo "deps: .deps/ holds the libraries, but these programs are missing: ${missing[*]}" >&2
    exit 1
  fi
}

missing=()
if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  for package in "${wanted[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "deps: all ${#wanted[@]} packages are installed"
  elif ! install_packages "${missing[@]}"; then
    [[ $offline == yes ]] || exit 1
    require_tools
    echo "deps: going on with the libraries in .deps/"
  fi
elif [[ $offline == yes ]]; then
  require_tools
  echo "deps: no apt-get here; the libraries in .deps/ are used"
else
  echo "deps: no apt-get here. Install your system's names for these:"
  printf '        %s\n' "${wanted[@]}"
fi

# Python tools: the system's interpreter when it has them, else an environment in .venv.
requirements=apps/sedov/verify/requirements.txt
imports='import numpy, matplotlib'
if [[ " ${sets[*]} " == *" test "* ]]; then
  requirements=apps/sedov/verify/requirements-dev.txt
  imports+=', pytest, yt'
fi
for python in .venv/bin/python3 python3; do
  if command -v "$python" >/dev/null && "$python" -c "$imports" 2>/dev/null; then
    echo "deps: Python tools found ($python)"
    exit 0
  fi
done
install_python() {
  [[ -x .venv/bin/python3 ]] || python3 -m venv .venv || return
  .venv/bin/python3 -m pip install -q --disable-pip-version-check -r "$requirements"
}
echo "deps: installing the Python tools of $requirements into .venv"
if ! install_python; then
  [[ $offline == yes ]] || exit 1
  echo "deps: no Python tools: checks and pictures that need them are left out" >&2
fi
