#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# later.sh TOOLS USER TWHEEL OUT: compile programs that make the system calls themselves with a
# later header: examples, and tests that read events. Its operations and events are longer by a
# field. The module and the library, that of TOOLS, are of now. USER is the README's example, and
# TWHEEL that of twheel(4). Programs become OUT/NAME_later.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 4 ] || die "usage: later.sh TOOLS USER TWHEEL OUT"
tools=$1 out=$4
header=$out/include/linux/twheel.h
mkdir -p "$out/include/linux"
sed '/^struct twheel_\(op\|event\) {$/,/^};$/s/^};$/\t__aligned_u64 later;\n&/' \
	"$ROOT/include/uapi/linux/twheel.h" > "$header"
[ "$(grep -c '__aligned_u64 later;' "$header")" = 2 ] || die "no structure is longer"
tests=$ROOT/tools/test/device
for program in "$ROOT"/tools/examples/userspace/{after,uring_requests}.c "$2" "$3" \
	"$tests"/{cell,period,read,read_memory}_test.c; do
	libraries=("$tools/lib/libtwheel.a")
	[[ $program != *_test.c ]] || libraries=("$tests"/lib/{device,mapped,tap}.c)
	! grep -q '^#include <liburing.h>' "$program" || libraries+=(-luring)
	"${COMPILER[@]}" -Wall -Wextra -Werror -Wno-missing-field-initializers -static \
		-I"$out/include" -I"$ROOT/tools/lib" \
		-o "$out/$(basename "$program" .c)_later" "$program" "${libraries[@]}" -pthread
done
