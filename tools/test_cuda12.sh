#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles everything with CUDA 12.4, the oldest toolkit that is accepted. On a machine with a GPU,
# the tests that need one can then run from the build folder.
#   tools/test_cuda12.sh BUILD_FOLDER
# CUDA12=FOLDER: an existing toolkit; by default that of Debian 13 is unpacked into .cuda-12.4
# (downloads 1 GB, installs nothing, needs apt-get)
# JOBS=N: the number of compilers at once
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?tools/test_cuda12.sh BUILD_FOLDER}
toolkit=${CUDA12:-$PWD/.cuda-12.4}

# download FOLDER PACKAGE...: with a separate apt configuration that has Debian 13 as its only
# source.
download() {
  local folder=$1 packages=("${@:2}") apt
  mkdir -p "$folder"/{lists,archives}/partial
  echo "deb [arch=amd64] http://deb.debian.org/debian trixie main contrib non-free" >"$folder/sources.list"
  : >"$folder/status"
  apt=(apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$folder/lists" -o Dir::State::status="$folder/status"
    -o Dir::Cache="$folder" -o APT::Architecture=amd64 -o APT::Architectures=amd64
    -o APT::Sandbox::User=root)
  "${apt[@]}" update >"$folder/log" 2>&1 && (cd "$folder/archives" && "${apt[@]}" download "${packages[@]}") \
    >>"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; return 1; }
}

# lay_out FROM TO: copies the toolkit, which Debian spreads over /usr, into NVIDIA's folder layout.
lay_out() {
  local from=$1 to=$2
  mkdir -p "$to"/{bin,lib64,nvvm/bin}
  cp -a "$from"/usr/lib/nvidia-cuda-toolkit/bin/{nvcc,crt} \
    "$from"/usr/bin/{cudafe++,fatbinary,nvlink,ptxas,bin2c,cuobjdump,nvdisasm} "$to/bin/"
  cp -a "$from"/usr/lib/nvidia-cuda-toolkit/bin/cicc "$to/nvvm/bin/"
  cp -a "$from"/usr/lib/nvidia-cuda-toolkit/libdevice "$to/nvvm/"
  cp -a "$from"/usr/include "$to/include"
  cp -a "$from"/usr/lib/x86_64-linux-gnu/{libcudart*,libcudadevrt.a,stubs} "$to/lib64/"
  cat >"$to/bin/nvcc.profile" <<'PROFILE'
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64/stubs" "-L$(TOP)/lib64"
PROFILE
}

fetch_toolkit() {
  local package
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
    echo "test-cuda12: no apt-get here: name a toolkit, CUDA12=/usr/local/cuda-12.4" >&2
    exit 1
  }
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo "test-cuda12: fetching CUDA 12.4 of Debian 13"
  download "$work" nvidia-cuda-toolkit nvidia-cuda-dev libcudart12 libcu++-dev libcub-dev libthrust-dev
  for package in "$work"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work" --wildcards --exclude='*/libcu[bfs]*' \
      --exclude='*/libcurand*' --exclude='*/libnpp*' --exclude='*/libnv*'
    rm "$package"
  done
  rm -rf "$toolkit.part"
  lay_out "$work" "$toolkit.part"
  mv "$toolkit.part" "$toolkit"
}

if [[ ! -x $toolkit/bin/nvcc ]]; then
  if [[ -n ${CUDA12:-} ]]; then
    echo "test-cuda12: there is no $toolkit/bin/nvcc: CUDA12 names the folder of a toolkit" >&2
    exit 1
  fi
  fetch_toolkit
fi
"$toolkit/bin/nvcc" --version | grep release

cmake --preset cuda -B "$build" -DSTARLING_CHECK_HEADERS=ON -DCMAKE_CUDA_COMPILER="$toolkit/bin/nvcc" \
  -DCUDAToolkit_ROOT="$toolkit" -DCMAKE_CUDA_ARCHITECTURES=90 -DSTARLING_SYCL=OFF
cmake --build "$build" -j "${JOBS:-$(nproc)}"
echo "test-cuda12: all is compiled with CUDA 12"
