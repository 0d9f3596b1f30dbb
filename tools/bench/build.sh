# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
# How the programs of the benchmark are built, and what else runs meanwhile. Read
# ../test/vm/lib.sh first.

# build_program NAME OUT TOOLS ARGUMENT...: OUT/NAME from the folder of that name, as a static
# program; TOOLS is where tools/Makefile has put the library
build_program() {
	local name=$1 out=$2 tools=$3

	shift 3
	run_logged "$out/$name.log" "building $name" \
		gcc -std=gnu11 -O2 -g -Wall -Wextra -Wno-strict-aliasing -I"$ROOT/include/uapi" \
		-static -o "$out/$name" "$ROOT/tools/bench/$name"/*.c "$@" \
		"$tools/lib/libtwheel.a" -lm -pthread
}

# build_life OUT TOOLS [ARGUMENT...]: libev's archive also has libevent's old interface, which
# libevent itself is in the way of. So only its first object is taken.
build_life() {
	ar p "$(gcc -print-file-name=libev.a)" ev.o > "$SCRATCH/ev.o"
	build_program life "$@" "$SCRATCH/ev.o"
}

# What else runs on the machine, of which one of our processes is a part
show_load() {
	echo "# load $(cut -d' ' -f1 /proc/loadavg) $(nproc)"
}
