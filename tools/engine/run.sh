#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make engine: the engine and its KUnit suites, the very same files, as a program
# under sanitizers. Takes seconds. Arguments: the name of one case.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

need gcc libc6-dev
here=$ROOT/tools/engine
headers=$SCRATCH/include

# shim.h stands for all of them.
mkdir -p "$headers/linux"
grep -ho '<\(linux\|kunit\)/[a-z0-9_/]*\.h>' "$ROOT"/module/{wheel,compat}.[ch] \
	"$ROOT"/kunit/{rig.[ch],{engine,round}_test.c} "$ROOT/include/linux/twheel.h" |
	tr -d '<>' | sort -u | while read -r header; do
	mkdir -p "$headers/${header%/*}"
	: > "$headers/$header"
done
cp "$ROOT/include/linux/twheel.h" "$headers/linux/"

# The kernel's own choices about overflow and aliasing.
gcc -std=gnu11 -O1 -g -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter \
	-fwrapv -fno-strict-aliasing \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-include "$here/shim.h" -I"$headers" -o "$SCRATCH/engine" \
	"$ROOT"/module/wheel.c "$ROOT"/kunit/{rig,engine_test,round_test}.c "$here/run.c"
timeout 300 "$SCRATCH/engine" "$@"
