#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# man.sh: check the manual pages. Each is well formed and says everything that the sources
# have; every call of the library has one.
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"

[ $# = 0 ] || die "usage: man.sh"
man=$ROOT/tools/man
abi=$ROOT/include/uapi/linux/twheel.h
library=("$ROOT"/tools/lib/twheel{,_device,_policy,_guard}.h)
out=$SCRATCH/man
mkdir -p "$out"

# Pages refer to each other, but none is installed here: mandoc's complaint about that is
# ignored. A page with several names has links, which say where it will be installed.
pages=()
for page in "$man"/*.[0-9]; do
	target=$(sed -n 's/^\.so man[0-9]\///p' "$page")
	if [ -n "$target" ]; then
		name=$(basename "${page%.*}")
		grep -q "^\.Nm $name\b" "$man/$target" ||
			die "$page leads to $target, which is not about $name"
		continue
	fi
	pages+=("$page")
	mandoc -T lint "$page" 2> /dev/null |
		grep -v 'referenced manual not found' > "$out/lint" || :
	[ ! -s "$out/lint" ] || die "$(cat "$out/lint")"
done

# says PAGES START WHAT: each name of the input is in a line of one of PAGES that begins so
says() {
	local name missing=() pages

	read -ra pages <<< "$1"
	sort -u > "$out/names"
	[ -s "$out/names" ] || die "man.sh finds no $3"
	while read -r name; do
		grep -qE "^\.$2.*\b$name\b" "${pages[@]/#/$man/}" || missing+=("$name")
	done < "$out/names"
	[ ${#missing[@]} = 0 ] || die "$1 does not say: ${missing[*]} ($3)"
}

# fields FILE: of all structures that are described there
fields() {
	sed -n 's/^ \* @\([a-z_]*\):.*/\1/p' "$1"
}

# The device has three pages: it, its cells, and its limits.
device="twheel.4 twheel_cells.7 twheel_limits.7"
grep -oE '\bTWHEEL_[A-Z0-9_]*[A-Z0-9]\b' "$abi" | grep -v '_IOC_TYPE$\|_FEATURE$' |
	says "$device" '' "names in $abi"
fields "$abi" | says "$device" '(It )?Fa' "fields in $abi"
grep -ohE -- '-E([A-Z]{3,}|2BIG)\b' \
	"$ROOT"/module/dev/*.c |
	sed 's/.*-//' | grep -vE '^(EIOCBQUEUED|ERESTARTSYS)$' |	# within the kernel only
	says twheel.4 'It Bq Er' "errors of the device"
sed -nE 's/^TW_PARAM(_BELOW)?\(([a-z_]*),.*/\2/p' "$ROOT"/module/{*,*/*}.c |
	says twheel_limits.7 'It Va' "parameters of the module"
sed -nE 's/.*seq_(printf|puts)\(seq, "([a-z_]*):.*/\2/p' "$ROOT"/module/dev/*.c |
	says twheel.4 'It Li' "fields of fdinfo"

# What the library has: a page or a link for each call, and a line in the overview.
{
	# All except those that inlines are made of.
	sed -n 's/^\t\(twheel_[a-z_]*\);$/\1/p' "$ROOT/tools/lib/libtwheel.map" |
		grep -vE '_(size|shared|cancel_pending)$'
	# Of the inlines, those that are described.
	sed -nE 's/^(\/\*)? ?\*+ (twheel_[a-z_]*)\(\) - .*/\2/p' "${library[@]}"
} > "$out/functions"
says libtwheel.3 'It Xr' "functions of the library" < "$out/functions"
while read -r name; do
	[ -e "$man/$name.3" ] || die "$name() has no page"
	grep -q "^\.Fo $name$" "$man"/twheel_*.3 ||
		die "$name.3 does not show $name()"
done < "$out/functions"
for page in "$man"/*.3; do
	name=$(basename "$page" .3)
	[[ $name =~ ^(libtwheel|twheel_loop)$ ]] ||
		grep -qE "^$name(_[a-z]+)?$" "$out/functions" ||
		grep -qE "\b${name}(\(| \{$)" "$ROOT"/tools/lib/twheel/*.h* ||
		die "$name.3 is about nothing that the library has"
done
# Its headers for event loops, all but a private one: one page has all, and a link for each call.
for header in "$ROOT"/tools/lib/twheel/*; do
	[ "${header##*/}" != language.h ] || continue
	echo "twheel/${header##*/}"
done | says twheel_loop.3 In "headers for event loops"
sed -nE 's/.*\b(twheel_[a-z]+_(start|stop))\(.*/\1/p' "$ROOT"/tools/lib/twheel/* |
	sort -u > "$out/calls"
says twheel_loop.3 'F[on]' "calls for event loops" < "$out/calls"
while read -r call; do
	[ -e "$man/$call.3" ] || die "$call() has no page"
done < "$out/calls"
# Of each call, the errors that its comment in the header names.
while read -r name list; do
	page=$(sed -n 's/^\.so man3\///p' "$man/$name.3")
	for error in $list; do
		echo "$error"
	done | says "${page:-$name.3}" 'It Bq Er' "errors of $name()"
done < <(awk '/^\/\*\* twheel_/	{ sub(/\(\)/, "", $2); name = $2 }
	/^ \* twheel_.*\(\) - /	{ sub(/\(\)/, "", $2); name = $2 }
	/\*\//			{ if (name && list) print name list
				  name = list = "" }
	name {
		while (match($0, /-E([A-Z][A-Z][A-Z]+|2BIG)/)) {
			list = list " " substr($0, RSTART + 1, RLENGTH - 1)
			$0 = substr($0, RSTART + RLENGTH)
		}
	}' "${library[@]}")

sed -n 's/^\t&\([a-z]*\)_command,$/\1/p' "$ROOT/tools/cli/main.c" |
	says twheel.1 'It Cm' "commands"
sed -nE 's/^(DEFINE_EVENT\([a-z_]*, |TRACE_EVENT\()(twheel_[a-z_]*),$/\2/p' \
	"$ROOT/include/trace/events/twheel.h" |
	says twheel.4 'It Li' "tracepoints"
sed -n 's/^\t\t{ "\([a-z-]*\)", .*OPTION_.*/\1/p' "$ROOT"/tools/cli/*.c |
	says 'twheel.1 twheel-guard.1' 'It Fl' "options"
