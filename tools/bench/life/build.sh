# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# How life.c is built. Read ../../test/vm/lib.sh first.

# build_life OUT TOOLS: the program, which is static; TOOLS is where tools/Makefile has put
# what it made. libev's archive also has libevent's old interface, which libevent itself is
# in the way of: only its first object is taken.
build_life() {
	local archive

	archive=$(gcc -print-file-name=libev.a)
	ar p "$archive" ev.o > "$SCRATCH/ev.o"
	run_logged "$1.log" "building the connections' life" \
		gcc -std=gnu11 -O2 -g -Wall -Wextra -Wno-strict-aliasing \
		-I"$ROOT/include/uapi" -static -o "$1" "$ROOT"/tools/bench/life/*.c \
		"$2/lib/libtwheel.a" "$SCRATCH/ev.o" -luv_a -levent_core -lm -pthread
}
