#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Downloads a few Debian packages and unpacks them into .deps/, for a machine that can build but
# cannot install (a cluster, a container without network). Run it on a machine with network access
# and copy .deps/ along with the sources. CMake searches .deps/ last.
set -euo pipefail
cd "$(dirname "$0")/.."

# The libraries include those that UCX needs between processes of one host. libpmix-dev is left out:
# PMIx loads components from the folder it was installed into and must match the launcher of the
# machine, which has its own PMIx. `starling launch` needs none.
headers=(libcli11-dev nlohmann-json3-dev libxxhash-dev libconcurrentqueue-dev libcereal-dev)
libraries=(libucx-dev libucx0 libnuma1 libhwloc-dev libhwloc15 libudev1 libfmt-dev libgtest-dev libgmock-dev)

command -v apt-get >/dev/null && command -v dpkg >/dev/null || {
  echo "offline-deps: needs apt-get and dpkg (Debian or Ubuntu)" >&2
  exit 1
}

# fmt's library is in a package of its own, whose name contains the version.
libraries+=($(apt-cache depends libfmt-dev | sed -nE 's/^ *Depends: (libfmt[0-9a-z]+)$/\1/p'))

if [[ ${1:-} != --force && -f .deps/complete && $(<.deps/complete) == "${headers[*]} ${libraries[*]}" ]]; then
  echo "offline-deps: .deps is there already (--force downloads again)"
  exit 0
fi
rm -rf .deps
mkdir -p .deps/archives
echo "offline-deps: downloading ${headers[*]} ${libraries[*]}"
(cd .deps/archives && apt-get -qq -o APT::Sandbox::User=root download "${headers[@]}" "${libraries[@]}")
for archive in .deps/archives/*.deb; do
  dpkg -x "$archive" .deps
done
# Keeps only headers, libraries and package files.
rm -rf .deps/archives .deps/usr/share/doc .deps/usr/share/man .deps/usr/share/lintian
# Some releases of Debian install libudev under /lib.
if [[ -d .deps/lib && ! -L .deps/lib ]]; then
  mkdir -p .deps/usr/lib
  cp -a .deps/lib/. .deps/usr/lib/
  rm -rf .deps/lib
fi
echo "${headers[*]} ${libraries[*]}" >.deps/complete
echo "offline-deps: $(du -sh .deps | cut -f1) in .deps"
