#!/usr/bin/env bash
# The package on a bare Debian 12: makes such a root by debootstrap, installs berth's .deb with apt and its
# dependencies, and runs the main job there. Needs root, Debian's packages and a minute or two; exits with 77 if they
# are not available. Without a second argument a new root is made and removed.
#   tests/install/bare_root.sh BUILD_DIR [ROOT]
set -euo pipefail
build=$1
work=$(mktemp -d)
root=${2:-$work/root}
trap 'umount "$root/proc" 2> /dev/null || true; rm -rf "$work"' EXIT
fail() { echo "bare_root: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "only root can make a root"
command -v debootstrap > /dev/null || skip "debootstrap is not installed; apt-get install debootstrap"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
[ -x "$root/usr/bin/dpkg" ] ||
  timeout 240 debootstrap --variant=minbase bookworm "$root" $mirror > "$work/debootstrap.log" 2>&1 ||
  { tail -n 3 "$work/debootstrap.log"; skip "debootstrap could not make a root"; }

cpack --config "$build/CPackConfig.cmake" -B "$work/packages" > "$work/cpack.log" 2>&1 ||
  { tail -n 20 "$work/cpack.log"; fail "cpack failed"; }
cp "$work"/packages/berth_*.deb "$root/tmp/berth.deb"
# Names are looked up as this machine does.
cp /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null || true
mount -t proc proc "$root/proc" 2> /dev/null || true
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/nonexistent \
  DEBIAN_FRONTEND=noninteractive "$@"; }

inside timeout 120 apt-get update -q > "$work/apt.log" 2>&1 ||
  { tail -n 3 "$work/apt.log"; skip "no package lists in the new root"; }
if ! inside timeout 200 apt-get install -y -q --no-install-recommends /tmp/berth.deb > "$work/apt.log" 2>&1; then
  tail -n 20 "$work/apt.log"
  grep -qE 'Failed to fetch|Could not resolve|Temporary failure|Could not connect' "$work/apt.log" &&
    skip "Debian's packages cannot be fetched"
  fail "the package does not install"
fi
inside berth run --list | grep '^quickstart ' > /dev/null || fail "berth run --list does not name quickstart"
inside berth run quickstart --label smoke --quiet > "$work/run.log" 2>&1 ||
  { cat "$work/run.log"; fail "berth run quickstart failed"; }
grep -q 'placed .*(100.00 %)' "$work/run.log" ||
  { cat "$work/run.log"; fail "berth run quickstart did not place everything"; }
[ -e "$root/usr/share/man/man1/berth-run.1" ] || fail "there is no man page"
inside apt-get remove -y -q berth > "$work/apt.log" 2>&1 || fail "the package does not go"
[ ! -e "$root/usr/share/berth" ] || fail "removing the package leaves /usr/share/berth"
echo "bare_root: the package installs, runs and is removed on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' "$root/etc/os-release")"
