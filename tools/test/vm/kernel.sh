#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kernel.sh [--series SERIES] [--um] NAME...: build a kernel from Debian's source package
# of that series (default 6.1), with --um a user-mode one. Its configuration is tinyconfig
# and each config/NAME.config on top. A later one may change what an earlier one says. If there
# is config/NAME.make, make gets its words. It is built once for each version and
# configuration. Prints the build folder.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

series=6.1
if [ "${1:-}" = --series ]; then
	series=$2
	shift 2
fi
arch=() targets=("$(basename "${arch_image:-bzImage}")" modules)
if [ "${1:-}" = --um ]; then
	arch=(ARCH=um) targets=(linux modules)
	shift
fi
[ $# -ge 1 ] || die "usage: kernel.sh [--series SERIES] [--um] NAME..."
refuse_unknown "kernel series" "$series" "${SOURCE_SERIES[@]}"
mapfile -t names < <(basename -as .config "$ROOT"/tools/test/vm/config/*.config)
refuse_unknown configuration "$*" "${names[@]}"
config=$SCRATCH/config said=()
for name; do
	cat "$ROOT/tools/test/vm/config/$name.config"
	[ ! -e "$ROOT/tools/test/vm/config/$name.make" ] ||
		mapfile -t -O ${#said[@]} said < <(
			grep -v '^#' "$ROOT/tools/test/vm/config/$name.make")
done > "$SCRATCH/all"
# The last line of an option is what counts.
awk '{ option = "" }
	match($0, /^(# )?CONFIG_[A-Z0-9_]+/) {
		option = substr($0, RSTART, RLENGTH)
		sub(/^# /, "", option)
	}
	FNR == NR { last[option] = FNR; next }
	option == "" || last[option] == FNR' "$SCRATCH/all" "$SCRATCH/all" > "$config"

need gcc make bc flex bison libelf-dev libssl-dev xz-utils perl python3 kmod
lock_cache
[ -z "${GUEST_ARCH:-}" ] || cross_compiler
kernel_source "$series"

hash=$({ cat "$config"; [ ${#said[@]} = 0 ] || echo "${said[@]}"; } | sha256sum | cut -c1-12)
source=$source_folder version=$source_version
build=$CACHE/kernel-$version-$hash

# A build that was cut off goes on where it was; "complete" says that it ended.
if [ ! -e "$build/complete" ]; then
	mkdir -p "$build"
	run_logged "$build/config.log" "configuring kernel $version" \
		make -C "$source" O="$build" "${arch[@]}" tinyconfig
	# tinyconfig sets one CPU, from which 6.12 would make two instead of its default.
	sed -i '/^CONFIG_NR_CPUS=/d' "$build/.config"
	cat "$config" >> "$build/.config"
	run_logged "$build/config.log" "settling the configuration" \
		make -C "$source" O="$build" "${arch[@]}" olddefconfig
	while read -r line; do
		grep -qx "$line" "$build/.config" ||
			die "the kernel does not take $line" \
			    "see what it depends on, and correct config/*.config"
	done < <(grep '^CONFIG_' "$config")
	run_logged "$build/build.log" \
		"building the kernel; minutes the first time, cached then" \
		make -C "$source" O="$build" "${arch[@]}" -j"$(nproc)" "${said[@]}" \
		"${targets[@]}"
	touch "$build/complete"
fi
echo "$build"
