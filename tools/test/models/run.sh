#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make models: every interleaving of the protocol of cells, between the kernel and programs. These
# are Promela models that spin searches through: see the head of each. Each is also broken on purpose, in the ways of
# the file "broken"; those the search has to reject. Then litmus.sh: the orderings, under the
# memory model of the kernel. Arguments: names of models or litmus tests, to check only
# those. The last line is "N passed, N failed".
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/models

# The search is of all states, not of a sample: these are bounds for when it is not,
# which is a failure. The limit is of CPU time.
memory=4096 limit=${TIMEOUT:-600}

# What is checked: a name, the model, and what it is defined with.
checks=(
	"cells		cells.pml"
	"cells-sweep	cells.pml -DSWEEP"
)

mapfile -t names < <(printf '%s\n' "${checks[@]%%[[:space:]]*}"; basename -as .litmus "$here"/litmus/*.litmus)
refuse_unknown model "$*" "${names[@]}"
need spin gcc libc6-dev

# search FOLDER MODEL DEFINE...: of the model in FOLDER; leaves what it says in FOLDER/log
search() {
	local folder=$1 model=$2

	shift 2
	cp "$here/tso.pml" "$folder/"
	(
		cd "$folder"
		spin "$@" -a "$model"
		gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM="$memory" -o pan pan.c
		# Deeper than any path; the search says if not.
		prlimit --cpu="$limit" ./pan -m1000000
	) > "$folder/log" 2>&1 || :
}

states() {
	sed -n 's/^ *\([0-9]*\) states, stored.*/\1 states/p' "$1/log" | head -n 1
}

# Whether all has been searched, and nothing found.
sound() {
	grep -q 'errors: 0$' "$1/log" &&
		! grep -qE 'max search depth too small|out of memory|Search not completed' \
			"$1/log"
}

for check in "${checks[@]}"; do
	read -r name model defines <<< "$check"
	[ "$#" = 0 ] || [[ " $* " = *" $name "* ]] || continue
	read -ra defines <<< "$defines"
	folder=$SCRATCH/$name start=$SECONDS
	mkdir "$folder"
	cp "$here/$model" "$folder/"
	search "$folder" "$model" "${defines[@]}"
	if sound "$folder"; then
		result 0 "$name: $(states "$folder"), $((SECONDS - start)) s"
	else
		result 1 "$name" tail -n 15 "$folder/log"
		mkdir -p "$CACHE/models"
		cp -r "$folder" "$CACHE/models/"
		say "the way there: cd $CACHE/models/$name &&" \
			"spin -p -g -t ${defines[*]} $model"
	fi
	while IFS=$'\t' read -r of broken change; do
		[ "$of" = "$name" ] || continue
		folder=$SCRATCH/$name-$broken
		mkdir "$folder"
		sed "$change" "$here/$model" > "$folder/$model"
		if cmp -s "$here/$model" "$folder/$model"; then
			result 1 "$name, $broken: changes nothing"
			continue
		fi
		search "$folder" "$model" "${defines[@]}"
		how=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' "$folder/log")
		if [ -n "$how" ]; then
			result 0 "$name, $broken: rejected after $(states "$folder"): $how"
		else
			result 1 "$name, $broken: is not rejected" tail -n 5 "$folder/log"
		fi
		rm -rf "$folder"
	done < "$here/broken"
done
litmus=()
for name; do
	[ ! -e "$here/litmus/$name.litmus" ] || litmus+=("$name")
done
if [ "$#" = 0 ] || [ ${#litmus[@]} != 0 ]; then
	"$here/litmus.sh" "${litmus[@]}" > "$SCRATCH/litmus" || :
	sed '$d' "$SCRATCH/litmus"
	read -r more _ wrong _ < <(tail -n 1 "$SCRATCH/litmus") ||
		die "litmus.sh ended without a verdict"
	passed=$((passed + more)) failed=$((failed + ${wrong%,}))
fi
verdict
