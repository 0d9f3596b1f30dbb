#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make matrix: all tests on each of the kernels of tools/test/vm/rows, and a table of how it
# went. Arguments: names of rows; an architecture, as arm64, for its rows; or "ci" for those
# that .ci/run takes. The last line is "N passed, N failed", over all rows.
#
# What a row gave is kept in the cache, with the commit that it was made on. Without
# arguments, rows that have passed on this very commit are not run again. So a run that was
# cut off goes on. --table runs nothing and shows what is kept.
#
#   MINUTES=  for all of it. A row that cannot be expected to end in time does not begin,
#             and counts as skipped.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

rows=$ROOT/tools/test/vm/rows
budget=$((${MINUTES:-100000} * 60))
# What a row on two cores of its own takes, with some to spare.
row_takes=660

table=
if [ "${1:-}" = --table ]; then
	table=1
	shift
fi

chosen=() again=
if [ "$*" = ci ]; then
	mapfile -t chosen < <(awk '!/^#/ && $5 == "ci" { print $1 }' "$rows")
elif [ $# -gt 0 ]; then
	again=1
	mapfile -t names < <(awk '!/^#/ { print $1 }' "$rows")
	refuse_unknown row "$*" "${names[@]}" "${ARCHITECTURES[@]}" ci
	for name; do
		mapfile -t -O ${#chosen[@]} chosen < <(awk -v name="$name" \
			'!/^#/ && ($1 == name || $3 ~ "," name "$") { print $1 }' "$rows")
	done
else
	mapfile -t chosen < <(awk '!/^#/ { print $1 }' "$rows")
fi
commit=$(git -C "$ROOT" describe --always --dirty=+ --abbrev=10 2>/dev/null ||
	echo unknown)

# count WHAT LINE: how many have passed, failed or are skipped
count() {
	grep -oE "[0-9]+ $1" <<< "$2" | cut -d' ' -f1 || echo 0
}

# column NAME N: of the row
column() {
	awk -v row="$1" -v n="$2" '$1 == row { print $n }' "$rows"
}

# run_row NAME: leaves its result
run_row() {
	local name=$1 folder=$CACHE/matrix/$1 start status=0 minutes kernel

	mkdir -p "$folder"
	rm -f "$folder"/{result,verdict}
	say "row $name"
	limited --kernel "$name" || status=$?
	start=$SECONDS
	[ "$status" != 0 ] || limited "$name" > "$folder/verdict" || status=$?
	minutes=$(((SECONDS - start + 59) / 60))
	cat "$folder/verdict" 2> /dev/null || :
	if ! tail -qn 1 "$folder/verdict" 2> /dev/null |
			grep -q '^[0-9]* passed, '; then
		case $status in
		124 | 137) echo "FAILED: $name: did not end within MINUTES" ;;
		*) echo "FAILED: $name: has no verdict, status $status" ;;
		esac
		echo "0 passed, 1 failed" >> "$folder/verdict"
	fi
	kernel=$(sed -n 's/^@begin \([^ ]*\) .*/\1/p' "$folder"/run-*/results \
		2> /dev/null | head -n 1)
	echo "$commit ${kernel:--} $minutes $(tail -n 1 "$folder/verdict")" \
		> "$folder/result"
}

# limited ARGUMENT...: row.sh, until MINUTES are over
limited() {
	local status=0

	timeout --kill-after=60 $((budget - SECONDS)) "$ROOT/tools/test/vm/row.sh" "$@" &
	CHILD=$!
	wait "$CHILD" || status=$?
	CHILD=
	return "$status"
}

kept() {
	local made

	[ -z "$again" ] && [[ $commit != *+ ]] && [ "$commit" != unknown ] &&
		[ -e "$CACHE/matrix/$1/result" ] || return
	read -r made _ < "$CACHE/matrix/$1/result"
	[ "$made" = "$commit" ] &&
		[ "$(count failed "$(cat "$CACHE/matrix/$1/result")")" = 0 ]
}

late=
if [ -z "$table" ]; then
	for name in "${chosen[@]}"; do
		if kept "$name"; then
			say "row $name has passed on this commit"
		elif [ $((SECONDS + row_takes)) -gt "$budget" ]; then
			late+=" $name"
			rm -f "$CACHE/matrix/$name/result"
		else
			run_row "$name"
		fi
	done
fi

passed=0 failed=0 skipped=0
format='%-14s %-22s %-14s %4s %6s %6s %7s %7s  %s\n'
# shellcheck disable=SC2059
printf "$format" row kernel parts CPUs passed failed skipped minutes commit
for name in "${chosen[@]}"; do
	result=$CACHE/matrix/$name/result
	if [ -e "$result" ]; then
		read -r made kernel minutes line < "$result"
		p=$(count passed "$line") f=$(count failed "$line")
		s=$(count skipped "$line")
	else
		made=- kernel='not run' minutes=- p=0 f=0 s=1
		[[ " $late " != *" $name "* ]] || kernel='not run: too late'
	fi
	# shellcheck disable=SC2059
	printf "$format" "$name" "$kernel" "$(column "$name" 3)" \
		"$(column "$name" 4)" "$p" "$f" "$s" "$minutes" "$made"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] ||
	echo ", $skipped skipped")"
[ "$failed" = 0 ]
