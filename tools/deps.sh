#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages, and prints their names first.
#   tools/deps.sh [run|test|sycl|dev|clang|docs]...
#       run: build and run; test: also the tests and benchmarks, with SYCL if it can be installed;
#       sycl: Intel's SYCL runtime, for the SYCL backend; dev: also style and names; clang: Clang 16
#       and 19 with their sanitizers; docs: the API reference and the site
#   tools/deps.sh --list [set]...               only prints the names of the packages
# CMake (tools/probe) and the shell determine the missing needs, so libraries of conda, Spack,
# modules or .deps/ (make offline-deps) count as well as packages of the system. Without the right
# to install, the build continues if only optional libraries are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# The possible needs and their packages. Columns: need; its program, `import:` and a Python module,
# or - for a library; whether the build requires it; Debian's packages; Fedora's packages.
needs_run='
c++          c++              required  g++                         gcc-c++
make         make             required  make                        make
cmake        cmake            required  cmake                       cmake
ninja        ninja            required  ninja-build                 ninja-build
python3      python3          required  python3                     python3
venv         import:ensurepip optional  python3-venv                python3
hwloc        -                required  libhwloc-dev                hwloc-devel
fmt          -                required  libfmt-dev                  fmt-devel
cli11        -                required  libcli11-dev                cli11-devel
json         -                required  nlohmann-json3-dev          json-devel
xxhash       -                required  libxxhash-dev               xxhash-devel
hdf5         -                optional  libhdf5-dev                 hdf5-devel
pmix         -                optional  libpmix-dev                 pmix-devel
ucx          -                optional  libucx-dev                  ucx-devel'
needs_test='
gtest        -                required  libgtest-dev,libgmock-dev   gtest-devel,gmock-devel
git          git              optional  git                         git
ccache       ccache           optional  ccache                      ccache
cereal       -                optional  libcereal-dev               cereal-devel
tbb          -                optional  libtbb-dev                  tbb-devel
starpu       -                optional  libstarpu-dev               -
kokkos       -                optional  libtrilinos-kokkos-dev      kokkos-devel
mpi          -                optional  openmpi-bin,libopenmpi-dev  openmpi-devel
ucx-tools    ucx_info         optional  ucx-utils                   ucx'
needs_dev='
clang-format clang-format-14  optional  clang-format-14             clang-tools-extra
clang-tidy   clang-tidy       optional  clang-tidy                  clang-tools-extra'
needs_clang='
clang-16     clang++-16       required  clang-16,libclang-rt-16-dev clang16,compiler-rt16
clang-19     clang++-19       required  clang-19,libclang-rt-19-dev clang19,compiler-rt19'
needs_docs='
python3      python3          required  python3                     python3
venv         import:ensurepip required  python3-venv                python3
doxygen      doxygen          required  doxygen                     doxygen
graphviz     dot              required  graphviz                    graphviz'

list_only=no
if [[ ${1:-} == --list ]]; then
  list_only=yes
  shift
fi
sets=("$@")
[[ ${#sets[@]} -gt 0 ]] || sets=(run test dev)

needs=''
for set in "${sets[@]}"; do
  case $set in
    run) needs+=$needs_run ;;
    test) needs+=$needs_test ;;
    sycl) ;;
    dev) needs+=$needs_dev ;;
    clang) needs+=$needs_clang ;;
    docs) needs+=$needs_docs ;;
    *) echo "deps: unknown set '$set' (run, test, sycl, dev, clang or docs)" >&2; exit 2 ;;
  esac
done

manager=none
if command -v apt-get >/dev/null; then
  manager=apt-get
elif command -v dnf >/dev/null; then
  manager=dnf
fi

# packages_of NEED...: prints their packages for this system's package manager, elsewhere Debian's.
packages_of() {
  local need program must debian fedora wanted=" $* "
  while read -r need program must debian fedora; do
    if [[ -z $need || $wanted != *" $need "* ]]; then continue; fi
    [[ $manager != dnf ]] || debian=$fedora
    if [[ $debian != - ]]; then printf '%s\n' ${debian//,/ }; fi
  done <<<"$needs"
}

all_needs() {
  local need rest
  while read -r need rest; do
    if [[ -n $need ]]; then echo "$need"; fi
  done <<<"$needs"
}

if [[ $list_only == yes ]]; then
  packages_of $(all_needs)
  exit 0
fi

# Succeeds if dpkg has all packages: then no further check is needed.
has_all_packages() {
  command -v dpkg-query >/dev/null || return
  local package
  for package in $(packages_of $(all_needs)); do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || return
  done
}

# Prints the libraries that CMake does not find, one a line; all of them without a compiler or
# CMake.
missing_libraries() {
  local folder need program rest with_tests=OFF
  if [[ " ${sets[*]} " == *" test "* ]]; then with_tests=ON; fi
  if folder=$(mktemp -d) && cmake -S tools/probe -B "$folder" -G Ninja -DTESTS=$with_tests \
    >"$folder/log" 2>&1; then
    sed -n 's/^missing: //p' "$folder/log"
  else
    while read -r need program rest; do
      if [[ $program == - ]]; then echo "$need"; fi
    done <<<"$needs"
  fi
  rm -rf "$folder"
}

find_missing() {
  local need program rest found
  missing=()
  found=" $(missing_libraries | tr '\n' ' ') "
  while read -r need program rest; do
    if [[ -z $need ]]; then continue; fi
    case $program in
      -) [[ $found != *" $need "* ]] || missing+=("$need") ;;
      import:*) python3 -c "import ${program#import:}" 2>/dev/null || missing+=("$need") ;;
      *) command -v "$program" >/dev/null || missing+=("$need") ;;
    esac
  done <<<"$needs"
}

# Prints the missing needs that the build requires.
required_of_missing() {
  local need program must rest
  while read -r need program must rest; do
    if [[ $must == required && " ${missing[*]} " == *" $need "* ]]; then printf '%s ' "$need"; fi
  done <<<"$needs"
}

offline=no
[[ -e .deps/complete ]] && offline=yes

# Prints the reason and returns 1 if it cannot install.
install_packages() {
  local root=()
  if [[ $manager == none ]]; then
    echo "deps: neither apt-get nor dnf here: install your system's packages of the same libraries" >&2
    return 1
  fi
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "deps: neither root nor sudo: ask an administrator to run" >&2
      echo "        $manager install $*" >&2
      return 1
    fi
    root=(sudo)
    # With .deps/ the build does not need the packages, so sudo must not prompt for a password.
    [[ $offline == no ]] || root+=(-n)
  fi
  echo "deps: installing $*"
  if [[ $manager == dnf ]]; then
    "${root[@]}" dnf -q -y install "$@" >/dev/null
  else
    "${root[@]}" apt-get -qq -o DPkg::Lock::Timeout=600 update &&
      "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
        install --no-install-recommends "$@" >/dev/null
  fi
}

# Reports the needs that could not be installed; exits with an error if the build requires one of
# them.
go_on_without() {
  find_missing
  local required
  required=$(required_of_missing)
  if [[ -n $required ]]; then
    echo "deps: these are missing, and Starling cannot be built without them: $required" >&2
    echo "deps: install them (packages: $(packages_of $required | tr '\n' ' ')), or name the folder" >&2
    echo "deps: where they are in CMAKE_PREFIX_PATH; make offline-deps elsewhere fills .deps/" >&2
    exit 1
  fi
  if [[ ${#missing[@]} -gt 0 ]]; then
    echo "deps: going on without ${missing[*]}: parts that need them are left out" >&2
  fi
}

if has_all_packages; then
  echo "deps: all packages are installed"
else
  find_missing
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "deps: nothing is missing"
  else
    echo "deps: missing: ${missing[*]}"
    install_packages $(packages_of "${missing[@]}") || go_on_without
  fi
fi

# Python tools: of the system's interpreter if it has them, else of an environment in .venv.
requirements=apps/stars/verify/requirements.txt
imports='import numpy, matplotlib'
if [[ " ${sets[*]} " == *" test "* ]]; then
  requirements=apps/stars/verify/requirements-dev.txt
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
# The environment includes the system's packages, because CMake and make prefer it to the system's
# Python.
make_environment() {
  [[ -x .venv/bin/python3 ]] || python3 -m venv --system-site-packages .venv
}
install_python() {
  make_environment || return
  .venv/bin/python3 -m pip install -q --disable-pip-version-check -r "$requirements"
}
if [[ ${sets[*]} != docs ]] && ! find_python; then
  echo "deps: installing the Python tools of $requirements into .venv"
  if ! install_python; then
    [[ $offline == yes ]] || exit 1
    echo "deps: no Python tools: checks and pictures that need them are left out" >&2
  fi
fi

# The SYCL runtime and its CPU driver are Python wheels: libraries and headers in .venv; no file of
# the system changes. SYCL_ROOT names another runtime, which CMake uses instead.
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

# The style of the API reference and the generator of the site are Python packages in .venv.
install_docs() {
  if .venv/bin/python3 -c 'import doxygen_awesome_css, material, mkdocs' 2>/dev/null; then
    echo "deps: generator of the site found (.venv)"
    return
  fi
  echo "deps: installing the generator of the site of tools/requirements-docs.txt into .venv"
  make_environment || return
  .venv/bin/python3 -m pip install -q --disable-pip-version-check -r tools/requirements-docs.txt
}
if [[ " ${sets[*]} " == *" docs "* ]]; then
  install_docs || exit 1
fi
