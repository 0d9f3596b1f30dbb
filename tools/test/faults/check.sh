#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make faults CHECK=1: does each planted fault still change its file? Applies every fault
# of tools/test/faults/planted, torture/faults and fuzz/faults to the file that it names,
# and builds and runs nothing. Takes seconds. Says which faults change nothing; the last
# line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../../.."

# What a fault's list looks like: name, columns that do not matter here, file, change.
faults() {
	local name file change

	grep -v '^#' tools/test/faults/planted |
		while IFS=$'\t' read -r name file change _; do
			printf 'planted\t%s\t%s\t%s\n' "$name" "$file" "$change"
		done
	for list in torture fuzz; do
		grep -v '^#' "tools/test/$list/faults" |
			while read -r name _ file change; do
				printf '%s\t%s\t%s\t%s\n' "$list" "$name" "$file" "$change"
			done
	done
}

passed=0 failed=0
while IFS=$'\t' read -r list name file change; do
	if [ ! -f "$file" ]; then
		echo "$list: $name: there is no $file"
	elif sed "$change" "$file" | cmp -s - "$file"; then
		echo "$list: $name: does not change $file"
	else
		passed=$((passed + 1))
		continue
	fi
	failed=$((failed + 1))
done < <(faults)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
