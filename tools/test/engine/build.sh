# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# How the engine is built as a program. Read lib.sh first. SOURCE= is where module, kunit
# and include are. Sets
#   here		this folder
#   engine, common, suites	the source files
#   flags, sanitizers		what they are compiled with
# Seen as a single file, this does not show it.
# shellcheck disable=SC2034,SC2154

source=${SOURCE:-$ROOT}
here=$ROOT/tools/test/engine
headers=$SCRATCH/include
engine=("$source"/module/engine/{wheel,shape}.c)
common=("$source/kunit/rig.c" "$here/scenario.c" "$here/player.c")
suites=("$source"/kunit/{shape,engine,round,cost,look}_test.c)

# shim.h replaces all of the kernel's headers. The engine does not use compat.h.
grep -ho '<\(linux\|kunit\)/[a-z0-9_/]*\.h>' "${engine[@]}" \
	"$source"/module/{export.h,engine/wheel.h} "$source"/kunit/rig.[ch] "${suites[@]}" \
	"$source/include/linux/twheel_node.h" |
	tr -d '<>' | sort -u | while read -r header; do
	mkdir -p "$headers/${header%/*}"
	: > "$headers/$header"
done
: > "$headers/twheel_features.inc"
cp "$source/include/linux/twheel_node.h" "$headers/linux/"

# Overflow and aliasing as the kernel is compiled.
flags=(-std=gnu11 -g -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter
	-fwrapv -fno-strict-aliasing -include "$here/shim.h" -I"$headers"
	-iquote "$source/kunit")
sanitizers=(-fsanitize=address -fsanitize=undefined
	-fno-sanitize-recover=undefined)
