#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the README's commands as a new user would: in a Debian root that debootstrap has just
# created, as root and then as an ordinary user without the right to install packages.
#   tools/test_fresh.sh [TARGET]...    targets of make, `sedov test` by default; needs root, network
# FRESH_ROOT=FOLDER: where the root is created (default: a new folder of /var/tmp, which is removed)
# FRESH_SUITE=NAME: Debian's release, bookworm by default
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(sedov test)
suite=${FRESH_SUITE:-bookworm}

if [[ $(id -u) -ne 0 ]]; then
  echo "test-fresh: only root can make a Debian root (debootstrap, chroot): run it with sudo" >&2
  exit 1
fi
if ! command -v debootstrap >/dev/null; then
  echo "test-fresh: installing debootstrap"
  apt-get -qq update && apt-get -qq -y install --no-install-recommends debootstrap >/dev/null
fi

root=${FRESH_ROOT:-$(mktemp -d /var/tmp/starling-fresh.XXXXXX)}
mkdir -p "$root"
chmod 755 "$root"  # the ordinary user needs access, too
# Unmounts before removing the root, so that no folder of this machine is removed through a mount.
end() {
  umount -q "$root/proc" "$root/sys" "$root/dev/shm" || true
  if [[ -z ${FRESH_ROOT:-} ]] && ! mountpoint -q "$root/proc"; then rm -rf "$root"; fi
}
trap end EXIT

if [[ ! -e $root/etc/debian_version ]]; then
  echo "test-fresh: debootstrap $suite into $root"
  debootstrap --variant=minbase --include=make,ca-certificates "$suite" "$root" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log"
    exit 1
  }
  rm -f "$root.log"
fi
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
# hwloc reads the topology there, UCX the network interfaces.
mountpoint -q "$root/sys" || mount -t sysfs -o ro sysfs "$root/sys"
mkdir -p "$root/dev/shm"
mountpoint -q "$root/dev/shm" || mount -t tmpfs tmpfs "$root/dev/shm"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
# The files that this machine needs for access to the network, if any.
for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf; do
  if [[ -e $file ]]; then cp -L "$file" "$root$file"; fi
done

# try USER FOLDER TARGET...: makes each target in a new clone.
try() {
  local user=$1 home=$2 target
  shift 2
  for target in "$@"; do
    rm -rf "$root$home/starling"
    git clone -q --no-hardlinks . "$root$home/starling"
    chroot "$root" chown -R "$user" "$home/starling"
    echo "== $user: make $target"
    chroot "$root" su - "$user" -c "cd $home/starling && make $target" || {
      echo "test-fresh: make $target failed for $user" >&2
      exit 1
    }
  done
}

try root /root "${targets[@]}"
chroot "$root" id guest >/dev/null 2>&1 || chroot "$root" useradd -m guest
try guest /home/guest "${targets[@]}"
echo "test-fresh: passed: ${targets[*]}, as root and as a user"
