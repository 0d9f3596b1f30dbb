#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make rpm: build the packages of the RPM spec, and look at what is in them. They stay in
# the cache; the last line is "N passed, N failed".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 0 ] || die "usage: rpm.sh"
need git rpm gcc make python3 cpio
lock_cache
work=$CACHE/rpm
rm -rf "$work"
mkdir -p "$work"/{SOURCES,root}
version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
spec=$ROOT/tools/packaging/rpm/twheel.spec

# Debian's rpm knows no package of this machine: what is needed to build is there.
build() {
	git -C "$ROOT" ls-files -co --exclude-standard -z |
		tar -C "$ROOT" --null -T - --transform "s|^|twheel-$version/|" \
		-czf "$work/SOURCES/twheel-$version.tar.gz" &&
		rpmbuild -ba --nodeps --define "_topdir $work" "$spec"
}

# has PACKAGE FILE...: the package has these, and its scripts none that it lacks
has() {
	local rpm file

	rpm=$(echo "$work"/RPMS/*/"$1-$version"-*.rpm)
	shift
	rpm -qpl "$rpm" > "$SCRATCH/files"
	for file; do
		grep -qE "^$file$" "$SCRATCH/files" || { echo "$rpm has no $file"; return 1; }
	done
	rpm2cpio "$rpm" | (cd "$work/root" && cpio -idm --quiet)
}

# What is in the packages fits together: a program builds and runs with it.
program_builds() {
	local usr=$work/root/usr library

	library=$(find "$usr" -name 'libtwheel.so' -printf '%h\n')
	printf '%s\n' '#include <twheel_device.h>' 'int main(void)' \
		'{ return twheel_device_cancel(-1, 1) != -EBADF; }' > "$work/program.c"
	gcc -I"$usr/include" -o "$work/program" "$work/program.c" -L"$library" -ltwheel &&
		LD_LIBRARY_PATH=$library "$work/program" &&
		LD_LIBRARY_PATH=$library "$usr/bin/twheel" --version | grep "$version"
}

dkms_has_sources() {
	local sources=$work/root/usr/src/twheel-$version path

	for path in Kbuild Makefile dkms.conf module include/linux/twheel.h \
		tools/packaging/dkms/keep-symvers; do
		[ -e "$sources/$path" ] || { echo "no $path"; return 1; }
	done
	[ -z "$(find "$sources" -name '*.o')" ]
}

check "rpmbuild takes the spec" build
check "twheel-dkms" has twheel-dkms /usr/src/twheel /usr/lib/udev/rules.d/60-twheel.rules \
	/usr/lib/sysusers.d/twheel.conf '/usr/share/man/man4/twheel.4.*' \
	'/usr/share/man/man7/twheel_cells.7.*'
check "libtwheel" has libtwheel '/usr/lib.*/libtwheel.so.1'
check "libtwheel-devel" has libtwheel-devel /usr/include/twheel_device.h \
	/usr/include/twheel_policy.h \
	/usr/include/twheel_guard.h \
	/usr/include/twheel/uv.h '/usr/lib.*/pkgconfig/libtwheel.pc' \
	'/usr/lib.*/cmake/twheel/twheelConfig.cmake' '/usr/share/man/man3/libtwheel.3.*'
check "python3-twheel" has python3-twheel '/usr/lib/python3.*/site-packages/twheel.py'
check "twheel-tools" has twheel-tools /usr/bin/twheel \
	/usr/share/fish/vendor_completions.d/twheel.fish /usr/share/zsh/site-functions/_twheel \
	/usr/share/twheel/bpftrace/lateness.bt \
	'/usr/share/man/man1/twheel.1.*'
check "twheel-doc" has twheel-doc /usr/share/doc/twheel-doc/README.md \
	/usr/share/doc/twheel-doc/tools/doc/design.md \
	/usr/share/doc/twheel-doc/tools/doc/pictures/wheel.svg
check "a program builds with them" program_builds
check "DKMS gets the sources" dkms_has_sources
say "the packages: $work/RPMS; the log: $work/log"
verdict
