#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# man.sh TOOLS OUT: check the manual pages. Each is well formed, says everything that
# the sources have, and its example compiles; the examples become OUT/example_NAME.
# TOOLS is where the library is built.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: man.sh TOOLS OUT"
tools=$1 out=$2
man=$ROOT/tools/man
abi=$ROOT/include/uapi/linux/twheel.h
library=$ROOT/tools/lib/libtwheel.h
mkdir -p "$out"

# Of pages that refer to each other none is installed, and the database of those
# that are may be old.
for page in "$man"/*.[0-9]; do
	mandoc -T lint "$page" 2> /dev/null |
		grep -v 'referenced manual not found' > "$out/lint" || :
	[ ! -s "$out/lint" ] || die "$(cat "$out/lint")"
done

# says PAGE START WHAT: each name of the input is in a line of PAGE that begins so
says() {
	local name missing=()

	sort -u > "$out/names"
	[ -s "$out/names" ] || die "man.sh finds no $3"
	while read -r name; do
		grep -qE "^\.$2.*\b$name\b" "$man/$1" || missing+=("$name")
	done < "$out/names"
	[ ${#missing[@]} = 0 ] || die "$1 does not say: ${missing[*]} ($3)"
}

# fields FILE: of all structures that are described there
fields() {
	sed -n 's/^ \* @\([a-z_]*\):.*/\1/p' "$1"
}

errors() {
	grep -ohE '\bE([A-Z]{3,}|2BIG)\b' "$@"
}

grep -oE '\bTWHEEL_[A-Z_]*[A-Z]\b' "$abi" | grep -v '_IOC_TYPE$\|_FEATURE$' |
	says twheel.4 '' "names in $abi"
fields "$abi" | says twheel.4 'It Fa' "fields in $abi"
errors "$abi" | says twheel.4 'It Bq Er' "errors in $abi"
grep -oE -- '-E([A-Z]{3,}|2BIG)\b' \
	"$ROOT"/module/{batch,cdev,cell,event,file,op,ring,slots,user}.c |
	sed 's/.*-//' | grep -v '^EIOCBQUEUED$' |	# within the kernel only
	says twheel.4 'It Bq Er' "errors of the device"
sed -n 's/^TW_PARAM(\([a-z_]*\),.*/\1/p' "$ROOT"/module/*.c |
	says twheel.4 'It Va' "parameters of the module"
sed -n 's/.*seq_printf(seq, "\([a-z_]*\):.*/\1/p' "$ROOT"/module/{cdev,view}.c |
	says twheel.4 Li "fields of fdinfo and debugfs"

sed -n 's/^\t\(twheel_[a-z_]*\);$/\1/p' "$ROOT/tools/lib/libtwheel.map" |
	says libtwheel.3 'F[no]' "functions in libtwheel.map"
grep -oE '\bTWHEEL_(OPEN|CLOCK)_[A-Z_]*[A-Z]\b' "$library" |
	says libtwheel.3 Dv "names in $library"
errors "$library" | says libtwheel.3 'It Bq Er' "errors in $library"

sed -n 's/^\t&\([a-z]*\)_command,$/\1/p' "$ROOT/tools/twheel/main.c" |
	says twheel.1 'It Cm' "commands"
sed -n 's/^DEFINE_EVENT([a-z_]*, twheel_\([a-z_]*\),$/\1/p; s/^TRACE_EVENT(twheel_\([a-z_]*\),$/\1/p' \
	"$ROOT/include/trace/events/twheel.h" |
	says twheel.4 'It Li' "tracepoints"
sed -n 's/^\t\t{ "\([a-z-]*\)", .*OPTION_.*/\1/p' "$ROOT"/tools/twheel/*.c |
	says twheel.1 'It Fl' "options"

# example PAGE NAME OPTION...: compile it
example() {
	local page=$1 name=example_$2

	shift 2
	awk '/^\.\\" compiled by make check$/	{ wanted = 1; next }
		wanted && /^\.Bd /		{ inside = 1; next }
		inside && /^\.Ed$/		{ exit }
		inside				{ gsub(/\\e/, "\\"); print }' \
		"$man/$page" > "$out/$name.c"
	[ -s "$out/$name.c" ] || die "$page has no example"
	run_logged "$out/$name.log" "compiling the example of $page" \
		gcc -Wall -Wextra -Werror -Wno-missing-field-initializers \
		-static -I"$ROOT/include/uapi" -o "$out/$name" "$out/$name.c" "$@"
}
example twheel.4 device
example libtwheel.3 library -I"$ROOT/tools/lib" "$tools/lib/libtwheel.a" \
	-pthread
