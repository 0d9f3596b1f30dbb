#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make models, second half: the pairs of tools/doc/design.md, "Memory ordering",
# as litmus tests under the memory model of the kernel (its tools/memory-model), run by
# herd7. Each test asks for an outcome that must never be seen. litmus/broken has ways to
# break each test; herd7 has to allow that outcome then. Where one of the kernel's own tests
# is the pair, that is run, and its like without barriers. Arguments: names of tests, to run
# only those. The last line is "N passed, N failed".
#
# herd7 is Debian's, of a newer suite than the machine's: it runs from a folder, with the
# C library that it wants.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/models/litmus

kernel_source 6.1
# shellcheck disable=SC2154 # kernel_source sets it
model=$source_folder/tools/memory-model
[ -e "$model/linux-kernel.cfg" ] ||
	die "there is no memory model in $source_folder" "remove that folder, and try again"

suite_tool sid herd7 herdtools7 libc6 libgmp10

# outcome FILE: Never, Sometimes or Always; else what herd7 says of the file
outcome() {
	(
		cd "$model"
		# shellcheck disable=SC2154 # suite_tool sets both
		"${tool_command[@]}" -I "$tool/usr/share/herdtools7/herd" \
			-conf linux-kernel.cfg "$1"
	) > "$SCRATCH/herd.log" 2>&1 || :
	if grep -q '^Observation ' "$SCRATCH/herd.log"; then
		sed -n 's/^Observation [^ ]* \([A-Z][a-z]*\) .*/\1/p' "$SCRATCH/herd.log"
	else
		tail -n 1 "$SCRATCH/herd.log"
	fi
}

# report WANTED GOT WHAT
report() {
	local status=0

	[ "$1" = "$2" ] || status=1
	result $status "$3: ${2:-nothing}" echo "wanted: $1"
}

for test in "$here"/*.litmus; do
	name=$(basename "$test" .litmus)
	[ "$#" = 0 ] || [[ " $* " = *" $name "* ]] || continue
	report Never "$(outcome "$test")" "$name"
	ways=0
	while IFS=$'\t' read -r of way change; do
		[ "$of" = "$name" ] || continue
		ways=$((ways + 1))
		# The comment at the head is left alone.
		sed "1,/^ \*)/!{
$change
}" "$test" > "$SCRATCH/$name.litmus"
		if cmp -s "$test" "$SCRATCH/$name.litmus"; then
			report Sometimes "unchanged" "$name, broken: $way"
		else
			report Sometimes "$(outcome "$SCRATCH/$name.litmus")" \
				"$name, broken: $way"
		fi
	done < "$here/broken"
	[ "$ways" != 0 ] || report "a way" "no way" "$name can be broken"
done
if [ "$#" = 0 ]; then
	for name in MP+pooncerelease+poacquireonce:Never SB+fencembonceonces:Never \
			MP+poonceonces:Sometimes; do
		report "${name#*:}" "$(outcome "$model/litmus-tests/${name%:*}.litmus")" "${name%:*}"
	done
fi
verdict
