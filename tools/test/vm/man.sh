#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# man.sh TOOLS OUT: compile the examples of the manual pages with the library that is built
# in TOOLS. Programs become OUT/example_NAME, and a page's second one OUT/example_NAME_2.
# What pages say is tools/style/man.sh's.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: man.sh TOOLS OUT"
tools=$1 out=$2
man=$ROOT/tools/man
mkdir -p "$out"

# example PAGE NUMBER OPTION...: compile an example that stands in it, as it is printed. A program
# is linked. One that names no header has the usual ones.
example() {
	local page=$1 number=$2 name flags

	shift 2
	name=example_$(basename "${page%.*}")
	[ "$number" = 1 ] || name+=_$number
	awk -v number="$number" '
		/^\.\\" compiled by make check$/	{ wanted = ++seen == number; next }
		wanted && /^\.Bd /		{ inside = 1; next }
		inside && /^\.Ed$/		{ exit }
		inside				{ gsub(/\\e/, "\\"); print }' \
		"$page" > "$out/$name.c"
	[ -s "$out/$name.c" ] || die "$page has no example"
	grep -q '^int main(' "$out/$name.c" || set -- -c "$@"
	grep -q '^#include ' "$out/$name.c" || set -- -include stdio.h -include twheel_device.h "$@"
	# Libraries of event loops. Their callbacks have arguments that an example does not use.
	if grep -q '^#include <twheel/' "$out/$name.c"; then
		read -ra flags < <(pkg-config --cflags glib-2.0)
		set -- "$@" "${flags[@]}" -Wno-unused-parameter -Wno-strict-aliasing
	fi
	"${COMPILER[@]}" -Wall -Wextra -Werror -Wno-missing-field-initializers -static \
		-I"$ROOT/include/uapi" -I"$ROOT/tools/lib" \
		-o "$out/$name" "$out/$name.c" -xnone "$@" 2> "$out/$name.log" ||
		{ cat "$out/$name.log" >&2; die "the example of $page does not compile"; }
}
for page in "$man"/*.[0-9]; do
	# Those of commands are for a shell.
	[[ $page != *.1 ]] || continue
	grep -q '^\.Sh EXAMPLES' "$page" || continue
	count=$(grep -c '^\.\\" compiled by make check$' "$page") || die "$page has no example"
	for number in $(seq "$count"); do
		example "$page" "$number" "$tools/lib/libtwheel.a" -pthread
	done
done
