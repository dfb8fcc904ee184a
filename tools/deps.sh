#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, and says first what that is.
#   tools/deps.sh [run|dev|docs]...   run: build and run; dev: tests, format, benchmarks; docs
#   tools/deps.sh --list [set]...     only prints the package names
set -euo pipefail
cd "$(dirname "$0")/.."

packages_run=(g++ make cmake ninja-build libhwloc-dev libhdf5-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev python3 python3-venv)
packages_dev=(ccache git libgtest-dev libgmock-dev libbenchmark-dev libtbb-dev clang-format-14
  clang-tidy)
packages_docs=(doxygen graphviz)

list_only=no
if [[ ${1:-} == --list ]]; then
  list_only=yes
  shift
fi
sets=("$@")
[[ ${#sets[@]} -gt 0 ]] || sets=(run dev)

wanted=()
for set in "${sets[@]}"; do
  case $set in
    run) wanted+=("${packages_run[@]}") ;;
    dev) wanted+=("${packages_dev[@]}") ;;
    docs) wanted+=("${packages_docs[@]}") ;;
    *) echo "deps: unknown set '$set' (run, dev or docs)" >&2; exit 2 ;;
  esac
done
if [[ $list_only == yes ]]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

install_packages() {
  local missing=() package
  for package in "${wanted[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "deps: all ${#wanted[@]} packages are installed"
    return
  fi
  local root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "deps: missing: ${missing[*]}" >&2
      echo "deps: neither root nor sudo: ask an administrator to run" >&2
      echo "        apt-get install ${missing[*]}" >&2
      exit 1
    fi
    root=(sudo)
  fi
  echo "deps: installing ${missing[*]}"
  "${root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
    install --no-install-recommends "${missing[@]}" >/dev/null
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_packages
else
  echo "deps: no apt-get here. Install your system's names for these:"
  printf '        %s\n' "${wanted[@]}"
fi

# Python tools: the system's interpreter when it has them, else an environment in .venv.
requirements=apps/sedov/verify/requirements.txt
imports='import numpy, matplotlib'
if [[ " ${sets[*]} " == *" dev "* ]]; then
  requirements=apps/sedov/verify/requirements-dev.txt
  imports+=', pytest, yt'
fi
for python in .venv/bin/python3 python3; do
  if command -v "$python" >/dev/null && "$python" -c "$imports" 2>/dev/null; then
    echo "deps: Python tools found ($python)"
    exit 0
  fi
done
echo "deps: installing the Python tools of $requirements into .venv"
[[ -x .venv/bin/python3 ]] || python3 -m venv .venv
.venv/bin/python3 -m pip install -q --disable-pip-version-check -r "$requirements"
