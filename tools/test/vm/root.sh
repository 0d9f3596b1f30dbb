#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# root.sh PACKAGE...: a folder with a Debian 12 system of the least size and these
# packages, which boots with the kernel it holds. It is made once for each list of
# packages, from the machine's own apt sources, and is not to be changed: copy it.
# Prints the folder.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

suite=bookworm
[ $# -ge 1 ] || die "usage: root.sh PACKAGE..."
need debootstrap util-linux
[ "$(id -u)" = 0 ] || die "a Debian root can only be made by root" \
	"run this as root, or in a container where you are"
lock_cache

hash=$(sha256sum <<< "$suite $*" | cut -c1-12)
root=$CACHE/root-$suite-$hash
if [ ! -e "$root.complete" ]; then
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' "Codename: $suite" 'Component: main' |
		head -n 1)
	[ -n "$mirror" ] || die "apt has no source for Debian $suite" \
		"add one, as the machine's other sources are, and apt-get update"
	rm -rf "$root"
	run_logged "$CACHE/root.log" "making a Debian root; minutes, cached then" \
		debootstrap --variant=minbase "$suite" "$root" "$mirror"
	# The apt of this machine, which knows its sources, works on the state of
	# the root; what dpkg runs, runs in there.
	mkdir -p "$root"/var/{lib/apt/lists,cache/apt/archives}/partial
	printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	apt=(apt-get -q -o APT::Sandbox::User=root -o "Dir::State=$root/var/lib/apt"
		-o "Dir::State::Status=$root/var/lib/dpkg/status"
		-o "Dir::Cache=$root/var/cache/apt"
		-o "DPkg::Chroot-Directory=$root" -o DPkg::Use-Pty=0)
	run_logged "$CACHE/root.log" "what there is for it" "${apt[@]}" update
	# shellcheck disable=SC2016
	run_logged "$CACHE/root.log" "installing $*" \
		env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		unshare --mount --pid --fork --kill-child sh -euc '
			mount -t proc proc "$0/proc"
			apt=$1; shift
			"$apt" "$@"' "$root" "${apt[@]}" -y \
			install --no-install-recommends "$@"
	rm "$root/usr/sbin/policy-rc.d" "$root"/var/cache/apt/archives/*.deb
	rm -rf "$root"/var/lib/apt/lists/* "$root"/etc/apt/sources.list
	touch "$root.complete"
fi
echo "$root"
