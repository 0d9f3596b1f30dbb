#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make features: do the compile tests of module/features.c find in each kernel what the table
# "expected" says? All kernels are tried in one folder, without a clean between them: what
# was found for one must not be taken for another. The last line is "N passed, N failed".
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

[ $# = 0 ] || die "usage: features/run.sh    (make features)"
table=$ROOT/tools/test/features/expected
read -ra kernels < <(sed -n 's/^# feature//p' "$table")
mapfile -t features < <(sed -n '/^#/!s/[[:space:]].*//p' "$table")

say "what ${#kernels[@]} kernels have; everything is kept in $CACHE"
need gcc make bc flex bison libelf-dev libssl-dev xz-utils
lock_cache
work=$CACHE/features
mkdir -p "$work"
: > "$work/log"

# headers KERNEL: set kdir. Of the newest at hand, which has no package of headers for this
# compiler, they are made from its source.
headers() {
	if [ "$1" != 7.2 ]; then
		stock_kernel "$1"
		kdir=$stock_headers
		return
	fi
	kernel_source "$1"
	kdir=$work/linux-$source_version
	[ ! -e "$kdir/complete" ] || return 0
	rm -rf "$kdir"
	mkdir "$kdir"
	run_logged "$work/headers.log" "configuring $source_version" \
		make -C "$source_folder" O="$kdir" tinyconfig
	echo CONFIG_MODULES=y >> "$kdir/.config"
	run_logged "$work/headers.log" "making its headers" \
		make -C "$source_folder" O="$kdir" -j"$(nproc)" olddefconfig modules_prepare
	touch "$kdir/complete"
}

# A module of one empty file, in place of those of the Kbuild file.
rm -rf "$work/build"
mkdir -p "$work/build/module"
cp "$ROOT/module/features.c" "$work/build/module/"
echo 'obj-m := module/' > "$work/build/Kbuild"
sed -e '/^twheel-/{:more; /\\$/{N; b more}; d}' -e '/^# By layer/i twheel-y := empty.o' \
	"$ROOT/module/Kbuild" > "$work/build/module/Kbuild"
: > "$work/build/module/empty.c"
found=$work/build/module/twheel_features.inc

# try: the tests, for the kernel of kdir
try() {
	make -C "$kdir" M="$work/build" module/empty.o > "$work/build.log" 2>&1 ||
		{ cat "$work/build.log"; return 1; }
	cat "$work/build.log"
}
# as_expected COLUMN: they find what that column says, and nothing else
as_expected() {
	try && diff <(awk -v n="$1" '!/^#/ {
			print "#define TW_HAS_" $1, $n == "yes" ? 1 : 0
		}' "$table") <(sed 1d "$found")
}
not_again() {
	try && ! grep '^  TRY ' "$work/build.log"
}
# A kernel with fewer headers is an error, and no reason to test less.
control_stops() {
	local status=0

	echo '#error "no such kernel"' >> "$work/build/module/features.c"
	! try || status=1
	cp "$ROOT/module/features.c" "$work/build/module/"
	[ $status = 0 ] && grep -q 'headers do not compile' "$work/build.log" && try
}
# in_table PREFIX FILE...: the features that files name are those of the table.
in_table() {
	local prefix=$1

	shift
	diff <(printf '%s\n' "${features[@]}" | sort) <(grep -oh "\b${prefix}[A-Z_]*" "$@" |
		sed "s/^$prefix//" | grep -vx NAME | sort -u)
}
tried() {
	in_table TW_TRY_ "$ROOT/module/features.c"
}
asked_for() {
	in_table TW_HAS_ "$ROOT"/module/{compat,export}.h
}
differ() {
	! awk '!/^#/ && !(/yes/ && /no/) { print $1, "is the same in all kernels" }' "$table" |
		grep .
}

check "each feature has a line of the table, and each line a feature" tried
check "each feature that is asked for is tested" asked_for
check "each feature has two kernels that differ in it" differ
column=2
for kernel in "${kernels[@]}"; do
	headers "$kernel"
	check "$kernel: ${kdir##*/}" as_expected $column
	[ $column != 2 ] || check "nothing is tried twice" not_again
	column=$((column + 1))
done
headers "${kernels[0]}"
check "${kernels[0]}, after all others" as_expected 2
check "headers that do not compile stop the build" control_stops
[ "$failed" = 0 ] || say "the log: $work/log"
verdict
