#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, and says first what that is.
#   tools/deps.sh [run|test|sycl|dev|docs]...   run: build and run; test: also the tests and
#                                               benchmarks, with SYCL where it can be had;
#                                               sycl: Intel's SYCL runtime, for the SYCL backend;
#                                               dev: also style and names; docs: the manual
#   tools/deps.sh --list [set]...               only prints the package names
# Where nothing can be installed, .deps/ (make offline-deps) stands in for the libraries: then only
# compilers, make, CMake, Ninja and Python must be there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages_run=(g++ make cmake ninja-build libhwloc-dev libhdf5-dev libfmt-dev libcli11-dev
  libpmix-dev nlohmann-json3-dev libucx-dev python3 python3-venv)
packages_test=(ccache git libgtest-dev libgmock-dev libcereal-dev libtbb-dev libstarpu-dev
  libtrilinos-kokkos-dev openmpi-bin libopenmpi-dev ucx-utils)
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
    sycl) ;;
    dev) wanted+=("${packages_dev[@]}") ;;
    docs) wanted+=("${packages_docs[@]}") ;;
    *) echo "deps: unknown set '$set' (run, test, sycl, dev or docs)" >&2; exit 2 ;;
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
find_python() {
  local python
  for python in .venv/bin/python3 python3; do
    if command -v "$python" >/dev/null && "$python" -c "$imports" 2>/dev/null; then
      echo "deps: Python tools found ($python)"
      return
    fi
  done
  return 1
}
# What the system's interpreter has, the environment has too: CMake and make prefer it.
make_environment() {
  [[ -x .venv/bin/python3 ]] || python3 -m venv --system-site-packages .venv
}
install_python() {
  make_environment || return
  .venv/bin/python3 -m pip install -q --disable-pip-version-check -r "$requirements"
}
if ! find_python; then
  echo "deps: installing the Python tools of $requirements into .venv"
  if ! install_python; then
    [[ $offline == yes ]] || exit 1
    echo "deps: no Python tools: checks and pictures that need them are left out" >&2
  fi
fi

# The SYCL runtime and its driver for processors come as Python wheels: libraries and headers in
# .venv, nothing of the system is touched. SYCL_ROOT names another one, which CMake takes instead.
install_sycl() {
  if [[ -n ${SYCL_ROOT:-} ]]; then
    if [[ -e $SYCL_ROOT/lib/libsycl.so ]]; then
      echo "deps: SYCL runtime found (SYCL_ROOT, $SYCL_ROOT)"
      return
    fi
    echo "deps: SYCL_ROOT is $SYCL_ROOT, which has no lib/libsycl.so: correct or unset it" >&2
    return 1
  fi
  if [[ -e .venv/lib/libsycl.so && -e .venv/lib/libintelocl.so ]]; then
    echo "deps: SYCL runtime found (.venv)"
    return
  fi
  if [[ $HOSTTYPE != x86_64 ]]; then
    echo "deps: Intel's SYCL runtime exists for x86-64 only" >&2
    return 1
  fi
  echo "deps: installing the SYCL runtime of tools/requirements-sycl.txt into .venv (400 MB)"
  make_environment || return
  .venv/bin/python3 -m pip install -q --disable-pip-version-check -r tools/requirements-sycl.txt
}
if [[ " ${sets[*]} " == *" sycl "* ]]; then
  install_sycl || exit 1
elif [[ " ${sets[*]} " == *" test "* ]]; then
  install_sycl || echo "deps: no SYCL runtime: the SYCL backend and its tests are left out" >&2
fi
