#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make intree-check: twheel in the tree of a kernel. It is put in and taken out again, built
# as part of the kernel and as a module of it, and tested by kunit.py. SERIES= is that of
# Debian's source package (6.1). It builds two small kernels and those of kunit.py: minutes the first time, cached
# then. The last line is "N passed, N failed".
# shellcheck disable=SC2094 # patient looks at the size of a log only
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

series=${SERIES:-6.1}
refuse_unknown "kernel SERIES" "$series" "${SOURCE_SERIES[@]}"

say "twheel in the tree of Linux $series; everything is kept in $CACHE"
need gcc make bc flex bison libelf-dev libssl-dev xz-utils perl python3 qemu-system-x86
lock_cache
kernel_source "$series"
work=$CACHE/intree-$source_version
tree=$work/source
mkdir -p "$work"
: > "$work/log"

[ -e "$tree/Makefile" ] || link_tree "$source_folder" "$tree"

lay() {
	"$ROOT/tools/packaging/intree.sh" "$tree"
}
state() {
	find "$tree" -newer "$work/laid" ! -type d
}
again() {
	touch "$work/laid"
	sleep 1
	lay && [ -z "$(state)" ] &&
		[ "$(grep -c twheel "$tree/drivers/misc/Kconfig")" = 1 ] &&
		[ "$(grep -c TWHEEL "$tree/drivers/misc/Makefile")" = 1 ]
}
out() {
	"$ROOT/tools/packaging/intree.sh" --remove "$tree" &&
		diff -rq "$source_folder" "$tree"
}
not_a_kernel() {
	! "$ROOT/tools/packaging/intree.sh" "$ROOT"
}
tests=(--kunitconfig "$tree/drivers/misc/twheel")
# kunit FOLDER MODULE ARCH OPTION...: no case fails. Each suite of MODULE has run, or has said
# that this kernel is not for it. kunit.py prints nothing while it builds a kernel, so make does
# that before.
kunit() {
	local folder=$1 module=$2 arch=$3 suite

	shift 3
	: > "$folder.log"
	{ "$tree/tools/testing/kunit/kunit.py" config --build_dir "$folder" \
		--arch "$arch" "${tests[@]}" "$@" &&
		patient "$folder.log" make -C "$tree" ARCH="$arch" O="$folder" \
			-j"$(nproc)" &&
		PYTHONUNBUFFERED=1 patient "$folder.log" \
			"$tree/tools/testing/kunit/kunit.py" run --timeout 86400 \
			--jobs "$(nproc)" --build_dir "$folder" --arch "$arch" "${tests[@]}" "$@"
	} > "$folder.log" 2>&1 || { tail -n 40 "$folder.log"; return 1; }
	tail -n 3 "$folder.log"
	for suite in $(suites "$module"); do
		grep -qE "\[(PASSED|SKIPPED)\] $suite\b" "$folder.log" || return 1
	done
}

check "it is laid into the tree" lay
check "laid again, nothing changes" again
check "it is taken out, and the tree is as it was" out
check "what is no kernel is refused" not_a_kernel
lay > /dev/null
check "built into the smallest kernel" build_small "$tree" "$work/tiny" '' CONFIG_TWHEEL=y
check "modules of a kernel, with its tests" build_small "$tree" "$work/modules" '' \
	CONFIG_64BIT=y CONFIG_EXPERT=y CONFIG_PRINTK=y CONFIG_KUNIT=y CONFIG_SMP=y \
	CONFIG_MODULES=y CONFIG_TWHEEL=m CONFIG_TWHEEL_KUNIT_TEST=m CONFIG_TWHEEL_KUNIT_SMP_TEST=m
# It has one CPU.
check "kunit.py, user-mode Linux" kunit "$work/um" twheel_kunit um
check "kunit.py, QEMU, 2 CPUs, with those on real clocks" kunit "$work/x86" \
	twheel_kunit_smp x86_64 --qemu_args "-smp 2 -m 2G" \
	--kconfig_add CONFIG_SMP=y --kconfig_add CONFIG_TWHEEL_KUNIT_SMP_TEST=y
[ "$failed" = 0 ] || say "the log: $work/log"
verdict
