#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the README's commands as a new user has them: in a Debian root that debootstrap has just made,
# as root and then as an ordinary user who can install nothing.
#   tools/test_fresh.sh [TARGET]...    make's targets, `sedov test` by default; needs root and a network
# FRESH_ROOT=FOLDER: where the root is made (default: a new folder of /var/tmp, removed at the end)
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
chmod 755 "$root"  # the user looks into it, too
# Nothing of this machine may be reached through a mount when the root is removed.
end() {
  umount -q "$root/proc" "$root/dev/shm" || true
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
mkdir -p "$root/dev/shm"
mountpoint -q "$root/dev/shm" || mount -t tmpfs tmpfs "$root/dev/shm"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
# What this machine needs to reach a network through, if anything.
for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf; do
  if [[ -e $file ]]; then cp -L "$file" "$root$file"; fi
done

# try USER FOLDER TARGET...: each target in a clone of its own.
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
