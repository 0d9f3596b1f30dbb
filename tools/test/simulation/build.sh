# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# How core and engine are built as a program, over the stub. Read lib.sh first. Sets
#   module, stub, suites	the source files
#   flags, sanitizers		what they are compiled with, before the flags of a tree
#   wrap			what the stub is linked with: allocations fail, and are counted
# Seen as a single file, this does not show it.
# shellcheck disable=SC2034,SC2154

core=$ROOT/tools/test/simulation
tree=${TREE:-$ROOT}
module=("$tree"/module/{clock,core/*,engine/*}.c)
stub=("$core"/{stub,queue,machine,hotplug,memory}.c)
mapfile -t suites < <(suite_files "$tree")
suites+=("$tree"/kunit/{probe,tracer,life_module,smp,ledger,stress}.c
	"$ROOT/tools/test/library/kunit.c" "$core/suites.c")
flags=(-std=gnu11 -fno-strict-aliasing -Wall -Wno-unused -Wno-format-truncation
	-I"$SCRATCH/headers" -I"$core" -I"$ROOT/tools/test/library" -include stub.h)
sanitizers=(-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
wrap=-Wl,--wrap=calloc,--wrap=free

# Every header of the kernel's is the stub. The C library needs these as they are.
make_headers() {
	local name

	sed -n 's/^#include <\(\(linux\|trace\)\/.*\)>.*/\1/p' "$tree"/module/{,*/}*.[ch] \
		"$tree"/include/{linux,trace/events}/*.h "$tree"/kunit/*.[ch] | sort -u |
		grep -v -e 'linux/errno\.h' -e 'linux/limits\.h' -e 'io_uring/cmd' \
			-e instruction_pointer -e 'linux/twheel' -e 'events/twheel' |
		while read -r name; do
			mkdir -p "$SCRATCH/headers/$(dirname "$name")"
			echo '#include "stub.h"' > "$SCRATCH/headers/$name"
		done
	mkdir -p "$SCRATCH/headers/kunit"
	echo '#include "kunit.h"' > "$SCRATCH/headers/kunit/test.h"
	sed -n 's/.*\(TW_HAS_[A-Z_]*\).*/#define \1 1/p' "$tree"/module/*.h | sort -u |
		sed '/TW_HAS_URING/s/1$/0/; /TW_HAS_NAME /d' > "$SCRATCH/headers/twheel_features.inc"
}

# flags_of TREE: sets "own"
flags_of() {
	own=(-I"$1/module" -I"$1/module/engine" -I"$1/include" -I"$1/kunit")
}

# compile TREE OBJECTS FILE...: each to an object, as many at a time as there are CPUs
compile() {
	local own objects=$2

	flags_of "$1"
	shift 2
	printf '%s\n' "$@" | OBJECTS=$objects xargs -P "$(nproc)" -I FILE \
		sh -c 'exec gcc "$@" -c -o "$OBJECTS/$(basename "$0" .c).o" "$0"' \
		FILE "${flags[@]}" "${own[@]}"
}
