#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make packages: build the Debian packages, have lintian judge them, and try them. They are
# tried in a Debian root, where DKMS builds the module at the speed of this machine. A guest
# then boots that root with Debian's own kernel. The packages stay in the cache. Needs root, for
# debootstrap. The last line is "N passed, N failed".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

next=99.0.0

say "building Debian packages of twheel, and trying them; all is kept in $CACHE"
need git cpio dpkg-dev fakeroot debhelper dh-dkms dh-python python3 liburing-dev lintian e2fsprogs \
	qemu-system-x86 linux-headers-amd64 mandoc
clean=$("$ROOT/tools/test/vm/root.sh" systemd-sysv udev initramfs-tools \
	linux-image-amd64 linux-headers-amd64 dkms gcc libc6-dev make pkgconf \
	liburing2 linux-perf trace-cmd bpftrace python3 pahole zstd)
lock_cache
work=$CACHE/packages
rm -rf "$work"
mkdir -p "$work"

# copy FOLDER: copy the tree there: all files in git, and new ones that git does not ignore
copy() {
	mkdir -p "$1"
	git -C "$ROOT" ls-files -co --exclude-standard -z |
		(cd "$ROOT" && cpio -0pdm --quiet "$1")
}

# inside COMMAND...: run it in the root, without a network, and end all that it leaves
inside() {
	patient "$work/log" unshare --mount --pid --net --fork \
		--kill-child sh -c 'mount -t proc proc "$0/proc" &&
			exec chroot "$0" env -i HOME=/root LC_ALL=C \
			DEBIAN_FRONTEND=noninteractive PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			"$@"' "$root" "$@"
}

# One version in all places: each of them, when it alone is changed, is noticed.
odd_versions_are_seen() {
	local file

	copy "$work/odd" || return
	# As of a release.
	sed -i "s/^## Unreleased$/## $version - 2026-01-01/" "$work/odd/CHANGELOG.md"
	for file in Makefile module/main.c dkms.conf debian/changelog CHANGELOG.md \
		tools/packaging/rpm/twheel.spec tools/python/twheel.py README.md; do
		cp "$work/odd/$file" "$SCRATCH/kept"
		sed -i "s/$version/$version.1/" "$work/odd/$file"
		! "$work/odd/tools/packaging/version.sh" || return
		cp "$SCRATCH/kept" "$work/odd/$file"
	done
	"$work/odd/tools/packaging/version.sh"
}

version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
check "all places state version $version" "$ROOT/tools/packaging/version.sh"
check "a place that states another is noticed" odd_versions_are_seen

# build FOLDER [VERSION]: into FOLDER
build() {
	copy "$1/twheel"
	[ $# = 1 ] || "$1/twheel/tools/packaging/version.sh" "$2"
	run_logged "$1/log" "building the packages" \
		env -C "$1/twheel" dpkg-buildpackage -us -uc
}
build "$work/$version"
build "$work/$next" "$next"
# No overrides. These tags do not apply. The library calls no function that could be fortified.
# A first version closes no bug. Debian 12 does not know the newest standards. A distribution has
# a maintainer of its own: this one has no address, so each version looks like another's upload.
tags=(hardening-no-fortify-functions initial-upload-closes-no-bugs newer-standards-version
	malformed-contact bogus-mail-host-in-debian-changelog no-nmu-in-changelog
	source-nmu-has-incorrect-version-number)
check "lintian has no error and no warning" lintian --fail-on error,warning --allow-root \
	--suppress-tags "$(IFS=,; echo "${tags[*]}")" "$work/$version"/*.changes

say "installing them in a Debian root"
root=$work/root
cp -a --reflink=auto "$clean" "$root"
mkdir -p "$root/twheel/try"
cp "$work"/{"$version","$next"}/*.deb "$root/twheel/"
rm -f "$root"/twheel/*-dbgsym*
cp "$ROOT/tools/test/vm/guest/packages.sh" "$root/twheel/guest.sh"
mkdir "$root/twheel/next"
mv "$root"/twheel/*"_${next}_"* "$root/twheel/next/"
# A module and a program as the documents say that they are made.
"$ROOT/tools/test/vm/six_lines.sh" "$root/twheel/try"
release=$(basename "$root"/lib/modules/*)
# A second kernel, for later.
suite bookworm-backports
package=$(suite_depends linux-headers-amd64 | grep -o '^linux-headers-[^ ]*')
later=${package#linux-headers-}
mapfile -t parts < <(suite_depends "$package" | grep -oE 'linux-(headers|kbuild)-[^ ,]*')
mkdir "$root/twheel/later"
suite_fetch "$root/twheel/later" "$package" "${parts[@]}" \
	"linux-image-$later"

# All files of the system, without the logs and state of apt, dpkg and DKMS, and without
# the copies that are made before groups change.
inventory() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./twheel \
		-o -path ./var/log -o -path ./var/cache -o -path ./var/lib/dpkg \
		-o -path ./var/lib/apt -o -path ./tmp -o -name 'g*-' -path './etc/*' \) \
		-prune -o -print | sort)
}
# installed VERSION RELEASE...: that version, for these kernels and for no other
installed() {
	local version=$1 kernel

	shift
	[ "$(inside dpkg-query -W -f '${Version}' twheel-dkms)" = "$version" ] || return
	for kernel; do
		inside dkms status twheel/"$version" -k "$kernel" | grep installed &&
			[ "$(inside modinfo -k "$kernel" -F version twheel)" = "$version" ] &&
			inside modinfo -k "$kernel" -F vermagic twheel | grep "^$kernel " ||
			return
	done
	[ "$(find "$root/lib/modules" -name 'twheel.ko*' | wc -l)" = $# ]
}
no_module_left() {
	! grep -l twheel "$root"/lib/modules/*/modules.* &&
		[ -z "$(find "$root"/lib/modules "$root"/var/lib/dkms "$root"/usr/src \
			-name '*twheel*')" ] && [ -z "$(inside dkms status)" ]
}
nothing_left() {
	inventory > "$work/after"
	diff "$work/before" "$work/after" && no_module_left
}
packages=(twheel-dkms twheel-tools libtwheel1 libtwheel-dev python3-twheel twheel-doc)

inventory > "$work/before"
check "they install, with no network" inside sh -c \
	'apt-get -qy install /twheel/*.deb'
check "DKMS has built and installed version $version" installed "$version" "$release"
check "a module of six lines of Makefile builds" inside \
	make -C /twheel/try/module "KDIR=/lib/modules/$release/build"
check "the examples of the package build" inside \
	make -C "/lib/modules/$release/build" \
	M=/usr/share/doc/twheel-dkms/examples modules
rm -f "$root"/usr/share/doc/twheel-dkms/examples/{*.o,*.ko,*.mod*,.*.cmd,Module.*,modules.*,sessions_*.c}
check "a program builds with what pkg-config says" inside \
	make -C /twheel/try/program
# has_documents: each is there, and finds the others and the pictures; dh renames the changes
has_documents() {
	local documents=$root/usr/share/doc/twheel-doc path

	[ -e "$documents/changelog.gz" ] || return
	(cd "$ROOT" && ls README.md SECURITY.md tools/doc/*.md tools/doc/pictures/*.svg) | while read -r path; do
		cmp "$ROOT/$path" "$documents/$path" || return
	done
}
check "the documents are there" has_documents
check "Python finds its module" inside python3 -Bc \
	'import asyncio, twheel
async def main():
    ended = asyncio.get_running_loop().create_future()
    twheel.Timeouts().call_later(0, ended.set_result, None)
    await asyncio.wait_for(ended, 60)
asyncio.run(main())'
check "the example in Python" inside python3 -B \
	/usr/share/doc/python3-twheel/examples/idle_server.py --test
# The guest takes it from here.
image=$work/image
before_guest() {
	truncate -s 4G "$image" && mke2fs -q -F -t ext4 -d "$root" "$image"
}
check "it goes on a disk" before_guest
check "an upgrade to version $next" inside sh -c \
	'apt-get -qy install /twheel/next/*.deb'
check "DKMS has replaced the module" installed "$next" "$release"
check "removal" inside apt-get -qy remove "${packages[@]}"
check "purge" inside dpkg --purge "${packages[@]}"
check "nothing is left" nothing_left

# Two kernels, and a module that names the one that it is for.
six_lines_for() {
	inside sh -euc 'cd /twheel/try/module
		make clean "KDIR=/lib/modules/$0/build"
		make "KDIR=/lib/modules/$0/build"
		modinfo -F vermagic six_lines.ko | grep "^$0 "
		make clean "KDIR=/lib/modules/$0/build"' "$1"
}
check "they install again" inside sh -c 'apt-get -qy install /twheel/*.deb'
check "Linux $later is installed beside it" inside sh -c \
	'apt-get -qy --no-install-recommends install /twheel/later/*.deb'
check "DKMS has built the module for it, too" installed "$version" "$release" "$later"
check "purge, two kernels" inside dpkg --purge "${packages[@]}"
check "neither has a module left" no_module_left
check "they install where two kernels are" inside sh -c 'apt-get -qy install /twheel/*.deb'
check "DKMS has built and installed it for both" installed "$version" "$release" "$later"
check "the six lines for Linux $release" six_lines_for "$release"
check "the six lines for Linux $later" six_lines_for "$later"
# DKMS builds for the newest only, if the kernel that runs is none of the root's.
check "an upgrade to version $next, two kernels" inside sh -euc \
	'apt-get -qy install /twheel/next/*.deb; dkms autoinstall -k "$0"' "$release"
check "DKMS has replaced both" installed "$next" "$release" "$later"
check "removal, two kernels" inside apt-get -qy remove "${packages[@]}"
check "purge after that" inside dpkg --purge "${packages[@]}"
check "no module is left" no_module_left
# From source, as the README says; as if the kernel had KUnit, whose tests nobody wants here.
from_source() {
	inside sh -euc 'cd /twheel/source
		make "KDIR=$0" CONFIG_KUNIT=m && make tools
		make install tools_install "KDIR=$0" CONFIG_KUNIT=m
		systemd-sysusers && getent group twheel' \
		"/lib/modules/$release/build" &&
		[ -z "$(find "$root/lib/modules" -name 'twheel_kunit*')" ]
}
found() {
	inside sh -euc 'modprobe -n -S "$0" twheel
		twheel --version
		make -C /twheel/try/program clean all && ldd /twheel/try/program/library |
			grep "libtwheel.so.1 => /usr/local"' "$release"
}
uninstalled() {
	inside make -C /twheel/source uninstall tools_uninstall "KDIR=/lib/modules/$release/build" &&
		[ -z "$(find "$root/usr/local" "$root/lib/modules" -name '*twheel*')" ] &&
		! grep -l twheel "$root"/lib/modules/*/modules.*
}
not_built() {
	! inside make -C /twheel/try/module "KDIR=/lib/modules/$release/build" \
		> "$SCRATCH/out" 2>&1 &&
		grep "twheel is not built for Linux $release" "$SCRATCH/out"
}
copy "$root/twheel/source"
sed -i 's|/usr/src/twheel|/twheel/source|' "$root/twheel/try/module/Makefile"
check "the six lines with a tree that was not built say what to do" not_built
check "make install, make tools_install" from_source
check "what they have installed is found" found
check "the six lines with the tree that was built" inside \
	make -C /twheel/try/module "KDIR=/lib/modules/$release/build"
check "make uninstall, make tools_uninstall" uninstalled

say "booting what was installed, Linux $release"
start=$SECONDS
"$ROOT/tools/test/vm/boot.sh" --kernel "$clean/boot/vmlinuz-$release" \
	--initrd "$clean/boot/initrd.img-$release" --disk "$image" \
	--console "$work/console" --results "$work/results" \
	--append "root=/dev/vda rw oops=panic panic_on_warn=1 $PATIENT_WORDS systemd.show_status=0 \
		systemd.run=/twheel/guest.sh systemd.run_success_action=reboot-force \
		systemd.run_failure_action=reboot-force" || :
tr -d '\r' < "$work/results" > "$SCRATCH/results"
while read -r verdict what; do
	case $verdict in
	ok | FAIL) check "guest: $what" [ "$verdict" = ok ] ;;
	esac
done < "$SCRATCH/results"
check "the guest came to its end, in $((SECONDS - start)) s" \
	grep -qx complete "$SCRATCH/results"
[ "$failed" = 0 ] || say "the logs: $work/log, $work/console"
rm -rf "$root" "$image" "$work/odd"
say "the packages: $work/$version/*.deb"
verdict
