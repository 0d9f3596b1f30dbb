#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make series-check: twheel as a series of patches for the newest kernel at hand. git am
# takes it, checkpatch --strict finds nothing, and MAINTAINERS covers its files. It and its
# selftests build without a warning, and its pages are reStructuredText. SERIES= names
# another kernel. The last line is "N passed, N failed".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 0 ] || die "usage: series.sh"
series=${SERIES:-7.2}
refuse_unknown "kernel SERIES" "$series" "${SOURCE_SERIES[@]}"
need git gcc make bc flex bison libelf-dev libssl-dev xz-utils perl python3 python3-docutils \
	python3-ply
lock_cache
kernel_source "$series"
work=$CACHE/series
tree=$work/tree
home=drivers/misc/twheel
rm -rf "$work/patches" "$tree"
mkdir -p "$work"
: > "$work/log"

made() {
	"$ROOT/tools/packaging/series.sh" "$work/patches" "$source_folder" &&
		[ "$(find "$work/patches" -name '000[1-9]-*.patch' | wc -l)" = 6 ]
}
not_twice() {
	! "$ROOT/tools/packaging/series.sh" "$work/patches" "$source_folder"
}
not_a_kernel() {
	! "$ROOT/tools/packaging/series.sh" "$work/nothing" "$ROOT"
}
cover_letter() {
	grep -q '^Subject: \[PATCH 0/6\] misc: twheel, ' "$work"/patches/0000-*.patch &&
		grep -q 'What timer_list lacks' "$work"/patches/0000-*.patch &&
		! grep -q '\*\*\*' "$work"/patches/0000-*.patch
}
# git am replaces the files that it changes. Git has to know only those.
applies() {
	link_tree "$source_folder" "$tree" && cd "$tree" && git init -q . &&
		git config user.name twheel && git config user.email twheel@localhost &&
		sed -n 's|^diff --git a/.* b/||p' "$work"/patches/000[1-9]-*.patch | sort -u |
		while read -r file; do
			[ ! -e "$file" ] || git add -f "$file" || return
		done && git commit -qm before && git am -q "$work"/patches/000[1-9]-*.patch &&
		! grep TWHEEL "$source_folder"/drivers/misc/{Kconfig,Makefile}
}
# Each patch adds its files: the lines of a finding are those of the tree in the end. What
# an exception covers has its reason there.
checkpatch() {
	local patch map=$work/map status

	rm -rf "$map"
	mkdir -p "$map/tools/test" "$map/tools/testing"
	ln -s "$tree/$home/module" "$tree/$home/kunit" "$tree/include" "$tree/Documentation" \
		"$tree/drivers" "$tree/MAINTAINERS" "$map/"
	ln -s "$tree/tools/testing/selftests/twheel" "$map/tools/test/device"
	ln -s "$tree/tools/testing/selftests" "$map/tools/testing/selftests"
	for patch in "$work"/patches/000[1-9]-*.patch; do
		status=0
		(cd "$tree" && perl scripts/checkpatch.pl --strict --terse --show-types \
			--showfile "$patch") > "$work/findings" || status=$?
		# Where it finds nothing it prints nothing. Without this line it has not run.
		[ "$status" = 0 ] || grep -q ' lines checked$' "$work/findings" || return
		sed -i "s|^$home/||; s|^tools/testing/selftests/twheel/|tools/test/device/|" \
			"$work/findings"
		grep -v "^total: " "$work/findings" > "$work/left" || :
		(cd "$map" && python3 "$ROOT/tools/style/judge.py" "$ROOT/tools/style/exceptions" some) \
			< "$work/left" || return
		# What is said of the patch itself, and not of a line of a file.
		! grep -v '^[^:]*\.[ch]:[0-9]*: ' "$work/left" || return
	done
}
# One file of each folder: the script takes a second.
maintained() {
	local file me

	me=$(git -C "$ROOT" var GIT_AUTHOR_IDENT)
	cd "$tree" && sed -n 's|^diff --git a/.* b/||p' "$work"/patches/000[1-9]-*.patch |
		awk '/twheel/ { folder = $0; sub("/[^/]*$", "", folder) }
			/twheel/ && !seen[folder]++' | while read -r file; do
		perl scripts/get_maintainer.pl --no-git --no-rolestats --no-tree -f "$file" |
			grep -qF "${me%> *}>" || { echo "$file has no maintainer"; return 1; }
	done
}
builds() {
	local folder=$work/built-in

	build_small "$tree" "$folder" "$home/" CONFIG_64BIT=y CONFIG_EXPERT=y CONFIG_PRINTK=y \
		CONFIG_FTRACE=y CONFIG_IO_URING=y CONFIG_SMP=y CONFIG_KUNIT=y CONFIG_TWHEEL=y \
		CONFIG_TWHEEL_KUNIT_TEST=y CONFIG_TWHEEL_KUNIT_SMP_TEST=y &&
		[ -e "$folder/$home/module/dev/cells.o" ] && [ -e "$folder/$home/kunit/main_smp.o" ]
}
selftests() {
	rm -rf "$work/selftests"
	mkdir "$work/selftests"
	make -C "$tree" O="$work/built-in" headers > "$work/headers.log" 2>&1 &&
		make -C "$tree/tools/testing/selftests/twheel" OUTPUT="$work/selftests" \
			KHDR_INCLUDES="-isystem $work/built-in/usr/include" USERCFLAGS=-Werror \
			top_srcdir="$tree" || return
	[ "$(find "$work/selftests" -name '*_test' | wc -l)" = 9 ] &&
		# There is no device here.
		"$work/selftests/op_test" > "$work/skipped"
	[ $? = 4 ] && grep -q '^1..0 # SKIP' "$work/skipped"
}
# Each page, without what kernel-doc puts in; and what that takes from.
pages() {
	local page file

	for page in driver-api userspace-api; do
		page=$tree/Documentation/$page/twheel.rst
		python3 - "$page" <<-'END' || return
			import sys
			from docutils.core import publish_doctree
			from docutils.parsers.rst import Directive, directives

			class KernelDoc(Directive):
			    required_arguments = 1
			    option_spec = {"export": directives.flag, "identifiers": directives.unchanged}
			    def run(self):
			        return []

			directives.register_directive("kernel-doc", KernelDoc)
			publish_doctree(open(sys.argv[1]).read(), sys.argv[1],
			                settings_overrides={"halt_level": 2})
		END
		sed -n 's/^\.\. kernel-doc:: //p' "$page" | while read -r file; do
			"$tree/scripts/kernel-doc" -none -Werror "$tree/$file" || return
			! grep -A 1 ":: $file" "$page" | grep -q :export: ||
				"$tree/scripts/kernel-doc" -rst -export "$tree/$file" |
				grep 'c:function::' > "$work/functions" || { echo "$file documents nothing"; return 1; }
		done || return
	done
	grep -qx '   twheel' "$tree/Documentation/driver-api/index.rst" &&
		grep -qx '   twheel' "$tree/Documentation/userspace-api/index.rst"
}

say "twheel as a series for Linux $series; everything is kept in $CACHE"
check "the series is made" made
check "a folder that has one is refused" not_twice
check "what is no kernel is refused" not_a_kernel
check "it has a cover letter" cover_letter
check "git am takes it" applies
check "MAINTAINERS has its files" maintained
check "it builds into a kernel, W=1" builds
check "its selftests build, and skip without the device" selftests
check "its pages can be read" pages
check "checkpatch --strict has nothing to say" checkpatch
[ "$failed" = 0 ] || say "the log: $work/log"
say "the patches: $work/patches"
verdict
